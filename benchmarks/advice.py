"""What `advise` expects and recommends without pilot data, next to simulated campaigns.

`python -m benchmarks.advice [--runs 4] [--seed 11] [--results FILE] [--notes docs/notes]`

People are drawn from each kind of population that the prior names. Every mechanism's best campaign is run on them as
`compare` runs it. Two ratios come of that: the measured error over the expected one, and the error of the recommended
campaign over that of the best one that is as secret. Two-way tables are measured as well, and how long `advise` takes.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy import rewrite
from privtally.collector.joint import joint_table
from privtally.collector.tally import count
from privtally.documents.plan import design
from privtally.lab.advise import Adviser, Expected, best_of_each, choose
from privtally.lab.compare import Study, study_variant
from privtally.lab.expectation import SIMILAR, prior_populations
from privtally.lab.offers import Question
from privtally.lab.seed import seeded
from privtally.lab.variants import Variant, variants
from privtally.names import MAX_PIVOT_GUESS, MECHANISMS
from privtally.participant.respond import respond_many
from privtally.schema import Records, Schema, code_type

Floats = NDArray[np.float64]
Setting = tuple[tuple[int, ...], int, float]
"""Numbers of labels, people, budget."""

SCHEMAS: tuple[tuple[int, ...], ...] = (
    (2, 2),
    (4, 4),
    (2,) * 4,
    (4,) * 4,
    (4,) * 6,
    (8,) * 6,
    (2,) * 8,
    (2, 3, 4, 5),
    (2, 16, 42),
    (3, 3, 8, 8, 20),
    (2, 7, 6, 16, 9),
    (64, 64),
    (5, 5, 5, 100),
)
ASKED = ((2_000, 0.5), (20_000, 1.0), (2_000, 2.0), (20_000, 4.0), (2_000, 8.0))
"""People and budgets."""
SETTINGS: tuple[Setting, ...] = tuple((sizes, people, epsilon) for sizes in SCHEMAS for people, epsilon in ASKED)
PAIR_SETTINGS: tuple[Setting, ...] = (
    ((4, 4, 4, 4), 20_000, 1.0),
    ((2, 2, 2, 2), 20_000, 1.0),
    ((2, 3, 4, 5), 20_000, 4.0),
    ((2, 16, 42), 20_000, 4.0),
)
PEOPLE = 20_000
"""So many people are drawn from a population, and those who are asked from them."""
USUAL_SHARE = 0.1
MANY_LABELS = 48
"""Schemas with fewer labels are run more often: their errors vary more."""
SPEED = ((2,) * 300, (65_536,), (65_536, 16, 7, 2), (2, 7, 6, 16, 9, 42, 10))

LAWS: Mapping[str, Callable[[Floats, np.random.Generator], Floats]] = {
    "alike": lambda shared, _: shared,
    "similar": lambda shared, generator: generator.dirichlet(SIMILAR * shared + 1e-3),
    "unlike": lambda shared, generator: generator.dirichlet(np.ones(len(shared))),
}
"""An attribute's frequencies in each kind of population, from a draw that all attributes with the same labels share."""


def schema_of(sizes: Sequence[int]) -> Schema:
    """Attributes with as many labels have the same ones."""
    return Schema.of({f"q{own}": [f"{size}.{code}" for code in range(size)] for own, size in enumerate(sizes)})


def draw(kind: str, sizes: Sequence[int], generator: np.random.Generator) -> Records:
    """People of a kind of population, their answers independent."""
    shared = {size: generator.dirichlet(np.ones(size)) for size in dict.fromkeys(sizes)}
    laws = [LAWS[kind](shared[size], generator) for size in sizes]
    codes = [generator.choice(len(law), PEOPLE, p=law) for law in laws]
    return Records(schema_of(sizes), np.column_stack(codes).astype(code_type(sizes)))


def advised(setting: Setting) -> tuple[list[Expected], Expected]:
    """The best campaign of every mechanism, and the one that is recommended."""
    sizes, people, epsilon = setting
    schema = schema_of(sizes)
    rows = Adviser(schema, list(prior_populations(schema).values())).expect(Question(people, epsilon))
    chosen = choose(rows, MAX_PIVOT_GUESS)
    return list(dict.fromkeys([*best_of_each(rows), chosen])), chosen


