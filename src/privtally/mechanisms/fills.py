"""Fills: the law of a decoy, an attribute that is shown and not asked, given the private codes of the pivots alone.

Whatever a fill does is post-processing: it cannot weaken the promise. A fill is part of a plan, tagged by its kind; the
attributes of a part are numbered by their place in the part.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import chain, combinations, pairwise
from math import prod
from typing import ClassVar

import msgspec

from privtally.errors import PlanError
from privtally.exact.probability import whole_parts
from privtally.mechanisms.aligned import AlignedPair
from privtally.mechanisms.channel import Asked, Channel
from privtally.mechanisms.filling import Uniform, as_codes, conditional, copying

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

    title: ClassVar[str] = "drawn from priors that earlier phases taught"
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
