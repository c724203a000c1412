"""Corr-RR's rules against each other, on real tables whose questions have the same answers and on made-up people.

`python -m benchmarks.rules [--tables DIRECTORY] [--runs 10]` prints, for every population, the mean squared error of
the likelihood estimate by each rule divided by that of `proposition`: geometric means over people and budgets. Runs
share their people and their first phase. DIRECTORY has CSV files with a column for each question.
"""

import argparse
import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from privtally.collector.learn import learn
from privtally.collector.likelihood import Reports, estimate, part_likelihood
from privtally.collector.tally import count_times
from privtally.documents.campaign import Phase
from privtally.documents.counts import SubReports
from privtally.documents.plan import Plan, design
from privtally.exact.types import Floats, Integers
from privtally.lab.population import Synthetic, seeded
from privtally.lab.simulate import simulate
from privtally.names import RULES
from privtally.schema import Schema

PEOPLE, BUDGETS, PHASE1_SHARE = (1_000, 5_000, 20_000), (0.5, 1.0, 2.0, 4.0), 0.1
AGAINST = "proposition"
MADE_UP = (
    Synthetic("SynA", 4, 4, 0.2),
    Synthetic("SynA", 4, 4, 0.8),
    Synthetic("SynA", 3, 4, 0.5, uncopied="reversed"),
    Synthetic("SynA", 4, 4, 0.5, uncopied="same"),
    Synthetic("SynA", 3, 2, 0.5),
    Synthetic("SynA", 6, 2, 0.8, uncopied="same"),
    Synthetic("SynA", 4, 4, 0.9, "uniform"),
)


@dataclass(frozen=True)
class Population:
    """Different records, and how frequent each is."""

    name: str
    size: int
    records: Integers
    shares: Floats

    @property
    def schema(self) -> Schema:
        """Questions with the same answers."""
        return Schema.of({f"q{own}": [f"a{code}" for code in range(self.size)] for own in range(self.records.shape[1])})


def populations(tables: Path | None) -> Iterator[Population]:
    """The tables whose columns all have the same values, and the made-up people."""
    for path in sorted(tables.glob("*.csv")) if tables else ():
        rows = np.array(list(csv.reader(path.read_text().splitlines()))[1:])
        labels, codes = np.unique(rows, return_inverse=True)
        if all(len(np.unique(column)) == len(labels) for column in rows.T):
            records, times = np.unique(codes.reshape(rows.shape), axis=0, return_counts=True)
            yield Population(path.stem, len(labels), records, times / len(rows))
    for own in MADE_UP:
        name = f"{own.kind}, {own.attributes} of {own.size}, ρ = {own.correlation}, {own.first}, {own.uncopied}"
        yield Population(name, own.size, np.array(list(np.ndindex(own.shape))), own.law().ravel())


def _phase(plan: Plan, population: Population, times: Integers, generator: np.random.Generator) -> Phase:
    reports = simulate(plan.mechanism, SubReports(population.records[times > 0], times[times > 0]), generator)
    return plan, count_times(plan, reports.codes, reports.times)


def _error(history: Sequence[Phase], truth: Sequence[Floats]) -> float:
    parts = [(part.attributes, part_likelihood(own, part)) for plan, own in history for part in plan.mechanism.parts]
    found = estimate(Reports([attribute.labels for attribute in history[0][0].schema.attributes], parts))
    return float(np.mean([np.mean((one - two) ** 2) for one, two in zip(found, truth, strict=True)]))


def errors(population: Population, people: int, epsilon: float, runs: int) -> dict[str, float]:
    """The mean squared error of a frequency by each rule."""
    generator = np.random.default_rng([people, round(10 * epsilon), *population.records.shape])
    first = design(population.schema, epsilon, "corr-rr", source=seeded(1))
    asked = [round(PHASE1_SHARE * people), people - round(PHASE1_SHARE * people)]
    found: dict[str, list[float]] = {rule: [] for rule in RULES}
    for _ in range(runs):
        one, two = generator.multinomial(asked, population.shares)
        truth = [np.bincount(column, one + two, population.size) / people for column in population.records.T]
        before = _phase(first, population, one, generator)
        seed = int(generator.integers(1 << 60))
        for rule in RULES:
            second = learn([before], rule=rule, people=asked[1])
            after = _phase(second, population, two, np.random.default_rng(seed))
            found[rule].append(_error([before, after], truth))
    return {rule: float(np.mean(own)) for rule, own in found.items()}


def main() -> None:
    """Print a line for each population, and one for all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    rules = [rule for rule in RULES if rule != AGAINST]
    print(f"| | {' | '.join(rules)} |\n{'|---' * (1 + len(rules))}|")
    every = []
    for population in populations(options.tables):
        cells = [errors(population, people, epsilon, options.runs) for people in PEOPLE for epsilon in BUDGETS]
        every.append(np.log([[cell[rule] / cell[AGAINST] for rule in rules] for cell in cells]).mean(axis=0))
        print(f"| {population.name} | {' | '.join(f'{ratio:.2f}' for ratio in np.exp(every[-1]))} |", flush=True)
    print(f"| all | {' | '.join(f'{ratio:.2f}' for ratio in np.exp(np.mean(every, axis=0)))} |")


if __name__ == "__main__":
    main()
