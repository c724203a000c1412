"""Numbers as answers: bins declared by their edges, in order. Nothing here is ever read off the data."""

import re
from bisect import bisect_right
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from math import isfinite
from numbers import Integral, Real
from typing import Any

import msgspec

from privtally.errors import RecordError, SchemaError
from privtally.exact import wire

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
        if not all(abs(number) <= wire.MAX_INTEGER for number in numbers) or not self.width > 0:
            raise SchemaError(f"the bins of {where} need numbers within ±{wire.MAX_INTEGER:,} and a width above 0")
        start, to, width = (Decimal(repr(value)) for value in (self.start, self.to, self.width))
        bins = (to - start) / width
        if bins != int(bins) or not 2 <= bins <= most:
            raise SchemaError(f"the width of the bins of {where} must divide their range into 2 to {most:,} bins")
        kind = int if all(type(value) is int for value in (self.start, self.to, self.width)) else float
        return tuple(kind(start + place * width) for place in range(int(bins) + 1))


Declared = tuple[int | float, ...] | BinRange


@dataclass(frozen=True)
class Bins:
    """Bins between increasing edges. Each includes its lower edge, the last one its upper edge as well."""

    where: str
    edges: tuple[int | float, ...]
    decimals: bool
    clamp: bool

    @classmethod
    def of(cls, where: str, declared: Declared, most: int, *, decimals: bool, clamp: bool) -> "Bins":
        """The bins that were declared, at most `most` of them; `where` names the attribute in refusals."""
        edges = declared.edges(where, most) if isinstance(declared, BinRange) else tuple(declared)
        if not 3 <= len(edges) <= most + 1:
            raise SchemaError(f"{where} needs 2 to {most:,} bins, so one edge more; it declares {len(edges)} edges")
        if not decimals and not all(type(edge) is int for edge in edges):
            raise SchemaError(f"the bins of {where} must have integer edges; declare decimals = true for others")
        if decimals and not all(type(edge) in (int, float) for edge in edges):
            raise SchemaError(f"the bins of {where} must have numbers as edges; write each one as a number")
        if not all(abs(edge) <= wire.MAX_INTEGER for edge in edges):
            raise SchemaError(f"the edges of the bins of {where} must lie within ±{wire.MAX_INTEGER:,}")
        if decimals:
            edges = tuple(float(edge) + 0.0 for edge in edges)  # never -0.0
        if not all(one < two for one, two in pairwise(edges)):
            raise SchemaError(f"the edges of the bins of {where} must increase; sort them, each one once")
        return cls(where, edges, decimals, clamp)

    @property
    def lowest(self) -> tuple[int | float, ...]:
        """The least number of each bin."""
        return self.edges[:-1]

    @property
    def highest(self) -> tuple[int | float, ...]:
        """The largest number of each bin; with decimals, the least number above it, except in the last bin."""
        step = 0 if self.decimals else 1
        return (*(edge - step for edge in self.edges[1:-1]), self.edges[-1])

    @property
    def labels(self) -> tuple[str, ...]:
        """What the bins are called: "0–17" for integers, "0 to < 18" for decimals."""
        if self.decimals:
            *others, last = pairwise(map(wire.number, self.edges))
            return (*(f"{low} to < {high}" for low, high in others), " to ".join(last))
        between = "–" if self.edges[0] >= 0 else " to "
        ranges = zip(self.lowest, self.highest, strict=True)
        return tuple(str(low) if low == high else f"{low}{between}{high}" for low, high in ranges)

    def code(self, answer: Any) -> int:
        """The bin of a number, or of a text that states one; what does not fit is never quoted."""
        number = self._number(answer)
        if not self.clamp and not self.edges[0] <= number <= self.edges[-1]:
            raise RecordError(f"{self.where} has a number outside its declared range")
        return min(max(bisect_right(self.edges, number) - 1, 0), len(self.edges) - 2)

    def _number(self, answer: Any) -> int | float:
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
