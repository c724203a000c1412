"""Numbers as answers: ranges in which they are counted, and grids to which they are rounded at random."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import isfinite
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import msgspec

from privtally.errors import RecordError, SchemaError
from privtally.exact import canonical

WHOLE = re.compile(r"[+-]?[0-9]{1,300}")
DECIMAL = re.compile(r"[+-]?([0-9]{1,300}(\.[0-9]{0,300})?|\.[0-9]{1,300})([eE][+-]?[0-9]{1,3})?")


class BinRange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bins of the same width, from one number to another."""

    start: int | float = msgspec.field(name="from")
    to: int | float
    width: int | float

    def edges(self, where: str, most: int) -> tuple[int | float, ...]:
        """The edges of the bins; refused if the width does not divide the range into 2 to `most` bins."""
        numbers = (self.start, self.to, self.width)
        if not all(abs(number) <= canonical.MAX_INTEGER for number in numbers) or not self.width > 0:
            raise SchemaError(f"the bins of {where} need numbers within ±{canonical.MAX_INTEGER:,} and a width above 0")
        start, to, width = (Decimal(repr(value)) for value in (self.start, self.to, self.width))
        bins = (to - start) / width
        if bins != int(bins) or not 2 <= bins <= most:
            raise SchemaError(f"the width of the bins of {where} must divide their range into 2 to {most:,} bins")
        kind = int if all(type(value) is int for value in (self.start, self.to, self.width)) else float
        return tuple(kind(start + place * width) for place in range(int(bins) + 1))


