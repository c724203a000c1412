"""Fills: the law of a decoy, an attribute that is shown and not asked, given the private codes of the pivots alone.

Whatever a fill does is post-processing: it cannot weaken the promise. A fill is part of a plan, tagged by its kind; the
attributes of a part are numbered by their place in the part.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations, pairwise
from math import prod
from typing import ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from privtally.errors import PlanError
from privtally.exact.randomness import Source
from privtally.exact.rational import whole_parts
from privtally.exact.types import Codes, Distribution, Integers
from privtally.mechanisms.channels import Asked, Channel, Keep, Uniform, as_codes, conditional, copying
from privtally.schema import Attribute, Schema, code_type

Class = tuple[tuple[int, ...], tuple[int, ...]]
"""The codes of both attributes that belong to a class."""
Classes = tuple[Class, ...]


def alignment_of(schema: Schema, one: int, two: int) -> Classes | None:
    """The classes of two attributes by their places; None where nothing goes together."""
    first, second = schema.attributes[one], schema.attributes[two]
    classes = _declared(schema, first, second) or _derived(first, second)
    if classes is None:
        return None
    skipped = [(attribute.size - 1,) * attribute.optional for attribute in (first, second)]
    return (*classes, (skipped[0], skipped[1])) if first.optional or second.optional else classes


def label_by_label(schema: Schema, places: Sequence[int]) -> bool:
    """Whether all these attributes are aligned so that the same code stands for the same class in each of them."""
    if not schema.alignments and len({schema.attributes[own].labels for own in places}) == 1:
        return True
    return all(
        alignment_of(schema, one, two) == tuple(((code,), (code,)) for code in range(schema.attributes[one].size))
        for one, two in combinations(places, 2)
    )


def undeclared(schema: Schema, places: Sequence[int]) -> tuple[int, int] | None:
    """The first two of these attributes that share some labels although nothing goes together; None if no two do."""
    first: dict[object, int] = {}  # attributes with the same labels go together; names count only in declarations
    for own in places:
        attribute = schema.attributes[own]
        named = attribute.name if schema.alignments else ""
        first.setdefault((attribute.labels, attribute.optional, attribute.ordered, named), own)
    attributes = ((place, schema.attributes[place]) for place in first.values())
    answers = {place: set(attribute.labels[: attribute.answers]) for place, attribute in attributes}
    pairs = ((one, two) for one, two in combinations(first.values(), 2) if answers[one] & answers[two])
    return next((pair for pair in pairs if alignment_of(schema, *pair) is None), None)


def _declared(schema: Schema, first: Attribute, second: Attribute) -> Classes | None:
    for alignment in schema.alignments:
        if first.name in alignment.names and second.name in alignment.names:
            return tuple(
                (_codes(first, own[first.name]), _codes(second, own[second.name])) for own in alignment.classes
            )
    return None


def _codes(attribute: Attribute, labels: Sequence[str]) -> tuple[int, ...]:
    place = {label: code for code, label in enumerate(attribute.labels)}
    return tuple(sorted(place[label] for label in labels))


def _derived(first: Attribute, second: Attribute) -> Classes | None:
    answers = [attribute.labels[: attribute.answers] for attribute in (first, second)]
    if set(answers[0]) == set(answers[1]):
        place = {label: code for code, label in enumerate(answers[1])}
        return tuple(((code,), (place[label],)) for code, label in enumerate(answers[0]))
    if first.ordered and second.ordered:
        number = min(map(len, answers))
        cut = [list(_cut(len(own), number)) for own in answers]
        return tuple(zip(*cut, strict=True))
    return None


def _cut(labels: int, classes: int) -> Iterator[tuple[int, ...]]:
    """The codes of each class, in order."""
    starts = [-(-own * labels // classes) for own in range(classes + 1)]
    for start, end in pairwise(starts):
        yield tuple(range(start, end))


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
        chance = Fraction(1, self.keep.outputs) if match == NOTHING else self.keep.probability(match, own)
        return chance / int(self._sizes[own])

    def push(self, distribution: Distribution) -> Distribution:
        matching = np.zeros((self.keep.outputs, *distribution.shape[:-1]), dtype=distribution.dtype)
        np.add.at(matching, self.match[self._some], np.moveaxis(distribution[..., self._some], -1, 0))
        drawn = self.keep.push(np.moveaxis(matching, 0, -1))
        if not self._some.all():
            drawn = drawn + distribution[..., ~self._some].sum(axis=-1, keepdims=True) / self.keep.outputs
        pushed: Distribution = (drawn / self._sizes)[..., self.classes]
        return pushed

    def draw(self, given: Codes, source: Source) -> Codes:
        match = self.match[given]
        drawn = np.empty(len(given), dtype=np.int64)
        some = match != NOTHING
        drawn[some] = self.keep.draw(match[some], source)
        drawn[~some] = Uniform(self.keep.outputs).draw(match[~some], source)
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


MAX_TABLE_CELLS = 1_000_000
"""A plan carries tables of at most this many cells in all."""

Places = tuple[int, ...]
Row = tuple[float, ...]


class Fill(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """How the decoys of a part get their codes."""

    title: ClassVar[str]
    """What happens to the decoys, in words that end a sentence."""
    conditional: ClassVar[bool] = False
    """Whether a filled code depends on the private codes of the pivots."""
    even: ClassVar[bool] = False
    """Whether all codes that a fill can give have the same probability."""
    one_pivot: ClassVar[bool] = False
    """Whether there can be no more than one pivot."""
    by_label: ClassVar[bool] = False
    """Whether the pivots' private codes must be labels."""

    @staticmethod
    def check_sizes(sizes: Sequence[int], pivots: int) -> None:
        """Refuse attributes, by their numbers of labels, that this kind of fill does not take."""

    def check(self, asked: Sequence[Asked], pivots: int) -> None:
        """Refuse a fill that does not fit attributes with these channels, or is no exact law."""

    def channel(self, pivots: Places, other: int, asked: Sequence[Asked]) -> Channel:
        """The channel from the pivots' private codes, combined in lexicographic order, to the other attribute's code.

        `asked` are the channels of the part's attributes when they are asked.
        """
        raise NotImplementedError

    def probabilities(self, attributes: int) -> list[list[float | None]] | None:
        """[pivot][other] how likely a copy, or a label of the class that matches, is; None where a fill is even.

        None where a fill has no such probabilities.
        """


