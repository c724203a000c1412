"""Counts: how often each report was seen, in integers that add.

    whole report counts  ->  pairwise tables  ->  one-way counts

The left carries the most; a Counts holds the leftmost that fits. Counts of whole reports give way to pairwise tables
once more than `whole_report_limit` distinct ones were seen, and pairwise tables to nothing where the schema makes them
larger than `MAX_PAIR_CELLS`. Both depend on the reports only and not on the order in which they were added.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privtally.documents.plan import Plan
from privtally.errors import CountsError
from privtally.exact import wire
from privtally.schema import Codes

WHOLE_REPORT_LIMIT = 1 << 18
MAX_PAIR_CELLS = 4_000_000

_CHUNK = 1 << 18

Tally = NDArray[np.int64]
Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class WholeReports:
    """Distinct reports in lexicographic order (report, attribute), and how often each was seen."""

    codes: Tally
    times: Tally

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True, eq=False)
class Counts:
    """The counts of the reports to one plan. `count` and `tally` build them, `+` adds them.

    Where a mechanism leaves attributes unanswered, the code after an attribute's last label counts "not asked".
    """

    plan: str
    reports: int
    attributes: tuple[Tally, ...]
    whole: WholeReports | None
    pairs: Mapping[Pair, Tally] | None
    whole_report_limit: int = WHOLE_REPORT_LIMIT

    @property
    def outputs(self) -> tuple[int, ...]:
        """The number of codes of each attribute of a report."""
        return tuple(map(len, self.attributes))

    @property
    def detail(self) -> str:
        """What is kept beyond each attribute's counts, in words."""
        if self.whole is not None:
            return f"{len(self.whole):,} distinct whole reports"
        return "pairwise tables" if self.pairs is not None else "one-way counts only"

    def __add__(self, other: "Counts") -> "Counts":
        if self.plan != other.plan:
            raise CountsError(
                f"counts of plan {self.plan[:12]}… and plan {other.plan[:12]}… cannot be added; "
                "estimate from both phases instead"
            )
        attributes = tuple(mine + yours for mine, yours in zip(self.attributes, other.attributes, strict=True))
        limit = min(self.whole_report_limit, other.whole_report_limit)
        whole = None
        if self.whole is not None and other.whole is not None:
            whole = _merge(self.outputs, self.whole, other.whole)
            if len(whole) > limit:
                whole = None
        pairs = None
        if whole is None and pair_cells(self.outputs) <= MAX_PAIR_CELLS:
            mine, yours = self.pair_tables, other.pair_tables
            pairs = {pair: mine[pair] + yours[pair] for pair in mine}
        return Counts(self.plan, self.reports + other.reports, attributes, whole, pairs, limit)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counts) and self.body() == other.body()

    def __hash__(self) -> int:
        return hash((self.plan, self.reports))

    @cached_property
    def pair_tables(self) -> Mapping[Pair, Tally]:
        """How often each two codes of each two attributes were seen together; empty where nothing keeps that."""
        if self.pairs is not None:
            return self.pairs
        if self.whole is None or pair_cells(self.outputs) > MAX_PAIR_CELLS:
            return {}
        return _pair_tables(self.outputs, self.whole)

    def agreements(self, one: int, two: int) -> Tally | None:
        """How often two attributes of the same size both had each code, or None where nothing keeps that."""
        if self.pairs is not None:
            return self.pairs[min(one, two), max(one, two)].diagonal().copy()
        if self.whole is None:
            return None
        agree = self.whole.codes[:, one] == self.whole.codes[:, two]
        return _count(self.whole.codes[agree, one], self.whole.times[agree], self.outputs[one])

    def body(self) -> dict[str, Any]:
        """The counts as plain values."""
        body: dict[str, Any] = {
            "format": "privtally.counts/1",
            "plan": self.plan,
            "reports": self.reports,
            "attributes": [tally.tolist() for tally in self.attributes],
            "whole_report_limit": self.whole_report_limit,
        }
        if self.whole is not None:
            body["whole_reports"] = np.column_stack([self.whole.codes, self.whole.times]).tolist()
        if self.pairs is not None:
            body["pairs"] = [
                {"attributes": list(pair), "counts": table.tolist()} for pair, table in sorted(self.pairs.items())
            ]
        return body

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON."""
        return wire.digest(self.body())

    def dump(self) -> bytes:
        """The counts as a document."""
        return wire.canonical(self.body()) + b"\n"


def count(plan: Plan, codes: Codes, whole_report_limit: int = WHOLE_REPORT_LIMIT) -> Counts:
    """The counts of an array of private codes (report, attribute)."""
    outputs = plan.sampler.outputs
    _check_codes(plan, codes)
    total = from_whole(plan.digest, outputs, _distinct(outputs, codes[:0], np.ones(0, np.int64)), whole_report_limit)
    for start in range(0, len(codes), _CHUNK):
        piece = codes[start : start + _CHUNK]
        whole = _distinct(outputs, piece, np.ones(len(piece), dtype=np.int64))
        total += from_whole(plan.digest, outputs, whole, whole_report_limit)
    return total


def nothing(plan: Plan, whole_report_limit: int = WHOLE_REPORT_LIMIT) -> Counts:
    """The counts of no reports: adding them changes nothing."""
    return count(plan, np.empty((0, len(plan.sampler.outputs)), dtype=np.uint8), whole_report_limit)


def check_counts(plan: Plan, counts: Counts) -> None:
    """Refuse counts that do not belong to the plan."""
    if counts.plan != plan.digest:
        raise CountsError(
            f"the counts belong to plan {counts.plan[:12]}…, not to {plan.digest[:12]}… "
            f"(phase {plan.phase} of {plan.campaign}); give each plan the counts of its own phase"
        )
    if counts.outputs != plan.sampler.outputs:
        raise CountsError("the counts do not have the plan's numbers of labels")
    if counts.whole is not None:
        _check_codes(plan, counts.whole.codes)
    if plan.mechanism == "smp" and sum(int(tally[:-1].sum()) for tally in counts.attributes) != counts.reports:
        raise CountsError("the counts are not of smp reports, each of which answers one attribute")


def _check_codes(plan: Plan, codes: Codes | Tally) -> None:
    """Refuse codes that no report to the plan can have."""
    outputs = plan.sampler.outputs
    if codes.ndim != 2 or codes.shape[1] != len(outputs) or not np.issubdtype(codes.dtype, np.integer):
        raise CountsError(
            f"codes must be integers of the shape (reports, {len(outputs)}), got {codes.dtype} {codes.shape}"
        )
    for attribute, column, size in zip(plan.schema.attributes, codes.T, outputs, strict=True):
        if len(column) and (column.max() >= size or column.min() < 0):
            raise CountsError(f"attribute '{attribute.name}' has a code outside 0 to {size - 1}")
    if plan.mechanism == "smp" and (np.sum(codes < plan.sampler.sizes, axis=1) != 1).any():
        raise CountsError("every report to an smp plan answers exactly one attribute")


def pair_cells(outputs: Sequence[int]) -> int:
    """How many cells the pairwise tables of a schema have."""
    return sum(one * two for one, two in combinations(outputs, 2))


def from_whole(plan: str, outputs: Sequence[int], whole: WholeReports, limit: int) -> Counts:
    """Counts from distinct whole reports, which are kept unless they are more than the limit."""
    attributes = tuple(_count(whole.codes[:, own], whole.times, size) for own, size in enumerate(outputs))
    reports = int(whole.times.sum())
    if len(whole) <= limit:
        return Counts(plan, reports, attributes, whole, None, limit)
    pairs = _pair_tables(outputs, whole) if pair_cells(outputs) <= MAX_PAIR_CELLS else None
    return Counts(plan, reports, attributes, None, pairs, limit)


def _pair_tables(outputs: Sequence[int], whole: WholeReports) -> dict[Pair, Tally]:
    tables = {}
    for one, two in combinations(range(len(outputs)), 2):
        shape = outputs[one], outputs[two]
        cells = whole.codes[:, one] * shape[1] + whole.codes[:, two]
        tables[one, two] = _count(cells, whole.times, prod(shape)).reshape(shape)
    return tables


def _count(codes: Tally, times: Tally, size: int) -> Tally:
    """How often each code was seen; integers throughout (bincount with weights would pass through floats)."""
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, codes, times)
    return total


def _merge(outputs: Sequence[int], one: WholeReports, two: WholeReports) -> WholeReports:
    return _distinct(outputs, np.concatenate([one.codes, two.codes]), np.concatenate([one.times, two.times]))


def _distinct(outputs: Sequence[int], codes: Codes | Tally, times: Tally) -> WholeReports:
    """Distinct rows in lexicographic order, with the sums of their times."""
    codes = codes.astype(np.int64, copy=False)
    cells = prod(outputs)
    if cells >= 2**63:
        rows, index = np.unique(codes, axis=0, return_inverse=True)
        return WholeReports(rows, _count(index.ravel(), times, len(rows)))
    radix = np.cumprod([1, *reversed(outputs[1:])], dtype=np.int64)[::-1]
    keys = codes @ radix
    if cells <= _CHUNK:
        totals = _count(keys, times, cells)
        keys = np.flatnonzero(totals)
        totals = totals[keys]
    else:
        keys, index = np.unique(keys, return_inverse=True)
        totals = _count(index, times, len(keys))
    return WholeReports(keys[:, None] // radix % np.array(outputs, dtype=np.int64), totals)
