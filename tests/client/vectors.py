"""Shared vectors: plans with their digests and weights, and answers with random bytes and the report that they give.

`python -m tests.client.vectors FILE` writes them for clients in other languages; the tests make them anew in every run.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain, cycle, product
from math import inf
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from privtally.documents.plan import Plan, design
from privtally.exact.randomness import WORD, Words
from privtally.exact.rational import PROBABILITY_UNIT
from privtally.mechanisms.channels import Asked
from privtally.mechanisms.named import asking
from privtally.mechanisms.together import Together
from privtally.names import MechanismName
from privtally.participant.respond import respond
from privtally.schema import Attribute, Schema
from tests.support import EXTENDED_PLANS, MECHANISMS, Scripted, cases, plan_of, plan_with

EPSILONS = (1.0, 0.1, 2.0, 1 / 3, 4.5, 1e-06, 8.0, 0.6931471805599453, 12.25, 3.0000000000000004)
PEOPLE = 4
"""How many people answer each plan."""
WORDS = 64
"""More random words than any of these reports takes, words that are drawn again included."""
LARGE: tuple[tuple[int, ...], ...] = ((300,), (40, 1000), (2500, 2500))

SURVEY = Schema(
    (
        Attribute("age", bins=(0, 18, 30, 45, 65, 120)),
        Attribute("Größe in m", bins=(0.5, 1.5, 1.75, 2.5), decimals=True, optional=True),
        Attribute("degrees", bins=(-10, 0, 1, 10), clamp=True),
        Attribute("boit", ("café", "thé", "maté"), optional=True),
        Attribute("__proto__", ("toString", "constructor", '"\\\U0001f600', "no answer")),
        Attribute("merged", merged=(("a", "b"), ("c",)), optional=True),
        Attribute("tiny", bins=(-1e-7, 0.0, 1e-7, 123456789012345.6), decimals=True, clamp=True, optional=True),
    )
)
GRIDS = Schema(
    (
        Attribute("years", grid=(0, 18, 30, 45, 65, 120)),
        Attribute("ºC", grid=(-0.3, 0.1, 7.25), decimals=True, clamp=True, optional=True),
        Attribute("tiny", grid=(-1e-7, 0.0, 1e-7, 123456789012345.6), decimals=True),
        Attribute("two", grid=(-3, 4), clamp=True, optional=True),
    )
)
ON_GRIDS: tuple[tuple[Any, ...], ...] = (
    (0, "17", " +29 ", 120, "000119", 64, 65, "-0", 1, 31),
    (None, " ", 0, 0.1, "0.1", -0.30000000000000004, 1e300, "-1e300", ".2e1", "7.25", "+.5", "1.", "1e-300", 7.2499999),
    (0, -0.0, 1e-7, "1e-7", 5e-324, "-5e-8", "0." + "0" * 299 + "1", "1e-307", 1e14, 0.3, "123456789012345.6"),
    (-3, 4, "0", 1, "-1", None, "9" * 300, -(10**20), "no answer"),
)
ANSWERS: tuple[tuple[Any, ...], ...] = (
    (0, 18, "17", " +29 ", 120, "000120", 64, 65),
    (None, "", "  ", "1.5", 1.75, "2.5", 0.5, "5e-1", ".5e+0", "1.", "no answer"),
    (-1000, 0, 1, "-1", 10**20, "9" * 300, "-0"),
    ("café", "cafe\u0301", "the\u0301", "maté", None, " ", "no answer"),
    ("toString", "constructor", '"\\\U0001f600', "no answer"),
    ("a", "b", "c", None),
    (0, -0.0, 1e-7, "1e-7", 1e300, "-1e300", 5e-8, "123456789012345.59", "0." + "0" * 299 + "1", None),
)
"""Answers that the survey takes, by attribute, in all the forms that people and programs write."""


class Script:
    """A source that reads given bytes, and knows how many of them it has used."""

    def __init__(self, data: bytes) -> None:
        self.data, self.used = data, 0

    def words(self, count: int) -> Words:
        start, self.used = self.used, self.used + 8 * count
        assert self.used <= len(self.data), "the script has no more bytes"
        return np.frombuffer(self.data[start : self.used], dtype="<u8").astype(np.uint64)


def vectors() -> list[dict[str, Any]]:
    """Every plan with its cases; the same in every run."""
    made_up = np.random.default_rng(17)
    return [
        _vector(plan, made_up)
        for plan in chain(_named(), _extended(), _designed(), _together(), _surveys(), _budgets(), _grids())
    ]


def _named() -> Iterator[Plan]:
    """Every mechanism on every shape, and on many labels."""
    epsilons = cycle(EPSILONS)
    for seed, (mechanism, sizes) in enumerate(cases()):
        yield plan_of(mechanism, sizes, next(epsilons), seed)
    for mechanism, sizes in product(MECHANISMS, LARGE):
        if mechanism == "cond-rr" or (len(sizes) == 1 and mechanism in ("rs-rfd", "corr-rr")):
            continue  # tables of this size do not fit a plan; a mechanism that learns needs two attributes
        if mechanism != "corr-rr" or len(set(sizes)) == 1:
            yield plan_of(mechanism, sizes, next(epsilons) / 2 + 0.5)


def _extended() -> Iterator[Plan]:
    for parts, sizes in EXTENDED_PLANS.values():
        for epsilon in (0.25, 0.5, 1.0, 2.0, 3.7):
            yield plan_with(parts, sizes, epsilon)


def _designed() -> Iterator[Plan]:
    """Groups and several pivots, as `design` makes them."""
    sizes = {"u": 2, "v": 3, "w": 4, "x": 2, "y": 2, "z": 90}
    schema = Schema.of({name: [f"{name}{code}" for code in range(size)] for name, size in sizes.items()})
    mechanisms: tuple[MechanismName, ...] = ("smp", "rs-fd")
    for mechanism in mechanisms:
        yield _first(schema, 2.5, mechanism, groups=(("x", "u", "z"), ("w", "v", "y")))
    for pivots in (1, 2, 3):
        yield _first(schema, 2.5, "smp", pivots=pivots, answers=2)
        yield _first(schema, 6.0, "smp", pivots=pivots, groups=(("x", "u", "z"), ("w", "v", "y")))
    made_up = np.random.default_rng(19)
    priors = {
        own.name: dict(zip(own.labels, made_up.dirichlet(np.ones(len(own.labels))).tolist(), strict=True))
        for own in schema.attributes
    }
    for epsilon in (0.5, 2.5):
        yield _first(schema, epsilon, "rs-rfd", priors=priors)
        yield _first(schema, epsilon, "rs-rfd", priors=priors, decoys=1)
        yield _first(schema, epsilon, "rs-rfd", priors=priors, groups=(("x", "u", "z"), ("w", "v", "y")), pivots=2)


def _together() -> Iterator[Plan]:
    """Questions asked together, of all sets or of some, and single ones too."""
    schema = Schema.of({f"q{size}": [f"a{code}" for code in range(size)] for size in (3, 2, 30, 4)})
    for epsilon in EPSILONS:
        yield _first(schema, epsilon, "pairs")
        yield _first(schema, epsilon, "pairs", single=0.3)
        yield _first(schema, epsilon, "pairs", together=3)
        yield _first(schema, epsilon, "pairs", pairs_of=(("q4", "q3"), ("q2", "q30")), single=0.75)


def _surveys() -> Iterator[Plan]:
    """Numbers, skipped answers, and texts that need care."""
    mechanisms: tuple[MechanismName, ...] = ("spl", "smp", "rs-fd")
    for mechanism, epsilon in product(mechanisms, EPSILONS):
        yield _first(SURVEY, epsilon, mechanism)


def _budgets() -> Iterator[Plan]:
    """One question with any number of labels and any budget: the integer weights themselves."""
    made_up = np.random.default_rng(18)
    for _ in range(60):
        size, epsilon = int(made_up.integers(2, 60)), float(np.exp(made_up.uniform(-13, 2.7)))
        yield plan_with((asking((0,), (size,), Fraction(epsilon)),), (size,), epsilon)


def _grids() -> Iterator[Plan]:
    """Numbers that are rounded at random."""
    mechanisms: tuple[MechanismName, ...] = ("spl", "smp", "rs-fd", "pairs")
    for mechanism, epsilon in product(mechanisms, (0.5, 1.0, 2.0, 4.5, 8.0, 12.25)):
        yield _first(GRIDS, epsilon, mechanism)


def _first(schema: Schema, epsilon: float, mechanism: MechanismName, **fields: Any) -> Plan:
    return design(schema, epsilon, mechanism, source=Scripted([7, 7]), **fields)


def _vector(plan: Plan, made_up: np.random.Generator) -> dict[str, Any]:
    return {
        "plan": plan.dump().decode(),
        "digest": plan.digest,
        "campaign": plan.campaign_id,
        "weights": [[[str(own.same), str(own.other)] for own in asked] for asked in _asked(plan)],
        "cases": [_case(plan, made_up) for _ in range(PEOPLE)],
    }


def _asked(plan: Plan) -> list[Sequence[Asked]]:
    """The channels of every part, or of the sets of questions that are asked together."""
    mechanism = plan.mechanism
    return [mechanism.asked] if isinstance(mechanism, Together) else [part.asked for part in mechanism.parts]


def _case(plan: Plan, made_up: np.random.Generator) -> dict[str, Any]:
    answers = {own.name: _answer(own, made_up) for own in plan.schema.attributes}
    words = [*_rounding(plan, answers, made_up), *_words(plan, made_up)]
    script = Script(b"".join(word.to_bytes(8, "little") for word in words))
    report = respond(plan, answers, script, most_epsilon=inf)
    return {"answers": answers, "bytes": script.data[: script.used].hex(), "report": report.dump().decode()}


def _answer(attribute: Attribute, made_up: np.random.Generator) -> Any:
    known = {**dict(zip(SURVEY.names, ANSWERS, strict=True)), **dict(zip(GRIDS.names, ON_GRIDS, strict=True))}
    choices = known.get(attribute.name, attribute.labels)
    return choices[made_up.integers(len(choices))]


def _rounding(plan: Plan, answers: dict[str, Any], made_up: np.random.Generator) -> Iterator[int]:
    """For each number of a grid a word at the chance of the upper point or just below it, and where the word's digits
    are those of the chance a second one near the digits that follow.
    """
    for attribute in plan.schema.attributes:
        place = attribute.place_of[answers[attribute.name]]
        if isinstance(place, Fraction):
            digits, rest = divmod(place % 1 * WORD, 1)
            word = max(int(digits) - int(made_up.integers(2)), 0)
            yield word
            if rest and word == digits:
                yield min(int(rest * WORD) + int(made_up.integers(2)), WORD - 1)


def _words(plan: Plan, made_up: np.random.Generator) -> list[int]:
    """Random words, among which are those where one piece of a channel's line of words ends and the next begins."""
    edges = _edges(plan, made_up)
    words = made_up.integers(0, WORD - 1, WORDS, dtype=np.uint64, endpoint=True)
    chosen = made_up.integers(len(edges), size=WORDS)
    return [
        edges[edge] if at_edge else int(word)
        for word, edge, at_edge in zip(words, chosen, made_up.random(WORDS) < 0.4, strict=True)
    ]


