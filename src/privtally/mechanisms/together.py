"""Questions asked together: a report answers one set of them through one channel on the product of their labels.

The set is drawn evenly from the stated ones, and the record's labels in it are one label of the product, the last
attribute counting fastest. A stated share of the people is asked a single question instead, drawn evenly from all. Both
choices are made without looking at the record, so that the law is a mixture of channels that spend the whole budget:

    P(report = (S, y) | record) = P(S) · R_S(y | record in S)

A report is one number: the codes of all sets stand one after the other. It says which set it answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb, prod

import msgspec
import numpy as np

from privtally.errors import PlanError
from privtally.exact.randomness import Source
from privtally.exact.rational import nearest_probability, whole_parts
from privtally.exact.types import Codes, Distribution, Integers
from privtally.mechanisms.channels import Asked, Uniform
from privtally.mechanisms.fills import Places
from privtally.mechanisms.mechanism import Joint, Law, Mechanism
from privtally.mechanisms.named import AnyChannel, best_channel
from privtally.schema import code_type

MOST_PRODUCTS = 1 << 16
"""The most labels that the product of a set may have."""
MOST_CODES = 1 << 22
"""The most codes that a report may have, over all sets."""
MOST_TOGETHER = 3
"""The largest number of questions that are asked together."""


class TogetherPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which questions are asked together, as a plan states it."""

    channels: tuple[AnyChannel, ...]
    """One for each number of labels that a set has, the smallest number first."""
    size: int = 2
    """How many questions are asked together."""
    sets: tuple[Places, ...] | None = None
    """The sets of attributes by their places; all of that size if not given."""
    single: float = 0.0
    """The share of people who are asked a single question instead, a multiple of 2^-32."""

    def build(self, sizes: Sequence[int], budget: Fraction) -> "Together":
        """The mechanism with this budget for a schema with these numbers of labels; refused if it does not fit."""
        sets = _sets(sizes, self.size, self.sets, self.single)
        numbers = _numbers_of_labels(sizes, sets)
        if len(self.channels) != len(numbers):
            raise PlanError(f"a plan must state a channel for each of {len(numbers)} numbers of labels of its sets")
        channel_of = {
            number: channel.channel(budget, number) for number, channel in zip(numbers, self.channels, strict=True)
        }
        asked = tuple(channel_of[prod(sizes[place] for place in places)] for places in sets)
        return Together((), attribute_sizes=tuple(sizes), sets=sets, asked=asked, single=self.single)


def together(
    sizes: Sequence[int], budget: Fraction, size: int = 2, sets: Sequence[Places] | None = None, single: float = 0.0
) -> TogetherPlan:
    """The plan that asks so many questions together, through the channels that vary least."""
    stated = None if sets is None else tuple(map(tuple, sets))
    single = nearest_probability(single)
    numbers = _numbers_of_labels(sizes, _sets(sizes, size, stated, single))
    channels = tuple(best_channel(budget, number) for number in numbers)
    if not single:  # what is usual is not stated
        return TogetherPlan(channels, size, stated)
    return TogetherPlan(channels, size, stated, single)


def _sets(sizes: Sequence[int], size: int, stated: tuple[Places, ...] | None, single: float) -> tuple[Places, ...]:
    """Every set that a report may answer: those of several attributes, then the single ones; else refused."""
    if not 2 <= size <= MOST_TOGETHER:
        raise PlanError(f"from 2 to {MOST_TOGETHER} questions are asked together, not {size}")
    if size > len(sizes):
        raise PlanError(f"{size} questions are asked together, the schema has {len(sizes)}")
    if stated is None and comb(len(sizes), size) > MOST_CODES // 2**size:
        raise PlanError(f"{len(sizes)} questions have too many sets of {size}; name those that matter (--pairs-of)")
    sets = tuple(combinations(range(len(sizes)), size)) if stated is None else stated
    for places in sets:
        if len(places) != size or list(places) != sorted(set(places)) or not 0 <= places[0] <= places[-1] < len(sizes):
            raise PlanError(f"a set must be {size} different questions, in the order of the schema")
        if (number := prod(sizes[place] for place in places)) > MOST_PRODUCTS:
            raise PlanError(
                f"questions with {' and '.join(str(sizes[place]) for place in places)} answers have {number:,} answers "
                f"together, more than {MOST_PRODUCTS:,}; merge some, or name other pairs (--pairs-of)"
            )
    if not sets or len(set(sets)) < len(sets):
        raise PlanError("the sets of questions that are asked together must be some, each of them once")
    if not 0 <= single < 1:
        raise PlanError(f"the share of people who are asked a single question must be from 0 to below 1, got {single}")
    whole_parts(single)
    if single:
        return (*sets, *((place,) for place in range(len(sizes))))
    if missing := set(range(len(sizes))) - {place for places in sets for place in places}:
        raise PlanError(f"question number {min(missing) + 1} is in none of the sets that are asked together")
    return sets


