"""The mechanism: a product of parts. Law, linear operator and sampler, all from the same integer weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod

import numpy as np

from privtally.errors import PlanError
from privtally.exact.arrays import Codes, Distribution
from privtally.exact.source import Source
from privtally.mechanisms.part import Joint, Part
from privtally.schema import code_type

Law = dict[tuple[int, ...], Fraction]
"""The exact probability of every report that can occur."""

CHUNK = 1 << 16
"""How many records are privatised at once: few enough to stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class Mechanism:
    """record -> private codes: every part by itself, so that the parts' budgets add up."""

    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        if sorted(own for part in self.parts for own in part.attributes) != list(range(self.width)):
            raise PlanError("every attribute must belong to exactly one part")

    @cached_property
    def width(self) -> int:
        """The number of attributes."""
        return sum(len(part.attributes) for part in self.parts)

    @cached_property
    def places(self) -> tuple[tuple[int, int], ...]:
        """For each attribute its part's number and its place in that part."""
        places = [(number, place) for number, part in enumerate(self.parts) for place in range(len(part.attributes))]
        owners = [own for part in self.parts for own in part.attributes]
        return tuple(place for _, place in sorted(zip(owners, places, strict=True)))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of codes that each attribute of a record has."""
        return tuple(self.parts[number].sizes[place] for number, place in self.places)

    @cached_property
    def outputs(self) -> tuple[int, ...]:
        """The number of codes that each attribute of a report has, "not asked" included."""
        return tuple(self.parts[number].outputs[place] for number, place in self.places)

    @cached_property
    def silences(self) -> tuple[int | None, ...]:
        """For each attribute the code that stands for "not asked", None where every report has an answer."""
        parts = ((self.parts[number], place) for number, place in self.places)
        return tuple(part.answers[place] if part.silent else None for part, place in parts)

    @property
    def ratio(self) -> Fraction:
        """A bound on the likelihood ratio of any report between any two records: e to the realised epsilon."""
        return prod((part.ratio for part in self.parts), start=Fraction(1))

    def law(self, record: Sequence[int]) -> Law:
        """The exact law of the report given a record."""
        laws = []
        for part in self.parts:
            codes = [record[own] for own in part.attributes]
            chances = ((report, part.probability(codes, report)) for report in part.reports())
            laws.append([(report, chance) for report, chance in chances if chance])
        whole: Law = {}
        for choice in product(*laws):
            report = tuple(choice[number][0][place] for number, place in self.places)
            whole[report] = prod((chance for _, chance in choice), start=Fraction(1))
        return whole

    def expect(self, joint: Joint) -> list[Distribution]:
        """The reported distribution of each attribute; `joint` has the true one of attributes by number."""
        reported = [part.expect(within(part, joint)) for part in self.parts]
        return [reported[number][place] for number, place in self.places]

    def check(self, codes: Sequence[int]) -> str | None:
        """Why no report can have these codes (each in range), or None."""
        for part in self.parts:
            shown = sum(codes[own] < answers for own, answers in zip(part.attributes, part.answers, strict=True))
            if shown != part.shown:
                return f"a report must show {part.shown} of {len(part.attributes)} attributes, this one has {shown}"
        return None

    def privatise(self, codes: Codes, source: Source) -> Codes:
        """One report for each record, record by record independent.

        The codes of one attribute stand side by side in memory, as everybody who counts them or writes them as columns
        wants them.
        """
        out = np.empty(codes.T.shape, dtype=code_type(self.outputs))
        for start in range(0, len(codes), CHUNK):
            piece = np.ascontiguousarray(codes[start : start + CHUNK].T)  # NumPy is faster on columns
            room = out[:, start : start + CHUNK]
            for part in self.parts:
                part.draw(piece, room, source)
        return out.T


def within(part: Part, joint: Joint) -> Joint:
    """The joint distributions of a part's attributes, by their places in it."""
    return lambda places: joint(tuple(part.attributes[place] for place in places))
