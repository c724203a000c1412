"""What groups are worth: by exact variances, and by simulated campaigns.

`python -m benchmarks.groups variances` prints the first table of docs/notes/groups.md: the variance of one frequency
at uniform answers, from one report, for every number of groups of one size; `measured` the same from simulated reports.
`python -m benchmarks.groups campaigns` prints the second: campaigns whose groups are chosen next to those
with every question alone and with one group, on the same people.
`python -m benchmarks.groups tables DIRECTORY` prints the third: people drawn from real tables, CSV files with a column
for each question, and groups by the associations that the first phase shows.
"""

import csv
import sys
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from privtally.collector.estimate import estimate
from privtally.collector.learn import learn
from privtally.collector.tally import count_times
from privtally.documents.counts import Counts, SubReports
from privtally.documents.plan import Plan, design
from privtally.errors import PlanError
from privtally.lab.population import seeded
from privtally.lab.simulate import simulate
from privtally.mechanisms.grouping import answer_variance
from privtally.names import MechanismName
from privtally.schema import Schema

SHAPES = ((6, 4, 1), (6, 4, 4), (6, 4, 6), (8, 2, 4), (12, 3, 4), (12, 8, 6), (12, 8, 8))
"""Questions, labels, epsilon."""
PEOPLE, SHARE, RUNS = 20_000, 0.1, 16
LEARNING: tuple[MechanismName, ...] = ("rs-rfd", "corr-rr", "cond-rr")
KINDS = ("alike", "unlike", "dependent")
BUDGETS = (1.0, 2.0, 4.0, 8.0)
LEAST = (0.1, 0.3)
"""The associations above which questions are put together."""
TABLE_BUDGETS, TABLE_RUNS = (1.0, 2.0, 4.0), 10


def variance(questions: int, labels: int, epsilon: float, groups: int, *, hidden: bool) -> float:
    """The variance of a frequency from one report, uniform answers, groups of one size."""
    members = questions // groups
    one_answer = answer_variance(Fraction(epsilon) / groups, labels, by_label=True)
    return one_answer * members * (members if hidden else 1)


def divisors(questions: int) -> list[int]:
    """The numbers of groups of one size that are neither one group nor each alone."""
    return [groups for groups in range(2, questions) if questions % groups == 0]


def variances() -> list[str]:
    """The lines of the table of exact variances."""
    lines = [
        "| d, k, ε | hidden: one group | best t between | each alone (spl) | known: one group (smp) | best t between |",
        "|---|---|---|---|---|---|",
    ]
    for shape in SHAPES:
        cells = [", ".join(map(str, shape))]
        for hidden in (True, False):
            together, alone = (variance(*shape, groups, hidden=hidden) for groups in (1, shape[0]))
            between = {groups: variance(*shape, groups, hidden=hidden) for groups in divisors(shape[0])}
            best = min(between, key=lambda groups: between[groups])
            worth = between[best] < together
            cells += [f"{together:.3g}", f"{between[best]:.3g} (t = {best})" if worth else "–"]
            cells += [f"{alone:.3g}"] if hidden else []
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def measured(shape: tuple[int, int, int], groups: int, mechanism: MechanismName, runs: int = 200) -> float:
    """The same variance from simulated reports: the spread of the unbiased estimate over runs, times the people."""
    questions, labels, epsilon = shape
    schema = schema_of(questions, labels)
    members = questions // groups
    names = [list(schema.names[start : start + members]) for start in range(0, questions, members)]
    plan = design(schema, epsilon, mechanism, groups=names, source=seeded(1))
    generator = np.random.default_rng(groups)
    squares = []
    for _ in range(runs):
        records = generator.integers(0, labels, (2_000, questions))
        found = estimate([(plan, _counts(plan, records, generator))], "unbiased").attributes
        squares += [(np.array(own.frequencies) - 1 / labels) ** 2 for own in found.values()]
    return 2_000 * float(np.mean(squares))


def schema_of(questions: int, labels: int) -> Schema:
    """Questions with the same labels."""
    return Schema.of({f"q{own}": [f"a{code}" for code in range(labels)] for own in range(questions)})


def people_of(kind: str, generator: np.random.Generator, questions: int = 6, labels: int = 4) -> np.ndarray:
    """Answers of a population: attributes with one distribution, with others each, or in pairs that go together."""
    same = generator.dirichlet(np.ones(labels))
    marginals = [same if kind == "alike" else generator.dirichlet(np.ones(labels)) for _ in range(questions)]
    codes = np.column_stack([generator.choice(labels, PEOPLE, p=own) for own in marginals])
    if kind == "dependent":
        agree = generator.random(PEOPLE) < 0.8
        for own in range(1, questions, 2):
            codes[agree, own] = codes[agree, own - 1]
    return codes


def _counts(plan: Plan, codes: np.ndarray, generator: np.random.Generator) -> Counts:
    records = SubReports(*np.unique(codes, axis=0, return_counts=True))
    reports = simulate(plan.mechanism, records, generator)
    return count_times(plan, reports.codes, reports.times)


def campaign_errors(mechanism: MechanismName, kind: str, epsilon: float, run: int) -> dict[str, float]:
    """The mean squared error of the likelihood estimate for each way to choose groups, on the same people."""
    generator = np.random.default_rng(1_000 * run + 7)
    codes = people_of(kind, generator)
    found = errors_of(schema_of(codes.shape[1], int(codes.max()) + 1), codes, mechanism, epsilon, run, generator)
    return {way: found[way] for way in ("auto", "alone", "one group")}


