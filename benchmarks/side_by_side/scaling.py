"""What grows with people, attributes and labels, and how: privtally by itself, in CPU time, one process."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.side_by_side.drive_privtally import MECHANISMS, schema_of
from privtally.collector.estimate import estimate
from privtally.collector.tally import count, nothing
from privtally.documents.plan import design
from privtally.exact.randomness import Stream
from privtally.names import MechanismName
from privtally.participant.respond import respond_many
from privtally.schema import Records, code_type

PIECE = 1_000_000
PEOPLE = tuple(10**power for power in range(4, 9))
ATTRIBUTES = (2, 4, 8, 16, 32, 64)
SIZES = (2, 4, 16, 64, 256, 1_024)
MOST_SECONDS = 60
AT = {"people": 50_000, "attributes": 4, "size": 4}
"""Where two of the three stay while the third one grows."""
TENFOLD = 11.0
"""Ten times the people may cost that many times as much."""


@dataclass(frozen=True)
class Cost:
    """CPU seconds to privatise, tally and estimate."""

    mechanism: str
    people: int
    attributes: int
    size: int
    privatise: float
    tally: float
    unbiased: float

    @property
    def total(self) -> float:
        """From records to unbiased estimates."""
        return self.privatise + self.tally + self.unbiased


def cost(name: str, mechanism: MechanismName, people: int, attributes: int, size: int) -> Cost:
    """One collection, in pieces of at most a million records, so that memory stays the same."""
    plan = design(schema_of(attributes, size), 1.0, mechanism)
    piece = min(people, PIECE)
    generator = np.random.default_rng(0)
    codes = generator.integers(0, size, (attributes, piece), dtype=code_type(plan.schema.sizes))
    records, source = Records(plan.schema, codes.T), Stream.from_system()
    total = nothing(plan)
    privatise = tally = 0.0
    for _ in range(people // piece):
        start = time.process_time()
        reports = respond_many(plan, records, source)
        drawn = time.process_time()
        total += count(plan, reports.codes)
        privatise += drawn - start
        tally += time.process_time() - drawn
    start = time.process_time()
    estimate([(plan, total)], "unbiased")
    return Cost(name, people, attributes, size, privatise, tally, time.process_time() - start)


def least(costs: Sequence[Cost]) -> Cost:
    """The repetition that other programs on the machine disturbed least."""
    return min(costs, key=lambda each: each.total)


def grow(what: str, values: Iterable[int], repeats: int, most_seconds: float = MOST_SECONDS) -> list[Cost]:
    """The cost as one of people, attributes and size grows; a mechanism stops before it would take too long."""
    found = []
    for name, mechanism in MECHANISMS.items():
        last: Cost | None = None
        for value in values:
            at = AT | {what: value}
            if last is not None and last.total * value / getattr(last, what) > most_seconds:
                break
            cost(name, mechanism, min(at["people"], 2_000), at["attributes"], at["size"])
            last = least([cost(name, mechanism, **at) for _ in range(repeats)])
            found.append(last)
    return found


def measure(repeats: int) -> dict[str, list[Cost]]:
    """All three."""
    return {
        "people": grow("people", PEOPLE, repeats),
        "attributes": grow("attributes", ATTRIBUTES, repeats),
        "size": grow("size", SIZES, repeats),
    }


def steps(costs: Sequence[Cost], what: str) -> list[dict[str, Any]]:
    """Each cost as plain values, with `growth`: privatising and counting, by the value before of that mechanism."""
    rows, before = [], dict[str, Cost]()
    for each in costs:
        row = asdict(each) | {"total": each.total, "growth": None}
        if each.mechanism in before:
            last = before[each.mechanism]
            row["growth"] = (each.privatise + each.tally) / (last.privatise + last.tally)
            row["times"] = getattr(each, what) / getattr(last, what)
        before[each.mechanism] = each
        rows.append(row)
    return rows


def by_attributes(costs: Sequence[Cost]) -> dict[str, tuple[float, float]]:
    """Nanoseconds to privatise and count a report, by mechanism: for each attribute, and for each pair of attributes.

    The fit of cost = a · d + b · d (d − 1) / 2 with the least sum of squared relative errors.
    """
    found = {}
    for name in dict.fromkeys(each.mechanism for each in costs):
        own = [each for each in costs if each.mechanism == name]
        spent = np.array([(each.privatise + each.tally) / each.people * 1e9 for each in own])
        terms = np.array([(each.attributes, each.attributes * (each.attributes - 1) / 2) for each in own])
        single, pair = np.linalg.lstsq(terms / spent[:, None], np.ones(len(own)))[0]
        found[name] = float(single), float(pair)
    return found


def too_steep(costs: Sequence[Cost]) -> list[str]:
    """Where ten times the people cost more than they may, in words."""
    return [
        f"{row['mechanism']} to {row['people']:,} people: {row['growth']:.1f} times the cost"
        for row in steps(costs, "people")
        if row["growth"] is not None and row["growth"] > TENFOLD
    ]
