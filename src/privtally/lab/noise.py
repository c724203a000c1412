"""How much noise the reports of a campaign have.

At uniform answers one private answer through a channel of K codes, of which each label has c and any two labels share
m, has the information K·(c − m)·λ² on each direction, λ being the weight of a code inside a label's set less that of a
code outside. For randomized response that is k·λ². If one of g attributes is answered and the report says which, each
is answered by a g-th of the people. If the others are filled evenly, so that the report does not say which, only a g-th
of that information is left.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from privtally.collector.learn.information import CopyInformation, copy_information
from privtally.collector.learn.robust import CANDIDATES, GROUPS, MOST_DIRECTED, SLACK, best_directed, too_large
from privtally.documents.sub_reports import SUB_REPORT_LIMIT
from privtally.lab.expectation import Noise
from privtally.mechanisms.alignment import label_by_label
from privtally.mechanisms.named import Groups
from privtally.mechanisms.projective import best_geometry
from privtally.schema import Schema


@dataclass(frozen=True)
class Private:
    """A private answer: how many codes it may have, and what it says of each direction, at uniform answers."""

    codes: int
    information: float


@lru_cache(maxsize=4096)
def private(budget: float, size: int, *, by_label: bool = False) -> Private:
    """A private answer with this budget to a question of so many labels, through the channel that a plan takes."""
    geometry = None if by_label else best_geometry(budget, size)
    codes, inside, meet = (size, 1, 0) if geometry is None else (geometry.points, geometry.plane, geometry.meet)
    difference = math.expm1(budget) / (inside * math.exp(budget) + codes - inside)
    return Private(codes, codes * (inside - meet) * difference**2)


@dataclass(frozen=True)
class Setup:
    """Who is asked what: the questions, how many people, each with which budget, and the groups of attributes."""

    schema: Schema
    people: int
    epsilon: float
    groups: Groups

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return self.schema.sizes

    @property
    def budget(self) -> float:
        """The budget of a group."""
        return self.epsilon / len(self.groups)

    @cached_property
    def members(self) -> Sequence[int]:
        """For each attribute how many there are in its group."""
        many = {place: len(group) for group in self.groups for place in group}
        return [many[place] for place in range(len(self.sizes))]

    def drawn(self, place: int) -> float:
        """The variance, in one direction, of the frequencies of the people asked around those of all people."""
        return 1 / (self.sizes[place] * self.people)


def said(setup: Setup, pivots: int = 1) -> Noise:
    """Everybody answers so many attributes of each group, and says which."""
    alone, passed_over = [], []
    for place, (size, members) in enumerate(zip(setup.sizes, setup.members, strict=True)):
        times = members / pivots
        information = private(setup.budget / pivots, size).information
        alone.append(times * (1 / (setup.people * information) - setup.drawn(place)))
        passed_over.append((times - 1) / setup.people)
    return Noise(alone, passed_over=passed_over)


def evenly_filled(setup: Setup, pivots: int = 1) -> Noise:
    """Everybody answers so many attributes of each group, and the others are filled evenly."""
    each = [private(setup.budget / pivots, size).information for size in setup.sizes]
    return Noise(
        [
            (members / pivots) ** 2 / (setup.people * information) - setup.drawn(place)
            for place, (information, members) in enumerate(zip(each, setup.members, strict=True))
        ]
    )


@dataclass(frozen=True)
class TwoPhases:
    """So many people answer everything; the others answer one attribute of each group, with fills that were learned.

    `by_label` says whether fills need the private answer to be a label.
    """

    setup: Setup
    phase1: int
    max_pivot_guess: float
    by_label: bool = False

    @property
    def phase2(self) -> int:
        return self.setup.people - self.phase1

    def first(self, size: int) -> float:
        """The information of the first phase on an attribute."""
        return self.phase1 * private(self.setup.epsilon / len(self.setup.sizes), size).information

    def even(self, group: Sequence[int]) -> list[float]:
        """The variance of each attribute of a group with even fills."""
        variances = []
        for place in group:
            size = self.setup.sizes[place]
            by_label = self.by_label and len(group) > 1
            second = self.phase2 * private(self.setup.budget, size, by_label=by_label).information
            variances.append(1 / (self.first(size) + second / len(group) ** 2))
        return variances

    def noise(self, variances: Sequence[tuple[Sequence[float], float]]) -> Noise:
        """From the variances of each group's attributes, and that of the noise that they share."""
        alone = [0.0] * len(self.setup.sizes)
        for group, (own, _) in zip(self.setup.groups, variances, strict=True):
            for place, variance in zip(group, own, strict=True):
                alone[place] = variance - self.setup.drawn(place)
        common = [(group, shared) for group, (_, shared) in zip(self.setup.groups, variances, strict=True) if shared]
        return Noise(alone, common)

    def filled(self) -> Iterator[Noise]:
        """Fills that say nothing about the private answer at uniform answers: rows, and tables of unrelated answers."""
        yield self.noise([(self.even(group), 0.0) for group in self.setup.groups])

    def copied(self) -> Iterator[Noise]:
        """Every choice that the rule `robust` can make, the same in all groups where it can: even fills first."""
        even = [(self.even(group), 0.0) for group in self.setup.groups]
        yield self.noise(even)
        kinds = [self._kind(group) for group in self.setup.groups]
        found = {kind: self._copies(*kind) for kind in set(kinds) if kind is not None}
        choices = [{} if kind is None else found[kind] for kind in kinds]
        for choice in sorted(set().union(*choices)):
            yield self.noise([own.get(choice, usual) for own, usual in zip(choices, even, strict=True)])

    def _kind(self, group: Sequence[int]) -> tuple[int, int] | None:
        """How many attributes a group has, and how many labels each of them; None where only even fills are offered:
        matches between labels that do not correspond one by one are not weighed.
        """
        schema, attributes, size = self.setup.schema, len(group), self.setup.sizes[group[0]]
        if attributes == 1 or too_large([schema.attributes[place].labels for place in group]):
            return None
        return (attributes, size) if label_by_label(schema, group) else None

    def _copies(self, attributes: int, size: int) -> dict[int, tuple[list[float], float]]:
        """The variances of a group's attributes, and of their common noise, for every choice but even fills.

        The rule takes no choice that would be worse by more than `SLACK` if attributes had nothing in common.
        """
        answer = private(self.setup.budget, size)
        first, second = self.first(size), self.phase2 * answer.information / answer.codes
        even = 1 / (first + second * answer.codes / attributes**2)
        secret = max(self.max_pivot_guess, 1 / attributes)
        kept = min(answer.codes**attributes, self.phase2) <= SUB_REPORT_LIMIT
        found = {}
        tells = _copy_information(attributes, answer.codes, whole=kept)
        if tells is not None:
            together, apart = 1 / (first + second * tells.common), 1 / (first + second * tells.contrast)
            safe = together + (attributes - 1) * apart <= SLACK * attributes * even
            for place in np.flatnonzero(safe & (tells.pivot_guess <= secret)).tolist():
                found[place] = _shared(float(together[place]), float(apart[place]), attributes)
        for most in GROUPS if attributes <= MOST_DIRECTED else ():
            directed = best_directed(attributes, answer.codes, most, first, second, secret, whole=kept)
            if directed is not None:
                variances = np.linalg.inv(first * np.eye(attributes) + second * directed[1])
                common = float(variances.sum()) / attributes
                own = (float(np.trace(variances)) - common) / (attributes - 1)
                found[len(CANDIDATES) + most] = _shared(common, own, attributes)
        return found


def _shared(together: float, apart: float, attributes: int) -> tuple[list[float], float]:
    """The variance of each attribute's own noise, and of the noise that they share, from those of what attributes have
    in common and of their differences.
    """
    return [apart] * attributes, (together - apart) / attributes


@lru_cache(maxsize=64)
def _copy_information(attributes: int, codes: int, *, whole: bool) -> CopyInformation | None:
    return copy_information(CANDIDATES, attributes, codes, whole=whole)
