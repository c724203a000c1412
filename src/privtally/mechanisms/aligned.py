"""Through classes: a label of the class that matches the private pivot's, or of another class.

With probability p the class is the one that matches, else one of the other classes, each as likely; every label of the
class that was drawn is as likely. A private code whose class has no label of the other attribute ("no answer" where the
other one is not optional) has nothing to match: all classes are as likely.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain

import msgspec
import numpy as np
from numpy.typing import NDArray

from privtally.errors import PlanError
from privtally.exact.arrays import Codes, Distribution, Integers
from privtally.exact.source import Source
from privtally.mechanisms.alignment import Classes
from privtally.mechanisms.channel import Asked, Channel, Keep
from privtally.mechanisms.filling import Uniform, copying
from privtally.schema import code_type

NOTHING = -1
"""The match of a code whose class has no label of the other attribute."""


@dataclass(frozen=True, eq=False)
class ByClass:
    """From a pivot's private label to another attribute's label, through classes.

    `match` has the other attribute's class that matches each private label, `classes` the class of each label of the
    other attribute, from 0 without gaps; `keep` draws a class given the one that matches.
    """

    match: Integers
    classes: Integers
    keep: Keep

    @classmethod
    def of(cls, given: Sequence[int], classes: Sequence[int], probability: float) -> "ByClass":
        """The channel between labels with these classes, of which each side may lack some."""
        held, places = np.unique(classes, return_inverse=True)
        found = np.minimum(np.searchsorted(held, given), len(held) - 1)
        match = np.where(held[found] == given, found, NOTHING)
        return cls(match, places, copying(probability, len(held)))

    @property
    def outputs(self) -> int:
        return len(self.classes)

    @property
    def scale(self) -> None:
        return None

    def probability(self, given: int, output: int) -> Fraction:
        match, own = int(self.match[given]), int(self.classes[output])
        chance = Fraction(1, self.keep.size) if match == NOTHING else self.keep.probability(match, own)
        return chance / int(self._sizes[own])

    def push(self, distribution: Distribution) -> Distribution:
        matching = np.zeros((self.keep.size, *distribution.shape[:-1]), dtype=distribution.dtype)
        np.add.at(matching, self.match[self._some], np.moveaxis(distribution[..., self._some], -1, 0))
        drawn = self.keep.push(np.moveaxis(matching, 0, -1))
        if not self._some.all():
            drawn = drawn + distribution[..., ~self._some].sum(axis=-1, keepdims=True) / self.keep.size
        pushed: Distribution = (drawn / self._sizes)[..., self.classes]
        return pushed

    def draw(self, given: Codes, source: Source) -> Codes:
        match = self.match[given]
        drawn = np.empty(len(given), dtype=np.int64)
        some = match != NOTHING
        drawn[some] = self.keep.draw(match[some], source)
        drawn[~some] = Uniform(self.keep.size).draw(match[~some], source)
        labels = np.empty(len(given), dtype=code_type((self.outputs,)))
        for size in np.unique(self._sizes):
            people = np.flatnonzero(self._sizes[drawn] == size)
            places = Uniform(int(size)).draw(given[people], source)
            labels[people] = self._by_class[self._starts[drawn[people]] + places]
        return labels

    @cached_property
    def _some(self) -> NDArray[np.bool_]:
        """Whether each private label matches a class."""
        return np.asarray(self.match != NOTHING)

    @cached_property
    def _sizes(self) -> Integers:
        """The number of labels of each class."""
        return np.bincount(self.classes)

    @cached_property
    def _starts(self) -> Integers:
        """Where each class begins among the labels in the order of their classes."""
        return np.cumsum(self._sizes) - self._sizes

    @cached_property
    def _by_class(self) -> Integers:
        """The labels in the order of their classes."""
        return np.argsort(self.classes, kind="stable")


class AlignedPair(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Two attributes by their places in the part, the class of each of their labels, and the probabilities of a match
    when the first, and when the second, is the pivot; null for an even fill.
    """

    pair: tuple[int, int]
    classes: tuple[tuple[int, ...], tuple[int, ...]]
    probability: tuple[float | None, float | None]

    @classmethod
    def of(
        cls, pair: tuple[int, int], classes: Classes, probability: tuple[float | None, float | None]
    ) -> "AlignedPair":
        """A pair whose classes are stated by their labels."""
        sides = [{code: number for number, own in enumerate(classes) for code in own[side]} for side in (0, 1)]
        one, two = (tuple(own[code] for code in range(len(own))) for own in sides)
        return cls(pair, (one, two), probability)

    def check(self, asked: Sequence[Asked]) -> None:
        """Refuse a pair that does not fit attributes with these channels."""
        if not 0 <= self.pair[0] < self.pair[1] < len(asked):
            raise PlanError("an aligned fill must name pairs of its part's attributes, the first of a pair first")
        if [len(own) for own in self.classes] != [asked[place].inputs for place in self.pair]:
            raise PlanError("an aligned fill must state a class for each label of both attributes")
        held = sorted(set(chain.from_iterable(self.classes)))
        if held != list(range(len(held))) or len(set(self.classes[0]) & set(self.classes[1])) < 2:
            raise PlanError("classes are numbered from 0 without gaps, and at least two have labels of both attributes")
        if self.probability == (None, None):
            raise PlanError("a pair with even fills both ways must be left out of an aligned fill")
        for place, chance in zip(self.pair, self.probability, strict=True):
            if chance is not None and asked[place].inside > 1:
                raise PlanError("a match needs a pivot whose channel reports labels")

    def channel(self, pivot: int) -> Channel | None:
        """The channel to the other attribute's labels; None for an even fill."""
        side = self.pair.index(pivot)
        chance = self.probability[side]
        return None if chance is None else ByClass.of(self.classes[side], self.classes[1 - side], chance)