class UniformFill(Fill, frozen=True, tag="uniform"):
    """Every code with the same probability."""

    title: ClassVar[str] = "drawn evenly from all answers"
    even: ClassVar[bool] = True

    def channel(self, pivots: Places, other: int, asked: Sequence[Asked]) -> Channel:
        return Uniform(asked[other].outputs)


class RowFill(Fill, frozen=True, tag="row"):
    """A code from the attribute's own row."""

    title: ClassVar[str] = "drawn from priors"
    rows: tuple[Row, ...]

    def check(self, asked: Sequence[Asked], pivots: int) -> None:
        if [len(row) for row in self.rows] != [channel.inputs for channel in asked]:
            raise PlanError("a fill of rows must give one probability for each label of each attribute")
        for row in self.rows:
            conditional([row])

    def channel(self, pivots: Places, other: int, asked: Sequence[Asked]) -> Channel:
        return as_codes(conditional([self.rows[other]]), asked[other])


class CopyFill(Fill, frozen=True, tag="copy"):
    """The pivot's code with `probability[pivot][other]`, else one of the remaining codes, each as likely."""

    title: ClassVar[str] = "copies of the chosen one, or differ from it"
    conditional: ClassVar[bool] = True
    one_pivot: ClassVar[bool] = True
    probability: tuple[Row, ...]

    def check(self, asked: Sequence[Asked], pivots: int) -> None:
        if pivots != 1 or len(set(asked)) > 1:
            raise PlanError("copies need one pivot, the same number of labels and the same channel in every attribute")
        if len(self.probability) != len(asked) or {len(row) for row in self.probability} != {len(asked)}:
            raise PlanError("copy probabilities must have a row and a column for each attribute")
        if any(row[own] != 1 for own, row in enumerate(self.probability)):
            raise PlanError("copy probabilities must be 1 on the diagonal: an attribute agrees with itself")
        for probability in chain.from_iterable(self.probability):
            whole_parts(probability)

    def channel(self, pivots: Places, other: int, asked: Sequence[Asked]) -> Channel:
        return copying(self.probability[pivots[0]][other], asked[other].outputs)

    def probabilities(self, attributes: int) -> list[list[float | None]]:
        return [[row[other] for other in range(attributes)] for row in self.probability]


