"""Synthetic tables of Adult: how far they are from the people, and whether the margins of analyses hold.

`PRIVTALLY_DATA_DIR=… python -m benchmarks.synthetic [--runs 10] [--write docs/guide/synthetic.md]` prints the first
table of that page, with `--cover 200` the second one, and with `--chosen` the third.

All 48,842 people of the UCI dataset are asked pairs of six questions; counts are simulated exactly, without users.
Tables: the total variation distance of all two-way and three-way tables of the synthetic rows to those of the people,
on average over the tables and the runs; beside it that of independent columns with the same estimated shares, and of as
many people drawn at random from all people. Coverage: how often the 95 % interval of an analysis, its
result on the synthetic table ± 1.96 times the spread over the replicates, has the people's own value in it.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy import rewrite
from benchmarks.adult import SCHEMA as ADULT
from privtally.collector import synthetic as module
from privtally.collector.synthetic import Synthetic, synthetic
from privtally.collector.tally import count_times
from privtally.documents.campaign import History
from privtally.documents.counts import SubReports, distinct
from privtally.documents.estimate import NORMAL_95
from privtally.documents.plan import design
from privtally.exact.types import Codes, Floats
from privtally.lab.paper.data import data_directory, read_lines
from privtally.lab.population import seeded
from privtally.lab.simulate import simulate
from privtally.schema import Schema

COLUMNS = {"sex": 9, "marital-status": 5, "relationship": 7, "education": 3, "workclass": 1, "income": 14}
EDUCATION = Schema.from_toml(ADULT).attributes[3].labels
YEARS = {name: years for years, name in enumerate(EDUCATION, start=1)}
"""The dataset's own number of education."""
BUDGETS = (1.0, 2.0, 4.0)
KEEP = (("sex", "income"), ("sex", "relationship"), ("education", "income"))


@cache
def people() -> tuple[Schema, Codes]:
    """Everybody in the published files: the questions, and codes (person, question)."""
    directory = data_directory(None)
    lines = [*read_lines("adult/adult.data", directory), *read_lines("adult/adult.test", directory)[1:]]
    fields = [line.rstrip(".").split(", ") for line in lines]
    rows = [[own[place].replace("?", "not known") for place in COLUMNS.values()] for own in fields]
    labels = [sorted(set(column), key=lambda name: (YEARS.get(name, 0), name)) for column in zip(*rows, strict=True)]
    codes = [[own.index(value) for own, value in zip(labels, row, strict=True)] for row in rows]
    return Schema.of(dict(zip(COLUMNS, labels, strict=True))), np.array(codes, dtype=np.uint8)


LEVELS = ["up to 12th", "HS-grad", "college", "Bachelors or more"]


def coarser(schema: Schema, codes: Codes) -> tuple[Schema, Codes]:
    """The same people, their education in four levels."""
    labels = {own.name: own.labels for own in schema.attributes} | {"education": LEVELS}
    merged = codes.copy()
    merged[:, 3] = np.searchsorted([8, 9, 12], codes[:, 3], side="right")
    return Schema.of(labels), merged


def campaign(schema: Schema, codes: Codes, epsilon: float, generator: np.random.Generator) -> History:
    """A campaign of pairs that all these people answered."""
    plan = design(schema, epsilon, "pairs", source=seeded(1))
    records = distinct(schema.sizes, codes, np.ones(len(codes), dtype=np.int64))
    reports = simulate(plan.mechanism, SubReports(records.codes, records.times), generator)
    return [(plan, count_times(plan, reports.codes, reports.times))]


def tables(codes: Codes, sizes: Sequence[int], ways: int) -> list[Floats]:
    """All tables of so many questions, as shares."""
    return [
        np.bincount(
            np.ravel_multi_index(tuple(codes[:, own].astype(int) for own in places), [sizes[own] for own in places]),
            minlength=int(np.prod([sizes[own] for own in places])),
        )
        / len(codes)
        for places in combinations(range(len(sizes)), ways)
    ]


def distance(codes: Codes, truth: Codes, sizes: Sequence[int], ways: int) -> float:
    """The total variation distance in percentage points, on average over all tables of so many questions."""
    pairs = zip(tables(codes, sizes, ways), tables(truth, sizes, ways), strict=True)
    return float(np.mean([50 * np.abs(one - two).sum() for one, two in pairs]))


def as_tree(history: History, rows: int, seed: int) -> Synthetic:
    """The same with a tree of pairs, although the questions have few labels."""
    most, module.MOST_CELLS = module.MOST_CELLS, 1
    try:
        return synthetic(history, rows, seeded(seed))
    finally:
        module.MOST_CELLS = most


def accuracy(schema: Schema, codes: Codes, runs: int) -> list[str]:
    """The lines of the first table."""
    sizes, rows = schema.sizes, len(codes)
    generator = np.random.default_rng(1)
    lines = ["| ε | tables | independent columns | tree of pairs | fitted pairs | drawn from the people | pairs kept |"]
    lines.append("|---" * 7 + "|")
    for epsilon in BUDGETS:
        found: dict[int, list[list[float]]] = {2: [], 3: []}
        kept = []
        for run in range(runs):
            history = campaign(schema, codes, epsilon, generator)
            fit, tree = synthetic(history, rows, seeded(run)), as_tree(history, rows, run)
            kept.append((len(tree.synthesis.kept), len(fit.synthesis.kept)))
            alone = np.column_stack([generator.permutation(column) for column in fit.codes.T]).astype(np.uint8)
            drawn = codes[generator.integers(0, rows, rows)]
            for ways, own in found.items():
                own.append([distance(each, codes, sizes, ways) for each in (alone, tree.codes, fit.codes, drawn)])
        for ways, own in found.items():
            cells = " | ".join(f"{value:.1f}" for value in np.mean(own, axis=0))
            number = " and ".join(f"{value:.1f}" for value in np.mean(kept, axis=0)) if ways == 2 else ""
            lines.append(f"| {f'{epsilon:g}' if ways == 2 else ''} | {ways}-way | {cells} | {number} |")
    return lines