def _numbers_of_labels(sizes: Sequence[int], sets: Sequence[Places]) -> list[int]:
    return sorted({prod(sizes[place] for place in places) for places in sets})


@dataclass(frozen=True, eq=False, kw_only=True)
class Together(Mechanism):
    """record -> one number, which says which set of attributes was asked and the private code of its labels."""

    attribute_sizes: tuple[int, ...]
    sets: tuple[Places, ...]
    """Those of several attributes, then the single ones if people are asked single questions too."""
    asked: tuple[Asked, ...]
    """The channel of each set."""
    single: float
    """The share of people who are asked a single question."""

    def __post_init__(self) -> None:
        if sum(channel.outputs for channel in self.asked) > MOST_CODES:
            raise PlanError(
                f"reports would have more than {MOST_CODES:,} different codes; name the pairs that matter (--pairs-of)"
            )

    @property
    def width(self) -> int:
        """The number of codes of a report."""
        return 1

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.attribute_sizes

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """None: attributes belong to no parts."""
        return ()

    @property
    def outputs(self) -> tuple[int, ...]:
        return (int(self.starts[-1]),)

    @property
    def silences(self) -> tuple[int | None, ...]:
        return (None,)

    @cached_property
    def starts(self) -> Integers:
        """Where the codes of each set start, and where the last ones end."""
        return np.cumsum([0, *(channel.outputs for channel in self.asked)])

    @cached_property
    def joint(self) -> int:
        """How many sets have several attributes; they come first."""
        return sum(len(places) > 1 for places in self.sets)

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        """How likely each set is."""
        alone, single = len(self.sets) - self.joint, Fraction(self.single)
        joint = [(1 - single) / self.joint] * self.joint
        return (*joint, *([single / alone] * alone if alone else []))

    @property
    def ratio(self) -> Fraction:
        return max(channel.ratio for channel in self.asked)

    def shape(self, number: int) -> tuple[int, ...]:
        """How many labels each attribute of a set has."""
        return tuple(self.attribute_sizes[place] for place in self.sets[number])

    def label(self, number: int, record: Sequence[int]) -> int:
        """A record's labels in a set as one label of the product."""
        return int(np.ravel_multi_index([record[place] for place in self.sets[number]], self.shape(number)))

    def law(self, record: Sequence[int]) -> Law:
        whole: Law = {}
        for number, (channel, share) in enumerate(zip(self.asked, self.shares, strict=True)):
            label, start = self.label(number, record), int(self.starts[number])
            whole |= {
                (start + code,): chance * share
                for code in range(channel.outputs)
                if (chance := channel.probability(label, code))
            }
        return whole

    def expect(self, joint: Joint) -> list[Distribution]:
        reported = []
        for places, channel, share in zip(self.sets, self.asked, self.shares, strict=True):
            table = joint(places)
            flat = table.reshape(*table.shape[: table.ndim - len(places)], -1)
            reported.append(channel.push(flat) * (share if table.dtype == object else float(share)))
        return [np.concatenate(reported, axis=-1)]

    def privatise(self, codes: Codes, source: Source) -> Codes:
        """One report for each record. Words are taken in the order: single or not, which set, the set's channel."""
        people = len(codes)
        chosen = np.zeros(people, dtype=np.int64)
        alone = np.zeros(people, dtype=np.bool_)
        if self.single:
            alone = source.words(people) >> np.uint64(32) < np.uint64(whole_parts(self.single))
        for first, many, asked in ((0, self.joint, ~alone), (self.joint, len(self.sets) - self.joint, alone)):
            rows = np.flatnonzero(asked)
            if rows.size:
                chosen[rows] = first + Uniform(many).draw(rows.view(np.uint64), source)
        reports = np.empty((people, 1), dtype=code_type(self.outputs))
        order = np.argsort(chosen, kind="stable")
        ends = np.cumsum(np.bincount(chosen, minlength=len(self.sets)))
        for number, rows in enumerate(np.split(order, ends[:-1])):
            if rows.size:
                columns = tuple(codes[rows, place].astype(np.int64) for place in self.sets[number])
                labels = np.ravel_multi_index(columns, self.shape(number)).astype(np.uint64)
                drawn = self.asked[number].draw(labels, source).astype(np.int64)
                reports[rows, 0] = self.starts[number] + drawn
        return reports

    def told(self, code: int) -> tuple[Places, list[tuple[int, ...]]]:
        """Which attributes a report answers, and the labels of these that its code is evidence for."""
        number = int(np.searchsorted(self.starts, code, side="right")) - 1
        shape = self.shape(number)
        labels = self.asked[number].holders(code - int(self.starts[number]))
        return self.sets[number], [tuple(int(own) for own in np.unravel_index(label, shape)) for label in labels]
