"""A part: a group of attributes with a share of the budget. It is a mixture of branches.

A branch says which of the part's attributes are asked: its pivots. They go through channels that see the record; the
others are filled from the pivots' private codes:

    P(sub-report | record) = (1/branches) Σ over branches  Π asked R(y|x)  Π filled F(y | private pivots)

Inside a part attributes are numbered by their place in it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, permutations, product
from math import comb, prod

import numpy as np

from privtally.exact.arrays import Codes, Distribution, Floats
from privtally.exact.source import Source
from privtally.mechanisms.channel import Asked, Channel
from privtally.mechanisms.filling import Uniform
from privtally.mechanisms.fills import Fill, Places

SubReport = tuple[int, ...]

Joint = Callable[[Places], Distribution]
"""The joint distribution of some attributes: an array with one axis for each, after any axes for several cases."""


@dataclass(frozen=True, eq=False)
class Part:
    """A group of attributes of which `pivots` are asked, and a fill for the others (None if all are asked)."""

    attributes: tuple[int, ...]
    pivots: int
    asked: tuple[Asked, ...]
    fill: Fill | None = None

    @cached_property
    def branches(self) -> tuple[Places, ...]:
        """The possible choices of pivots, all equally likely."""
        return tuple(combinations(range(len(self.attributes)), self.pivots))

    @property
    def silent(self) -> bool:
        """Whether attributes that are not asked are reported as "not asked", by the code after the last output."""
        return self.fill is not None and self.fill.silent

    @property
    def answer_share(self) -> Fraction:
        """The share of reports that are not silent about an attribute."""
        return Fraction(self.pivots, len(self.attributes)) if self.silent else Fraction(1)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of codes that each attribute of a record has."""
        return tuple(channel.inputs for channel in self.asked)

    @cached_property
    def answers(self) -> tuple[int, ...]:
        """The number of codes that each attribute of a report has, "not asked" aside."""
        return tuple(channel.outputs for channel in self.asked)

    @cached_property
    def outputs(self) -> tuple[int, ...]:
        """The number of codes that each attribute of a report has."""
        return tuple(answers + self.silent for answers in self.answers)

    @property
    def ratio(self) -> Fraction:
        """A bound on the likelihood ratio of any sub-report between two records: the largest of a branch's products."""
        ratios = sorted((channel.ratio for channel in self.asked), reverse=True)
        return prod(ratios[: self.pivots], start=Fraction(1))

    @property
    def linear(self) -> bool:
        """Whether the reported frequencies follow from the frequencies of every attribute by itself."""
        return self.pivots == 1 or self.fill is None or not self.fill.conditional

    @cached_property
    def distinct(self) -> int:
        """How many different sub-reports there can be."""
        if self.silent:
            return sum(prod(self.answers[own] for own in branch) for branch in self.branches)
        return prod(self.answers)

    def others(self, branch: Places) -> list[int]:
        """The attributes that a branch does not ask."""
        return [own for own in range(len(self.attributes)) if own not in branch]

    def filling(self, branch: Places, other: int) -> Channel:
        """The channel that fills an attribute from the branch's private codes."""
        assert self.fill is not None
        if (branch, other) not in self._fillings:
            self._fillings[branch, other] = self.fill.channel(branch, other, self.asked)
        return self._fillings[branch, other]

    @cached_property
    def _fillings(self) -> dict[tuple[Places, int], Channel]:
        return {}

    def combined(self, branch: Places, report: Sequence[int]) -> int:
        """The private codes of a branch's pivots as one number, the last one counting fastest."""
        index = 0
        for own in branch:
            index = index * self.answers[own] + report[own]
        return index

    def rest_probability(self, branch: Places, report: Sequence[int]) -> Fraction:
        """The probability that the fills give the rest of a sub-report, given the branch and its private codes."""
        if any(report[own] >= self.answers[own] for own in branch):
            return Fraction(0)
        given = self.combined(branch, report)
        filled = (self.filling(branch, other).probability(given, report[other]) for other in self.others(branch))
        return prod(filled, start=Fraction(1))

    def probability(self, record: Sequence[int], report: Sequence[int]) -> Fraction:
        """The exact probability of a sub-report given the part's codes of a record."""
        taken = (
            self.branch_probability(branch, tuple(record[own] for own in branch), report) for branch in self.branches
        )
        return sum(taken, start=Fraction(0))

    def branch_probability(self, branch: Places, codes: Places, report: Sequence[int]) -> Fraction:
        """The probability that a branch is taken and gives a sub-report, given the true codes of its pivots."""
        rest = self.rest_probability(branch, report)
        if not rest:
            return rest
        asked = (self.asked[own].probability(code, report[own]) for own, code in zip(branch, codes, strict=True))
        return prod(asked, start=rest / len(self.branches))

    def reports(self, codes: Sequence[Sequence[int]] | None = None) -> Iterator[SubReport]:
        """Every sub-report that the part's alphabet allows, or those with these answers to each attribute."""
        codes = codes or [range(answers) for answers in self.answers]
        if not self.silent:
            yield from product(*codes)
            return
        for branch in self.branches:
            own_codes = (codes[own] if own in branch else (silence,) for own, silence in enumerate(self.answers))
            yield from product(*own_codes)

    def expect(self, joint: Joint) -> list[Distribution]:
        """The reported distribution of each attribute; `joint` has the true one of attributes by their places."""
        branches, asking = len(self.branches), comb(len(self.attributes) - 1, self.pivots - 1)
        reported = []
        for own, channel in enumerate(self.asked):
            answered = channel.push(joint((own,)))
            if self.silent:
                answered = np.concatenate([answered, np.zeros_like(answered[..., :1])], axis=-1)
            total = answered * asking
            filling = [branch for branch in self.branches if own not in branch]
            if self.fill is not None and not self.fill.conditional:
                mass = joint((own,)).sum(axis=-1, keepdims=True)
                total = total + self.filling(filling[0], own).push(mass) * len(filling)
            else:
                total = sum((self.filling(b, own).push(self._private(b, joint)) for b in filling), start=total)
            reported.append(total / branches)
        return reported

    def reported(self, joint: Joint) -> list[Distribution]:
        """The distribution of each attribute's codes among reports that are not silent about it."""
        reported = self.expect(joint)
        if self.silent:
            reported = [own[..., :-1] * len(self.attributes) / self.pivots for own in reported]
        return reported

    def observe(self, joint: Joint) -> list[Distribution]:
        """For each attribute the share of reports in each label's set, among those that are not silent about it."""
        return [channel.support(own) for channel, own in zip(self.asked, self.reported(joint), strict=True)]

    def scales(self) -> Floats | None:
        """Λ with observed_j = Σ_s Λ[j, s] · true_s + a constant, where every channel has that form; else None."""
        own = [channel.scale for channel in self.asked]
        if not self.linear or None in own:
            return None
        attributes = len(self.attributes)
        share = 1.0 if self.silent else self.pivots / attributes
        matrix = np.diag([share * float(scale or 0) for scale in own])
        if self.fill is not None and self.fill.conditional:
            for pivot, other in permutations(range(attributes), 2):
                factor = self.filling((pivot,), other).scale
                if factor is None:
                    return None
                matrix[other, pivot] = float(factor * (own[pivot] or 0)) / attributes
        return matrix

    def draw(self, codes: Codes, room: Codes, source: Source) -> None:
        """One sub-report for each person of codes (attribute, person), written into the part's rows of `room`."""
        if len(self.branches) == 1:
            for own, channel in zip(self.attributes, self.asked, strict=True):
                room[own] = channel.draw(codes[own], source)
            return
        if self.silent:
            for own, silence in zip(self.attributes, self.answers, strict=True):
                room[own] = silence
        chosen = Uniform(len(self.branches)).draw(codes[0], source)
        order = np.argsort(chosen, kind="stable")
        ends = np.cumsum(np.bincount(chosen, minlength=len(self.branches)))
        for branch, people in zip(self.branches, np.split(order, ends[:-1]), strict=True):
            if people.size:
                self._draw_branch(branch, people, codes, room, source)

    def _draw_branch(self, branch: Places, people: Distribution, codes: Codes, room: Codes, source: Source) -> None:
        private = [self.asked[own].draw(codes[self.attributes[own]][people], source) for own in branch]
        for own, drawn in zip(branch, private, strict=True):
            room[self.attributes[own]][people] = drawn
        if self.silent:
            return
        given = private[0]
        if len(branch) > 1 and self.fill is not None and self.fill.conditional:
            given = np.ravel_multi_index(private, [self.answers[own] for own in branch]).astype(np.uint64)
        for other in self.others(branch):
            room[self.attributes[other]][people] = self.filling(branch, other).draw(given, source)

    def _private(self, branch: Places, joint: Joint) -> Distribution:
        """The joint distribution of a branch's private codes, combined as the fills take them."""
        private = joint(branch)
        for place, own in enumerate(branch):
            axis = place - len(branch)
            private = np.moveaxis(self.asked[own].push(np.moveaxis(private, axis, -1)), -1, axis)
        return private.reshape(*private.shape[: -len(branch)], -1)


def independent(marginals: Sequence[Distribution]) -> Joint:
    """The joint distributions of independent attributes with these marginals."""

    def joint(places: Places) -> Distribution:
        table = marginals[places[0]]
        for axes, own in enumerate(places[1:], start=1):
            more = marginals[own]
            table = table[..., None] * more.reshape(*more.shape[:-1], *(1,) * axes, more.shape[-1])
        return table

    return joint