def _edges(plan: Plan, made_up: np.random.Generator) -> Sequence[int]:
    edges = [0, WORD - 1, WORD - 2, WORD // 2, WORD // 2 - 1, WORD - PROBABILITY_UNIT]
    if plan.together is not None and plan.together.single:
        edges += [int(plan.together.single * PROBABILITY_UNIT) * PROBABILITY_UNIT + least for least in (0, -1)]
    for channel in chain.from_iterable(_asked(plan)):
        fit = (WORD - 1) // channel.total
        step = int(made_up.integers(1, channel.outputs))
        inside = channel.same * channel.inside * fit
        for edge in (channel.total * fit, inside, step * channel.other * fit, inside + channel.other * fit):
            edges += [edge, edge - 1]
    for fill in (part.fill for part in plan.parts if part.fill is not None):
        rows = list(_rows(msgspec.to_builtins(fill)))
        for place in made_up.integers(len(rows), size=min(8, len(rows))):
            ends = np.cumsum([0, *rows[place][:-1]]) * PROBABILITY_UNIT
            edges += [int(end) * PROBABILITY_UNIT for end in ends if end < PROBABILITY_UNIT]
    return edges


def _rows(value: Any) -> Iterator[list[float]]:
    """Every list of probabilities in a part of a document."""
    if isinstance(value, dict):
        yield from chain.from_iterable(map(_rows, value.values()))
    elif isinstance(value, list | tuple) and all(isinstance(item, float) for item in value):
        yield list(value)
    elif isinstance(value, list | tuple):
        yield from chain.from_iterable(map(_rows, value))


def main() -> None:
    """Write the vectors to the file that the command line names."""
    Path(sys.argv[1]).write_text(json.dumps(vectors(), ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