class AlignedFill(Fill, frozen=True, tag="aligned", dict=True):
    """For each pair of attributes a label of the class that matches the pivot's, or of another; evenly for the others.

    Pairs are in order, each at most once.
    """

    title: ClassVar[str] = "drawn from the answers that go with the chosen one, or from others"
    conditional: ClassVar[bool] = True
    pairs: tuple[AlignedPair, ...]

    def check(self, asked: Sequence[Asked], pivots: int) -> None:
        if pivots != 1:
            raise PlanError("an aligned fill needs one pivot")
        if any(one.pair >= two.pair for one, two in pairwise(self.pairs)):
            raise PlanError("the pairs of an aligned fill must be in order, each at most once")
        for pair in self.pairs:
            pair.check(asked)
            for pivot in pair.pair:
                pair.channel(pivot)  # refuses a probability that is not exact

    def channel(self, pivots: Places, other: int, asked: Sequence[Asked]) -> Channel:
        (pivot,) = pivots
        pair = self._pairs.get((min(pivot, other), max(pivot, other)))
        labels = None if pair is None else pair.channel(pivot)
        return Uniform(asked[other].outputs) if labels is None else as_codes(labels, asked[other])

    def probabilities(self, attributes: int) -> list[list[float | None]]:
        found: list[list[float | None]] = [[None] * attributes for _ in range(attributes)]
        for pair in self.pairs:
            one, two = pair.pair
            found[one][two], found[two][one] = pair.probability
        return found

    @cached_property
    def _pairs(self) -> dict[tuple[int, int], AlignedPair]:
        return {pair.pair: pair for pair in self.pairs}


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The law of one attribute given some pivots: a row for each combination of their codes, in lexicographic order."""

    pivots: Places
    other: int
    rows: tuple[Row, ...]


class TableFill(Fill, frozen=True, tag="table", dict=True):
    """A code from the table's row for the pivots' private codes."""

    title: ClassVar[str] = "drawn from tables given the chosen ones"
    conditional: ClassVar[bool] = True
    by_label: ClassVar[bool] = True
    tables: tuple[Table, ...]

    @staticmethod
    def check_sizes(sizes: Sequence[int], pivots: int) -> None:
        places = table_places(len(sizes), pivots)
        cells = sum(prod(sizes[pivot] for pivot in chosen) * sizes[other] for chosen, other in places)
        if cells > MAX_TABLE_CELLS:
            raise PlanError(
                f"tables of all questions given the others would have {cells:,} cells for this schema, "
                f"at most {MAX_TABLE_CELLS:,} are allowed; merge answers or use rs-rfd"
            )

    def check(self, asked: Sequence[Asked], pivots: int) -> None:
        sizes = [channel.inputs for channel in asked]
        self.check_sizes(sizes, pivots)
        if any(channel.outputs != channel.inputs for channel in asked):
            raise PlanError("tables are given the private labels of pivots, which this channel does not report")
        if [(table.pivots, table.other) for table in self.tables] != list(table_places(len(sizes), pivots)):
            raise PlanError("a fill needs one table for each choice of pivots and each other attribute, in order")
        for table in self.tables:
            rows = prod(sizes[pivot] for pivot in table.pivots)
            if len(table.rows) != rows or {len(row) for row in table.rows} != {sizes[table.other]}:
                raise PlanError("a table needs a row for each combination of pivot codes, a column for each other code")
            conditional(table.rows)

    def channel(self, pivots: Places, other: int, asked: Sequence[Asked]) -> Channel:
        return conditional(self._rows[pivots, other])

    @cached_property
    def _rows(self) -> dict[tuple[Places, int], tuple[Row, ...]]:
        return {(table.pivots, table.other): table.rows for table in self.tables}


AnyFill = UniformFill | RowFill | CopyFill | AlignedFill | TableFill


def table_places(attributes: int, pivots: int) -> list[tuple[Places, int]]:
    """Every choice of pivots with every other attribute."""
    places = range(attributes)
    return [(chosen, other) for chosen in combinations(places, pivots) for other in places if other not in chosen]