def run(setting: Setting, kind: str, runs: int, seed: int) -> list[float]:
    """The simulated mean squared error of every campaign in one population."""
    sizes, people, epsilon = setting
    records = draw(kind, sizes, np.random.default_rng([seed, SETTINGS.index(setting), list(LAWS).index(kind)]))
    often = max(runs, runs * MANY_LABELS // sum(sizes))
    errors = []
    for row in advised(setting)[0]:
        way = row.design
        study = Study(records, way.phase1_share or USUAL_SHARE, often, seed, people)
        groups = None if way.groups is None else tuple(map(tuple, way.groups))
        variant = Variant(way.mechanism, variants([way.mechanism])[0].rule, groups, way.pivots)
        errors.append(study_variant(study, variant, epsilon, ["pooled"])[0].mse)
    return errors


def run_pairs(setting: Setting, runs: int, seed: int) -> list[tuple[str, float]]:
    """The measured error of a cell over the expected one, for every campaign that carries pairs; even answers."""
    sizes, people, epsilon = setting
    schema, source, generator = schema_of(sizes), seeded(seed), np.random.default_rng(seed)
    question = Question(people, epsilon, 1.0, pairs=True)
    found = []
    for row in Adviser(schema, [[]]).expect(question):
        plan = design(schema, epsilon, **row.design.options)
        squares = []
        for _ in range(runs):
            codes = np.column_stack([generator.integers(0, size, people) for size in sizes]).astype(code_type(sizes))
            counts = count(plan, respond_many(plan, Records(schema, codes), source).codes)
            own = []
            for one in range(len(sizes)):
                for two in range(one + 1, len(sizes)):
                    table = joint_table([(plan, counts)], one, two)
                    assert table is not None
                    true = np.zeros(table.frequencies.shape)
                    np.add.at(true, (codes[:, one], codes[:, two]), 1 / people)
                    own.append(float(np.mean((table.frequencies - true) ** 2)))
            squares.append(np.mean(own))
        found.append((f"{row.design.mechanism}, {row.design.pivots}", float(np.mean(squares)) ** 0.5 / row.error))
    return found


def page(settings: Sequence[Setting], errors: Mapping[Setting, Floats], pairs: Sequence[tuple[str, float]]) -> str:
    """The tables of docs/notes/advice.md; `errors` has the mean over runs (population, campaign)."""
    ratios: dict[str, list[float]] = {mechanism: [] for mechanism in (*MECHANISMS, "recommended")}
    behind: dict[tuple[int, ...], list[float]] = {}
    for setting in settings:
        rows, chosen = advised(setting)
        means = np.exp(np.log(errors[setting]).mean(axis=0) / 2)
        for row, measured in zip(rows, means, strict=True):
            ratios[row.design.mechanism].append(measured / row.error)
        mine = means[rows.index(chosen)]
        ratios["recommended"].append(mine / chosen.error)
        best = min(m for row, m in zip(rows, means, strict=True) if row.named <= MAX_PIVOT_GUESS)
        behind.setdefault(setting[0], []).append(mine / best)
    lines = ["| campaign | settings | measured ± / expected ±, mean | 5th to 95th percentile |", "|---|---|---|---|"]
    for name, values in {**ratios, "two-way tables": [value for _, value in pairs]}.items():
        low, high = np.percentile(values, [5, 95])
        lines.append(f"| {name} | {len(values)} | {_mean(values):.2f} | {low:.2f} to {high:.2f} |")
    lines += ["", "| labels of the questions | recommended ± / best ±, mean | worst of 5 |", "|---|---|---|"]
    for sizes, values in behind.items():
        words = f"{len(sizes)} × {sizes[0]}" if len(set(sizes)) == 1 else ", ".join(map(str, sizes))
        lines.append(f"| {words} | {_mean(values):.2f} | {max(values):.2f} |")
    everything = [value for values in behind.values() for value in values]
    shares = ", ".join(f"{np.mean(np.array(everything) <= 1 + by):.0%} within {by:.0%}" for by in (0.05, 0.1, 0.15))
    lines += ["", f"Of {len(everything)} recommendations {shares} of the best ±; the worst is {max(everything):.2f}."]
    return "\n".join(lines).replace("% within", " % within").replace("% of", " % of").replace("%,", " %,")


def _mean(values: Iterable[float]) -> float:
    """The geometric mean."""
    return float(np.exp(np.mean(np.log(list(values)))))


def seconds(sizes: Sequence[int]) -> float:
    """How long the command keeps one core busy, the start of Python included."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "schema.json"
        attributes = [{"name": f"q{own}", "labels": [str(c) for c in range(size)]} for own, size in enumerate(sizes)]
        path.write_text(json.dumps({"attributes": attributes}))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        words = ["advise", str(path), "--people", "10000", "--epsilon", "1", "--json"]
        subprocess.run([sys.executable, "-m", "privtally", *words], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> int:
    """Simulate every setting and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4, help="how often each is run with 48 labels; more with fewer")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--results", type=Path, help="a JSON file to go on from, and to keep what was simulated")
    parser.add_argument("--notes", type=Path, help="docs/notes: rewrite the tables of advice.md there")
    options = parser.parse_args()
    for sizes in SPEED:
        words = f"{len(sizes)} questions, {sum(sizes):,} labels"
        print(f"{words}: advise takes {seconds(sizes):.1f} s", file=sys.stderr)
    cases = [(setting, kind) for setting in SETTINGS for kind in LAWS]
    found: dict[str, list[float]] = {}
    if options.results is not None and options.results.exists():
        found = json.loads(options.results.read_text())
    for setting, kind in cases:
        key = json.dumps([*setting, kind, options.runs, options.seed])
        if key not in found:
            found[key] = run(setting, kind, options.runs, options.seed)
            if options.results is not None:
                options.results.write_text(json.dumps(found))
            print(f"\r{len(found)} of {len(cases)} populations", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    errors: dict[Setting, Floats] = {
        setting: np.array([found[json.dumps([*setting, kind, options.runs, options.seed])] for kind in LAWS])
        for setting in SETTINGS
    }
    pairs = [own for setting in PAIR_SETTINGS for own in run_pairs(setting, options.runs, options.seed)]
    tables = page(SETTINGS, errors, pairs)
    print(tables)
    if options.notes is not None:
        rewrite(options.notes / "advice.md", "benchmarks/advice.py", tables)
    return 0


if __name__ == "__main__":
    sys.exit(main())