def errors_of(
    schema: Schema,
    codes: np.ndarray,
    mechanism: MechanismName,
    epsilon: float,
    run: int,
    generator: np.random.Generator,
) -> dict[str, float]:
    """The same for people with these answers, and for groups by correlation; without ways that the schema excludes."""
    truth = [
        np.bincount(column, minlength=size) / len(codes) for column, size in zip(codes.T, schema.sizes, strict=True)
    ]
    first = design(schema, epsilon, mechanism, source=seeded(run))
    start = round(SHARE * len(codes))
    before = (first, _counts(first, codes[:start], generator))
    ways: dict[str, list[list[str]] | str] = {
        "auto": "auto",
        "alone": [[name] for name in schema.names],
        "one group": [list(schema.names)],
        **{f"above {least:g}": f"correlation:{least}" for least in LEAST},
    }
    errors: dict[str, float] = {}
    known: dict[frozenset[frozenset[int]], float] = {}
    for way, groups in ways.items():
        try:
            plan = learn([before], people=len(codes) - start, groups=groups)
        except PlanError:  # tables too large for a plan
            continue
        same = frozenset(frozenset(part.attributes) for part in plan.parts)
        if same not in known:
            history = [before, (plan, _counts(plan, codes[start:], np.random.default_rng(run)))]
            found = estimate(history).attributes.values()
            gaps = [np.array(own.frequencies) - f for own, f in zip(found, truth, strict=True)]
            known[same] = float(np.mean([np.mean(np.square(gap)) for gap in gaps]))
        errors[way] = known[same]
    return errors


def read_table(path: Path) -> tuple[Schema, np.ndarray]:
    """A real table: the labels of a question are its different values."""
    with path.open(newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    found = [np.unique([row[own] for row in rows], return_inverse=True) for own in range(len(names))]
    schema = Schema.of({name: labels.tolist() for name, (labels, _) in zip(names, found, strict=True)})
    return schema, np.column_stack([codes for _, codes in found])


def tables(directory: Path) -> Iterator[str]:
    """The lines of the table of real answers: errors divided by those of one group, geometric means over runs."""
    columns = ("auto", *(f"above {least:g}" for least in LEAST), "alone")
    yield "| mechanism, ε | " + " | ".join(columns) + " | best: " + ", ".join((*columns, "one group")) + " |"
    yield "|---" * (2 + len(columns)) + "|"
    for mechanism in LEARNING:
        for epsilon in TABLE_BUDGETS:
            ratios: dict[str, list[float]] = defaultdict(list)
            wins = dict.fromkeys((*columns, "one group"), 0)
            for path in sorted(directory.glob("*.csv")):
                schema, records = read_table(path)
                if mechanism == "corr-rr" and len(set(schema.sizes)) > 1:
                    continue
                found: dict[str, list[float]] = defaultdict(list)
                for run in range(TABLE_RUNS):
                    generator = np.random.default_rng(1_000 * run + 11)
                    codes = records[generator.integers(0, len(records), PEOPLE)]
                    for way, error in errors_of(schema, codes, mechanism, epsilon, run, generator).items():
                        found[way].append(error)
                mean = {way: float(np.exp(np.mean(np.log(errors)))) for way, errors in found.items()}
                for way in columns:
                    ratios[way].append(mean[way] / mean["one group"])
                wins[min(mean, key=lambda way: mean[way])] += 1
            means = [f"{np.exp(np.mean(np.log(ratios[way]))):.2f} (to {max(ratios[way]):.2f})" for way in columns]
            yield f"| {mechanism}, {epsilon:g} | {' | '.join(means)} | {', '.join(map(str, wins.values()))} |"


def campaigns() -> Iterator[str]:
    """The lines of the table of simulated campaigns, as they are found."""
    yield "| mechanism | answers | " + " | ".join(f"ε = {epsilon:g}" for epsilon in BUDGETS) + " |"
    yield "|---" * (2 + len(BUDGETS)) + "|"
    ratios = []
    for mechanism in LEARNING:
        for kind in KINDS:
            cells = []
            for epsilon in BUDGETS:
                runs = [campaign_errors(mechanism, kind, epsilon, run) for run in range(RUNS)]
                error = {way: float(np.mean([run[way] for run in runs])) for way in runs[0]}
                ratios.append(error["auto"] / min(error["alone"], error["one group"]))
                cells.append(f"{ratios[-1]:.2f} ({error['alone'] / error['one group']:.2g})")
            yield f"| {mechanism} | {kind} | " + " | ".join(cells) + " |"
    mean = float(np.exp(np.mean(np.log(ratios))))
    yield f"Geometric mean {mean:.2f}, worst {max(ratios):.2f}."


if __name__ == "__main__":
    if sys.argv[1:] == ["campaigns"]:
        for line in campaigns():
            print(line, flush=True)
    elif sys.argv[1:2] == ["tables"]:
        for line in tables(Path(sys.argv[2])):
            print(line, flush=True)
    elif sys.argv[1:] == ["measured"]:
        for questions, labels, epsilon in SHAPES[:3]:
            for groups in (1, 2, 3, 6):
                exact = variance(questions, labels, epsilon, groups, hidden=True)
                found = measured((questions, labels, epsilon), groups, "rs-fd")
                print(f"{questions}, {labels}, {epsilon}, t = {groups}: {exact:.3g}, simulated {found:.3g}")
    else:
        print("\n".join(variances()))