def _slope(codes: Codes) -> float:
    level, rich = codes[:, 3].astype(float), codes[:, 5] == 1
    return float(100 * np.cov(level, rich)[0, 1] / np.var(level, ddof=1))


ANALYSES: Mapping[str, Callable[[Codes], float]] = {
    "high incomes (mean, %)": lambda codes: 100 * float(np.mean(codes[:, 5] == 1)),
    "level of education (mean, 0 to 3)": lambda codes: float(np.mean(codes[:, 3])),
    "high incomes: men less women (difference, points)": lambda codes: _less(codes, codes[:, 0] == 1),
    "husbands among men (%)": lambda codes: 100 * float(np.mean(codes[codes[:, 0] == 1, 2] == 0)),
    "high income on level of education (slope, points)": _slope,
    "not kept: high incomes, married less others (points)": lambda codes: _less(codes, codes[:, 1] == 2),
}


def _less(codes: Codes, group: Any) -> float:
    """The share of high incomes in a group less that among all others, in points."""
    return float(100 * (np.mean(codes[group, 5] == 1) - np.mean(codes[~group, 5] == 1)))


def coverage(schema: Schema, codes: Codes, runs: int, replicates: int = 50, rows: int = 10_000) -> list[str]:
    """The lines of the second table."""
    lines = ["| analysis | truth | " + " | ".join(f"ε = {epsilon:g}" for epsilon in BUDGETS) + " |"]
    lines.append("|---" * (2 + len(BUDGETS)) + "|")
    truth = {name: own(codes) for name, own in ANALYSES.items()}
    cells: dict[str, list[str]] = {name: [] for name in ANALYSES}
    for epsilon in BUDGETS:
        generator = np.random.default_rng(2)
        found: dict[str, list[tuple[bool, float]]] = {name: [] for name in ANALYSES}
        for run in range(runs):
            history = campaign(schema, codes, epsilon, generator)
            made = as_named(history, rows, replicates, run)
            for name, analysis in ANALYSES.items():
                spread = np.std([analysis(each.codes) for each in made.replicates], ddof=1)
                reach = NORMAL_95 * float(spread)
                found[name].append((abs(analysis(made.codes) - truth[name]) <= reach, reach))
        for name, own in found.items():
            held, reach = np.mean(own, axis=0)
            cells[name].append(f"{100 * held:.0f} % (± {reach:.2g})")
        print(epsilon, cells, file=sys.stderr, flush=True)
    return lines + [f"| {name} | {truth[name]:.3g} | " + " | ".join(own) + " |" for name, own in cells.items()]


def chosen(runs: int = 150, people: int = 20_000) -> list[str]:
    """The lines of the third table: what choosing a pair by the data does to its connection, at ε = 1."""
    generator = np.random.default_rng(3)
    schema = Schema.of({f"q{own}": ["no", "yes"] for own in range(4)})
    lines = ["| true difference | estimated, kept by name | the data chose the pair in | estimated where they did |"]
    lines.append("|---" * 4 + "|")
    for together in (0.05, 0.1, 0.2, 0.3):
        found: list[tuple[float, bool]] = []
        for run in range(runs):
            codes = (generator.random((people, 4)) < 0.5).astype(np.uint8)
            same = generator.random(people) < together
            codes[same, 1] = codes[same, 0]
            history = campaign(schema, codes, 1.0, generator)
            made = synthetic(history, people, seeded(run), keep=[("q0", "q1")])
            own = made.codes[:, 0] == 1
            difference = float(np.mean(made.codes[own, 1]) - np.mean(made.codes[~own, 1]))
            (link, *_) = made.synthesis.kept
            found.append((100 * difference, link.p_value <= module.LEVEL / 6 and link.information > 0))
        named, passed = np.mean([one for one, _ in found]), [one for one, by_data in found if by_data]
        share, there = f"{len(passed)} of {runs}", f"{np.mean(passed):.0f}" if passed else "–"
        lines.append(f"| {100 * together:.0f} points | {named:.0f} | {share} | {there} |")
    return lines


def as_named(history: History, rows: int, replicates: int, seed: int) -> Synthetic:
    """A synthetic table with the named pairs and no other."""
    level, module.LEVEL = module.LEVEL, -1.0
    try:
        return synthetic(history, rows, seeded(seed), keep=KEEP, replicates=replicates)
    finally:
        module.LEVEL = level


def main() -> None:
    """Print the tables, or write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--cover", type=int, metavar="RUNS")
    parser.add_argument("--fine", action="store_true", help="keep all 16 levels of education")
    parser.add_argument("--chosen", action="store_true")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    if options.chosen:
        name, lines = "chosen", chosen()
    elif options.cover is not None:
        name, lines = "coverage", coverage(*(people() if options.fine else coarser(*people())), options.cover)
    else:
        name, lines = "accuracy", accuracy(*people(), options.runs)
    if options.write is None:
        print("\n".join(lines))
    else:
        rewrite(options.write, f"benchmarks.synthetic {name}", "\n".join(lines))


if __name__ == "__main__":
    main()
