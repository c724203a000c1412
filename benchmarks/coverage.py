"""How often 95 % intervals hold the true frequency, for every option a campaign can have.

`python -m benchmarks.coverage` prints a table for the notes: each option's campaigns are run from answers to estimates,
person by person. Every run has a made-up population of its own, whose frequencies are known, and people drawn from it.
With `--by-people` the table has a row for each number of people, over the mechanisms without further options.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from privtally.documents.estimate import Frequencies
from privtally.job import run_campaign
from privtally.lab.seed import seeded
from privtally.names import MechanismName, Method
from privtally.schema import Attribute, Records, Schema

METHODS: tuple[Method, ...] = ("unbiased", "pooled")
PEOPLE, EPSILONS = (200, 500, 1_500, 5_000), (1.0, 2.0)
SCALE = ("never", "rarely", "weekly", "daily")

ALIKE = Schema.of(dict.fromkeys(("sleep", "mood", "meals", "drinks"), SCALE))
MIXED = Schema(
    (
        Attribute("smokes", ("yes", "no")),
        Attribute("travel", ("walk", "bicycle", "bus", "car", "other")),
        Attribute("pet", ("cat", "dog", "none"), optional=True),
        Attribute("age", bins=(0, 18, 40, 65, 120)),
        Attribute("health", ("poor", "fair", "good"), ordered=True),
    )
)
LARGE = Schema((Attribute("town", tuple(f"town {number}" for number in range(64))), Attribute("sleep", SCALE)))


@dataclass(frozen=True)
class Option:
    """A schema, a mechanism and what `run_campaign` is told."""

    schema: Schema
    mechanism: MechanismName
    arguments: Mapping[str, Any] = field(default_factory=dict)


LEARNING: tuple[MechanismName, ...] = ("rs-rfd", "corr-rr", "cond-rr")
PAIRS = (("smokes", "pet"), ("travel", "age", "health"))
OPTIONS = {
    **{f"{name}": Option(ALIKE, name) for name in ("spl", "smp", "rs-fd", *LEARNING)},
    **{f"{name}, different label sets": Option(MIXED, name) for name in ("spl", "smp", "rs-fd", *LEARNING)},
    **{f"{name}, groups": Option(MIXED, name, {"groups": PAIRS}) for name in ("smp", "rs-fd", *LEARNING)},
    **{f"{name}, groups after Phase I": Option(MIXED, name, {"later_groups": "auto"}) for name in LEARNING},
    **{f"{name}, two pivots": Option(MIXED, name, {"pivots": 2}) for name in ("smp", "rs-fd", "rs-rfd", "cond-rr")},
    "smp, three pivots": Option(MIXED, "smp", {"pivots": 3}),
    **{f"{name}, 64 labels": Option(LARGE, name) for name in ("spl", "smp", "rs-fd", "rs-rfd", "corr-rr", "cond-rr")},
}


@dataclass(frozen=True)
class Coverage:
    """The share of intervals that hold, and the largest distance of an estimate in standard errors."""

    held: float
    farthest: float


def population(schema: Schema, generator: np.random.Generator) -> list[np.ndarray]:
    """The law of each attribute in two kinds of people, who are equally many."""
    return [generator.dirichlet(np.ones(size), size=2) for size in schema.sizes]


def people_of(schema: Schema, laws: list[np.ndarray], number: int, generator: np.random.Generator) -> Records:
    """People drawn from the population: answers of one kind of people go together."""
    kind = generator.integers(2, size=number)
    columns = []
    for own in laws:
        edges = np.cumsum(own, axis=1)[:, :-1]
        columns.append((generator.random(number)[:, None] > edges[kind]).sum(axis=1))
    return Records(schema, np.column_stack(columns))


def cover(option: Option, method: Method, *, epsilon: float, people: int, runs: int, seed: int) -> Coverage:
    """What happens to all intervals of an option's estimates."""
    generator, source = np.random.default_rng(seed), seeded(seed)
    held, farthest = [], 0.0
    for _ in range(runs):
        laws = population(option.schema, generator)
        truth = [own.mean(axis=0) for own in laws]
        records = people_of(option.schema, laws, people, generator)
        share = 0.2 if option.mechanism in LEARNING else None
        job = run_campaign(records, epsilon, option.mechanism, source, phase1_share=share, **option.arguments)
        for own, true in zip(job.estimate(method).attributes.values(), truth, strict=True):
            held += _holds(own, true)
            away = np.abs(np.array(own.frequencies) - true) / np.array(own.standard_errors)
            farthest = max(farthest, float(away.max()))
    return Coverage(float(np.mean(held)), farthest)


def _holds(own: Frequencies, true: np.ndarray) -> list[bool]:
    assert own.low
    assert own.high
    return [low <= frequency <= high for low, frequency, high in zip(own.low, true, own.high, strict=True)]


def table(*, epsilon: float, people: int, runs: int, seed: int) -> list[str]:
    """The lines of the table."""
    lines = ["| option | unbiased | farthest, in standard errors | pooled |", "|---|---|---|---|"]
    for name, option in OPTIONS.items():
        found = [cover(option, own, epsilon=epsilon, people=people, runs=runs, seed=seed) for own in METHODS]
        lines.append(f"| {name} | {found[0].held:.1%} | {found[0].farthest:.1f} | {found[1].held:.1%} |")
        print(lines[-1], flush=True)
    return lines


def table_by_people(*, runs: int, seed: int) -> list[str]:
    """The share of intervals that hold over all plain options, and that of the worst option, as people and ε vary."""
    plain = [own for own in OPTIONS.values() if own.schema is not LARGE and not own.arguments]
    head = [f"{method}, ε = {epsilon:g} (worst)" for method in METHODS for epsilon in EPSILONS]
    lines = [f"| people | {' | '.join(head)} |", f"|---:{'|---' * len(head)}|"]
    for people in PEOPLE:
        cells = []
        for method in METHODS:
            for epsilon in EPSILONS:
                found = [cover(own, method, epsilon=epsilon, people=people, runs=runs, seed=seed).held for own in plain]
                cells.append(f"{np.mean(found):.1%} ({min(found):.1%})")
        lines.append(f"| {people:,} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilon", type=float, default=2.0)
    parser.add_argument("--people", type=int, default=5_000)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--by-people", action="store_true")
    chosen = parser.parse_args()
    if chosen.by_people:
        print("\n".join(table_by_people(runs=chosen.runs, seed=chosen.seed)))
    else:
        print("\n".join(table(epsilon=chosen.epsilon, people=chosen.people, runs=chosen.runs, seed=chosen.seed)))
