"""The mechanism: a product of parts. Law, linear operator and sampler, all from the same integer weights."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, permutations, product
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from privtally.errors import PlanError
from privtally.exact.randomness import Source
from privtally.exact.types import Codes, Distribution, Floats, Integers
from privtally.mechanisms.channels import Asked, Channel, Uniform
from privtally.mechanisms.fills import Fill, Places
from privtally.schema import code_type

SubReport = tuple[int, ...]

Joint = Callable[[Places], Distribution]
"""The joint distribution of some attributes: an array with one axis for each, after any axes for several cases."""


@dataclass(frozen=True, eq=False)
class Part:
    """A group of attributes of which `pivots` are asked and `decoys` shown beside them with the codes of a fill."""

    attributes: tuple[int, ...]
    pivots: int
    asked: tuple[Asked, ...]
    decoys: int = 0
    fill: Fill | None = None

    @cached_property
    def branches(self) -> tuple[Places, ...]:
        """The possible choices of pivots, all equally likely."""
        return tuple(combinations(range(len(self.attributes)), self.pivots))

    @property
    def shown(self) -> int:
        """How many attributes a sub-report has a code of."""
        return self.pivots + self.decoys

    @property
    def silent(self) -> bool:
        """Whether some attributes are reported as "not asked", by the code after the last output."""
        return self.shown < len(self.attributes)

    @property
    def answer_share(self) -> Fraction:
        """The share of reports that show an attribute."""
        return Fraction(self.shown, len(self.attributes))

    @property
    def asked_share(self) -> Fraction:
        """The share of the reports that show an attribute in which it was asked."""
        return Fraction(self.pivots, self.shown)

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
        """How many different sub-reports there can be: the sum over all shown sets of products of numbers of codes."""
        sums = [1] + [0] * self.shown
        for answers in self.answers:
            sums = [1, *(more + answers * fewer for more, fewer in zip(sums[1:], sums, strict=False))]
        return sums[-1]

    def shown_sets(self) -> Iterator[Places]:
        """Every choice of attributes that a sub-report can show, all equally likely."""
        return combinations(range(len(self.attributes)), self.shown)

    def alike_sets(self, kinds: Sequence[Hashable]) -> Iterator[tuple[int, Places]]:
        """The shown sets, one for all that have the same kinds of attributes, with how many those are.

        `kinds` has the kind of each attribute. Sets with the same kinds are told apart by nobody who looks at the kinds
        alone, so that 300 attributes of one kind have one set.
        """
        members: dict[Hashable, list[int]] = {}
        for own, kind in enumerate(kinds):
            members.setdefault(kind, []).append(own)
        if len(members) == len(kinds):
            yield from ((1, places) for places in self.shown_sets())
            return

        def choose(alike: list[list[int]], left: int) -> Iterator[tuple[int, Places]]:
            if not alike:
                yield from [(1, ())] if left == 0 else []
                return
            first, *others = alike
            beyond = sum(map(len, others))
            for taken in range(max(left - beyond, 0), min(left, len(first)) + 1):
                for number, places in choose(others, left - taken):
                    yield number * comb(len(first), taken), (*first[:taken], *places)

        for number, places in choose(list(members.values()), self.shown):
            yield number, tuple(sorted(places))

    def showing(self, places: Places) -> "Part":
        """The part of these attributes alone, all of them shown: the law of a sub-report given that it shows them."""
        return ShownPart(
            tuple(self.attributes[own] for own in places),
            self.pivots,
            tuple(self.asked[own] for own in places),
            self.decoys,
            self.fill,
            whole=self,
            places=places,
        )

    def others(self, branch: Places) -> list[int]:
        """The attributes that a branch does not ask."""
        return [own for own in range(len(self.attributes)) if own not in branch]

    def filling(self, branch: Places, other: int) -> Channel:
        """The channel that fills an attribute from the branch's private codes."""
        assert self.fill is not None
        if (branch, other) not in self._fillings:
            self._fillings[branch, other] = self.fill.channel(branch, other, self.asked)
        return self._fillings[branch, other]

    def decoy_law(self, own: int) -> Floats:
        """The law of an attribute's code as a decoy whose fill depends on nothing; 0 where there are no decoys."""
        if self.fill is None:
            return np.zeros(self.answers[own])
        return self.filling(self._beside(own), own).push(np.ones(1))

    def _beside(self, own: int) -> Places:
        """A branch that does not ask an attribute."""
        return next(branch for branch in self.branches if own not in branch)

    @cached_property
    def _fillings(self) -> dict[tuple[Places, int], Channel]:
        return {}

    def rest_probability(self, branch: Places, report: Sequence[int]) -> Fraction:
        """The probability of what a sub-report shows beside the branch, given the branch and its private codes."""
        shown = [own for own, code in enumerate(report) if code < self.answers[own]]
        if len(shown) != self.shown or not set(branch) <= set(shown):
            return Fraction(0)
        given = 0  # the private codes of the pivots as one number, the last one counting fastest
        for own in branch:
            given = given * self.answers[own] + report[own]
        decoys = (own for own in shown if own not in branch)
        filled = (self.filling(branch, other).probability(given, report[other]) for other in decoys)
        return prod(filled, start=Fraction(1, comb(len(self.attributes) - self.pivots, self.decoys)))

    def probability(self, record: Sequence[int], report: Sequence[int]) -> Fraction:
        """The exact probability of a sub-report given the part's codes of a record."""
        shown = [own for own, code in enumerate(report) if code < self.answers[own]]
        taken = (
            self.branch_probability(branch, tuple(record[own] for own in branch), report)
            for branch in combinations(shown, self.pivots)
        )
        return sum(taken, start=Fraction(0))

    def branch_probability(self, branch: Places, codes: Places, report: Sequence[int]) -> Fraction:
        """The probability that a branch is taken and gives a sub-report, given the true codes of its pivots."""
        rest = self.rest_probability(branch, report)
        if not rest:
            return rest
        asked = (self.asked[own].probability(code, report[own]) for own, code in zip(branch, codes, strict=True))
        return prod(asked, start=rest / len(self.branches))

    def reports(self) -> Iterator[SubReport]:
        """Every sub-report that the part's alphabet allows."""
        for shown in self.shown_sets():
            own = (range(answers) if place in shown else (answers,) for place, answers in enumerate(self.answers))
            yield from product(*own)

    def expect(self, joint: Joint) -> list[Distribution]:
        """The reported distribution of each attribute; `joint` has the true one of attributes by their places."""
        reported = self.reported(joint)
        if not self.silent:
            return reported
        share = self.answer_share if reported[0].dtype == object else float(self.answer_share)
        masses = [joint((own,)).sum(axis=-1, keepdims=True) for own in range(len(self.attributes))]
        return [
            np.concatenate([own * share, mass * (1 - share)], axis=-1)
            for own, mass in zip(reported, masses, strict=True)
        ]

    def reported(self, joint: Joint) -> list[Distribution]:
        """The distribution of each attribute's codes among reports that show it."""
        asking = comb(len(self.attributes) - 1, self.pivots - 1)
        # Of the branches that do not ask an attribute, as many show it as it takes for `asked_share` of the shown ones.
        others = len(self.branches) - asking
        reported = []
        for own, channel in enumerate(self.asked):
            exact = joint((own,)).dtype == object
            asked_share = self.asked_share if exact else float(self.asked_share)
            total = channel.push(joint((own,))) * asked_share
            if self.fill is not None and not self.fill.conditional:
                mass = joint((own,)).sum(axis=-1, keepdims=True)
                total = total + self.filling(self._beside(own), own).push(mass) * (1 - asked_share)
            elif self.fill is not None:
                weight = (1 - asked_share) / others
                for branch in (branch for branch in self.branches if own not in branch):
                    total = total + self.filling(branch, own).push(self._private(branch, joint)) * weight
            reported.append(total)
        return reported

    def observe(self, joint: Joint) -> list[Distribution]:
        """For each attribute the share of reports in each label's set, among those that show it."""
        return [channel.support(own) for channel, own in zip(self.asked, self.reported(joint), strict=True)]

    def scales(self) -> Floats | None:
        """Λ with observed_j = Σ_s Λ[j, s] · true_s + a constant, where every channel has that form; else None."""
        own = [channel.scale for channel in self.asked]
        if not self.linear or None in own:
            return None
        attributes = len(self.attributes)
        matrix = np.diag([float(self.asked_share * (scale or 0)) for scale in own])
        if self.fill is not None and self.fill.conditional:
            weight = (1 - self.asked_share) / (attributes - 1)
            for pivot, other in permutations(range(attributes), 2):
                factor = self.filling((pivot,), other).scale
                if factor is None:
                    return None
                matrix[other, pivot] = float(weight * factor * (own[pivot] or 0))
        return matrix

    def draw(self, codes: Codes, room: Codes, source: Source) -> None:
        """One sub-report for each person of codes (attribute, person), written into the part's rows of `room`.

        For each person the words are taken in the order: branch, decoys, pivots, fills.
        """
        if self.pivots == len(self.attributes):
            for own, channel in zip(self.attributes, self.asked, strict=True):
                room[own] = channel.draw(codes[own], source)
            return
        if self.silent:
            for own, silence in zip(self.attributes, self.answers, strict=True):
                room[own] = silence
        chosen = Uniform(len(self.branches)).draw(codes[0], source)
        some = 0 < self.decoys < len(self.attributes) - self.pivots
        decoys = self.draw_decoys(chosen, source) if some else None
        order = np.argsort(chosen, kind="stable")
        ends = np.cumsum(np.bincount(chosen, minlength=len(self.branches)))
        groups = [
            (branch, people)
            for branch, people in zip(self.branches, np.split(order, ends[:-1]), strict=True)
            if people.size
        ]
        private = [self._draw_pivots(branch, people, codes, room, source) for branch, people in groups]
        if self.fill is None:
            return
        if decoys is not None and not self.fill.conditional:
            for own, attribute in enumerate(self.attributes):
                people = np.flatnonzero(decoys[own])
                room[attribute][people] = self.filling(self._beside(own), own).draw(people.view(np.uint64), source)
            return
        for (branch, people), given in zip(groups, private, strict=True):
            for other in self.others(branch):
                shown = slice(None) if decoys is None else decoys[other][people]
                drawn = self.filling(branch, other).draw(given[shown], source)
                room[self.attributes[other]][people[shown]] = drawn

    def draw_decoys(self, chosen: Codes, source: Source) -> NDArray[np.bool_]:
        """Which attributes are decoys (attribute, person), given the branch of each person."""
        attributes, everybody = len(self.attributes), np.arange(len(chosen))
        pivots = np.array(self.branches, dtype=np.int64)[chosen].T
        decoys = np.zeros((attributes, len(chosen)), dtype=np.bool_)
        others = attributes - self.pivots
        ranks = np.empty((0, len(chosen)), dtype=np.int64)
        for number in range(self.decoys):
            drawn = Uniform(others - number).draw(chosen, source).astype(np.int64)
            ranks = np.sort(np.vstack([ranks, _passing(drawn, ranks)]), axis=0)
        for rank in ranks:
            decoys[_passing(rank, pivots), everybody] = True
        return decoys

    def _draw_pivots(self, branch: Places, people: Integers, codes: Codes, room: Codes, source: Source) -> Codes:
        """Draw and write the private codes of a branch; gives them combined as the fills take them."""
        private = [self.asked[own].draw(codes[self.attributes[own]][people], source) for own in branch]
        for own, drawn in zip(branch, private, strict=True):
            room[self.attributes[own]][people] = drawn
        if len(branch) == 1 or self.fill is None or not self.fill.conditional:
            return private[0]
        return np.ravel_multi_index(private, [self.answers[own] for own in branch]).astype(np.uint64)

    def _private(self, branch: Places, joint: Joint) -> Distribution:
        """The joint distribution of a branch's private codes, combined as the fills take them."""
        private = joint(branch)
        for place, own in enumerate(branch):
            axis = place - len(branch)
            private = np.moveaxis(self.asked[own].push(np.moveaxis(private, axis, -1)), -1, axis)
        return private.reshape(*private.shape[: -len(branch)], -1)


@dataclass(frozen=True, eq=False, kw_only=True)
class ShownPart(Part):
    """Some attributes of a part, all of them shown; fills are those of the whole part."""

    whole: Part
    places: Places

    def filling(self, branch: Places, other: int) -> Channel:
        return self.whole.filling(tuple(self.places[own] for own in branch), self.places[other])


def _passing(ranks: Integers, taken: Integers) -> Integers:
    """The places with these ranks among those that are not taken; the taken ones of each person are in order."""
    places = ranks.copy()
    for own in taken:
        places += places >= own
    return places


def independent(marginals: Sequence[Distribution]) -> Joint:
    """The joint distributions of independent attributes with these marginals."""

    def joint(places: Places) -> Distribution:
        table = marginals[places[0]]
        for axes, own in enumerate(places[1:], start=1):
            more = marginals[own]
            table = table[..., None] * more.reshape(*more.shape[:-1], *(1,) * axes, more.shape[-1])
        return table

    return joint


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
        of_parts = ((number, enumerate(part.attributes)) for number, part in enumerate(self.parts))
        places = {attribute: (number, place) for number, part in of_parts for place, attribute in part}
        return tuple(places[attribute] for attribute in range(self.width))

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