class GridRange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Grid points at equal distances, from one number to another."""

    start: int | float = msgspec.field(name="from")
    to: int | float
    steps: int

    def points(self, where: str, most: int) -> tuple[int | float, ...]:
        """The points of the grid, one more than steps."""
        if not all(abs(number) <= canonical.MAX_INTEGER for number in (self.start, self.to)):
            raise SchemaError(f"the grid of {where} needs numbers within ±{canonical.MAX_INTEGER:,}")
        if not 1 <= self.steps < most:
            raise SchemaError(f"the grid of {where} needs 1 to {most - 1:,} steps")
        start, to = (Fraction(repr(number)) for number in (self.start, self.to))
        points = [start + place * (to - start) / self.steps for place in range(self.steps + 1)]
        whole = type(self.start) is type(self.to) is int
        return tuple(int(point) if whole and point.denominator == 1 else float(point) for point in points)


Declared = tuple[int | float, ...] | BinRange
DeclaredGrid = tuple[int | float, ...] | GridRange
Place = int | Fraction
"""A code, or a place between two codes of a grid."""


class Ranges(NamedTuple):
    """The numbers that each label of an attribute stands for."""

    lowest: tuple[int | float, ...]
    highest: tuple[int | float, ...]
    """The least and the largest number that a label may count as in a mean."""
    least: tuple[int | float, ...]
    largest: tuple[int | float, ...]
    """The least and the largest answer that may have become the label."""


@dataclass(frozen=True)
class Numbers:
    """Increasing numbers that divide a range: the `edges` of bins, or the points of a grid."""

    where: str
    """What refusals call the attribute."""
    edges: tuple[int | float, ...]
    decimals: bool
    clamp: bool
    _what: ClassVar[str]
    """What refusals call the edges."""

    def __post_init__(self) -> None:
        what, edges = f"the {self._what} of {self.where}", self.edges
        if not self.decimals and not all(type(edge) is int for edge in edges):
            raise SchemaError(f"{what} must be integers; declare decimals = true for others")
        if self.decimals and not all(type(edge) in (int, float) for edge in edges):
            raise SchemaError(f"{what} must be numbers; write each one as a number")
        if not all(abs(edge) <= canonical.MAX_INTEGER for edge in edges):
            raise SchemaError(f"{what} must lie within ±{canonical.MAX_INTEGER:,}")
        if self.decimals:
            object.__setattr__(self, "edges", tuple(float(edge) + 0.0 for edge in edges))  # never -0.0
        if not all(one < two for one, two in pairwise(self.edges)):
            raise SchemaError(f"{what} must increase; sort them, each one once")

    def _within(self, edges: Sequence[Any], number: Any) -> Any:
        """A number, or the end of the range that is nearest to it if that was declared."""
        if not self.clamp and not edges[0] <= number <= edges[-1]:
            raise RecordError(f"{self.where} has a number outside its declared range")
        return min(max(number, edges[0]), edges[-1])

    def _number(self, answer: Any) -> int | float:
        """The number that an answer is or states; what does not fit is never quoted."""
        form, kind = (DECIMAL, Real) if self.decimals else (WHOLE, Integral)
        answer = answer.strip() if isinstance(answer, str) else answer
        stated = form.fullmatch(answer) if isinstance(answer, str) else isinstance(answer, kind)
        number = None
        if stated and not isinstance(answer, bool):
            with suppress(ValueError, OverflowError):  # their messages quote the answer
                number = float(answer) if self.decimals else int(answer)
        if number is None or (self.decimals and not isfinite(number)):
            raise RecordError(f"{self.where} has an answer that is not a {'' if self.decimals else 'whole '}number")
        return number


class Bins(Numbers):
    """Bins between increasing edges. Each includes its lower edge, the last one its upper edge as well."""

    _what = "edges of the bins"

    @classmethod
    def of(cls, where: str, declared: Declared, most: int, *, decimals: bool, clamp: bool) -> "Bins":
        """The bins that were declared, at most `most` of them."""
        edges = declared.edges(where, most) if isinstance(declared, BinRange) else tuple(declared)
        if not 3 <= len(edges) <= most + 1:
            raise SchemaError(f"{where} needs 2 to {most:,} bins, so one edge more; it declares {len(edges)} edges")
        return cls(where, edges, decimals, clamp)

    @property
    def ranges(self) -> Ranges:
        """The least and the largest number of each bin; with decimals, the largest is the least number above it, except
        in the last bin.
        """
        step = 0 if self.decimals else 1
        lowest, highest = self.edges[:-1], (*(edge - step for edge in self.edges[1:-1]), self.edges[-1])
        return Ranges(lowest, highest, lowest, highest)

    @property
    def labels(self) -> tuple[str, ...]:
        """What the bins are called: "0–17" for integers, "0 to < 18" for decimals."""
        if self.decimals:
            *others, last = pairwise(map(canonical.number, self.edges))
            return (*(f"{low} to < {high}" for low, high in others), " to ".join(last))
        between = "–" if self.edges[0] >= 0 else " to "
        ranges = zip(self.ranges.lowest, self.ranges.highest, strict=True)
        return tuple(str(low) if low == high else f"{low}{between}{high}" for low, high in ranges)

    def place(self, answer: Any) -> int:
        """The code of a number, or of a text that states one."""
        number = self._within(self.edges, self._number(answer))
        return min(bisect_right(self.edges, number) - 1, len(self.edges) - 2)


class Grid(Numbers):
    """Points to which the device rounds a number at random, so that the mean of the points is that of the numbers."""

    _what = "points of the grid"

    @classmethod
    def of(cls, where: str, declared: DeclaredGrid, most: int, *, decimals: bool, clamp: bool) -> "Grid":
        """The grid that was declared, of at most `most` points."""
        points = declared.points(where, most) if isinstance(declared, GridRange) else tuple(declared)
        if not 2 <= len(points) <= most:
            raise SchemaError(f"{where} needs a grid of 2 to {most:,} points; it declares {len(points)}")
        return cls(where, points, decimals, clamp)

    @property
    def ranges(self) -> Ranges:
        """A point counts as itself, and comes from the answers between its neighbours."""
        points = self.edges
        return Ranges(points, points, (points[0], *points[:-1]), (*points[1:], points[-1]))

    @property
    def labels(self) -> tuple[str, ...]:
        """What the points are called: as they are written."""
        return tuple(map(canonical.number, self.edges))

    def place(self, answer: Any) -> Fraction:
        """Where a number lies among the codes: 1/3 is a third of the way from point 0 to point 1, exactly.

        A number with decimals is taken as it is written; a float as the shortest text of it is.
        """
        number, points = self._number(answer), self._points
        stated = answer.strip() if isinstance(answer, str) else repr(number) if self.decimals else number
        exact: Fraction = self._within(points, Fraction(stated))
        code = min(bisect_right(points, exact) - 1, len(points) - 2)
        return code + (exact - points[code]) / (points[code + 1] - points[code])

    @cached_property
    def _points(self) -> tuple[Fraction, ...]:
        return tuple(Fraction(repr(point)) for point in self.edges)
