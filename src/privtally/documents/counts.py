"""Counts: how often each report was seen, in integers that add, and their strict JSON form.

What is kept beyond the counts of every attribute by itself:

    of each part    the distinct sub-reports and how often each was seen, up to a limit; past it pairwise tables
    across parts    pairwise tables: the parts of one report belong to one person

Pairwise tables are kept where the schema makes them no larger than `MAX_PAIR_CELLS`. What is kept depends on the
reports only and not on the order in which they were added.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from math import comb, prod
from typing import Annotated, Any

import msgspec
import numpy as np

from privtally.documents.plan import Plan
from privtally.errors import CountsError
from privtally.exact import canonical
from privtally.exact.types import Codes, Integers
from privtally.mechanisms.mechanism import Part
from privtally.names import SetAside

SUB_REPORT_LIMIT = 1 << 18
"""How many distinct sub-reports of a part are kept at most."""
MAX_PAIR_CELLS = 4_000_000
"""Pairwise tables with more cells than this in all are not kept."""

Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class SubReports:
    """Distinct sub-reports of one part in lexicographic order (sub-report, attribute), and how often each was seen."""

    codes: Integers
    times: Integers

    def __len__(self) -> int:
        return len(self.times)


def pair_cells(outputs: Sequence[int]) -> int:
    """How many cells the pairwise tables of a schema have."""
    return (sum(outputs) ** 2 - sum(size**2 for size in outputs)) // 2


def kept_pairs(outputs: Sequence[int], parts: Mapping[tuple[int, ...], SubReports | None]) -> list[Pair]:
    """The pairs of attributes whose tables are kept: those that no distinct sub-reports cover."""
    if pair_cells(outputs) > MAX_PAIR_CELLS:
        return []
    covered = {pair for part, subs in parts.items() if subs is not None for pair in combinations(sorted(part), 2)}
    return [pair for pair in combinations(range(len(outputs)), 2) if pair not in covered]


def pair_tables(part: Sequence[int], outputs: Sequence[int], subs: SubReports) -> dict[Pair, Integers]:
    """The pairwise tables of the sub-reports of a part with these attributes, where the schema allows tables."""
    tables: dict[Pair, Integers] = {}
    if pair_cells(outputs) > MAX_PAIR_CELLS:
        return tables
    for one, two in combinations(sorted(part), 2):
        shape = outputs[one], outputs[two]
        cells = subs.codes[:, part.index(one)] * shape[1] + subs.codes[:, part.index(two)]
        tables[one, two] = add_up(cells, subs.times, prod(shape)).reshape(shape)
    return tables


def add_up(codes: Codes | Integers, times: Integers | None, size: int) -> Integers:
    """How often each code was seen, each time once if not given; sums of integers below 2^53 are exact as floats."""
    return np.bincount(codes, times, size).astype(np.int64, copy=False)


def distinct(outputs: Sequence[int], codes: Codes | Integers, times: Integers) -> SubReports:
    """Distinct rows in lexicographic order, with the sums of their times."""
    keys, cells = np.zeros(len(codes), dtype=np.int64), 1
    for column, size in zip(codes.T, outputs, strict=True):
        if cells * size >= 2**63:  # number the combinations that occur; they keep their order
            keys = np.unique(keys, return_inverse=True)[1]
            cells = len(keys)
        keys *= size
        keys += column.astype(np.int64, copy=False)
        cells *= size
    if prod(outputs) <= SUB_REPORT_LIMIT:
        totals = add_up(keys, times, cells)
        (seen,) = np.nonzero(totals)
        return SubReports(np.stack(np.unravel_index(seen, outputs), axis=1), totals[seen])
    values, index = np.unique(keys, return_inverse=True)
    example = np.empty(len(values), dtype=np.int64)
    example[index] = np.arange(len(keys))
    return SubReports(codes[example].astype(np.int64, copy=False), add_up(index, times, len(values)))


def merge(outputs: Sequence[int], one: SubReports | None, two: SubReports | None, limit: int) -> SubReports | None:
    """The sums of both, or None where either is missing or more than `limit` sub-reports are distinct."""
    if one is None or two is None:
        return None
    both = one if not len(two) else two
    if len(one) and len(two):
        both = distinct(outputs, np.concatenate([one.codes, two.codes]), np.concatenate([one.times, two.times]))
    return both if len(both) <= limit else None


@dataclass(frozen=True, eq=False, repr=False)
class Counts:
    """The counts of the reports to one plan. `tally` builds them, `+` adds them.

    Where a part is silent about attributes that are not asked, the code after an attribute's last one counts "not
    asked". `parts` are the attributes of each part of several attributes, with its distinct sub-reports, or None
    where there are more than `limit` of them.

    Counts that `tally` has just made know what was not counted, which is no part of their document: `repeated` reports
    were equal to a counted one with the same id; others were `set_aside`, by reason. All reports with an id that came
    with different codes are, since no honest participant sends those.
    """

    plan: str
    reports: int
    attributes: tuple[Integers, ...]
    parts: Mapping[tuple[int, ...], SubReports | None]
    pairs: Mapping[Pair, Integers]
    limit: int = SUB_REPORT_LIMIT
    repeated: int = 0
    set_aside: Mapping[SetAside, int] = field(default_factory=dict)

    @property
    def outputs(self) -> tuple[int, ...]:
        """The number of codes of each attribute of a report."""
        return tuple(map(len, self.attributes))

    @property
    def detail(self) -> str:
        """What is kept beyond each attribute's counts, in words."""
        kept = [subs for subs in self.parts.values() if subs is not None]
        words = [f"{sum(map(len, kept)):,} distinct reports"] if kept else []
        words += ["pairwise tables"] if self.pairs else []
        return " and ".join(words) or "one-way counts only"

    def __add__(self, other: "Counts") -> "Counts":
        if self.plan != other.plan:
            raise CountsError(
                f"counts of plan {self.plan[:12]}… and plan {other.plan[:12]}… cannot be added; "
                "estimate from both phases instead"
            )
        if self.outputs != other.outputs or set(self.parts) != set(other.parts):
            raise CountsError(
                "counts of one plan must have the same parts and numbers of codes; load each with its plan, which "
                "refuses those that are not its own"
            )
        attributes = tuple(map(np.add, self.attributes, other.attributes))
        limit = min(self.limit, other.limit)
        parts = {
            part: merge([self.outputs[own] for own in part], mine, other.parts[part], limit)
            for part, mine in self.parts.items()
        }
        pairs = {pair: self.pair_tables[pair] + other.pair_tables[pair] for pair in kept_pairs(self.outputs, parts)}
        added = Counts(self.plan, self.reports + other.reports, attributes, parts, pairs, limit)
        reasons = dict.fromkeys((*self.set_aside, *other.set_aside))
        aside = {reason: self.set_aside.get(reason, 0) + other.set_aside.get(reason, 0) for reason in reasons}
        return added.leaving_out(self.repeated + other.repeated, aside)

    def leaving_out(self, repeated: int, set_aside: Mapping[SetAside, int]) -> "Counts":
        """The same counts, knowing how many reports were repeated or set aside."""
        return replace(self, repeated=repeated, set_aside=set_aside)

    def __repr__(self) -> str:
        left = [("repeated", self.repeated), *self.set_aside.items()]
        others = ", ".join(f"{many:,} {reason.replace('_', ' ')}" for reason, many in left if many)
        beside = f"; not counted: {others}" if others else ""
        return f"Counts of {self.reports:,} reports to plan {self.plan[:12]}… ({self.detail}{beside})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counts) and self.body() == other.body()

    def __hash__(self) -> int:
        return hash((self.plan, self.reports))

    @cached_property
    def pair_tables(self) -> Mapping[Pair, Integers]:
        """How often each two codes of each two attributes were seen together; empty where nothing keeps that."""
        tables = dict(self.pairs)
        for part, subs in self.parts.items():
            if subs is not None:
                tables |= pair_tables(part, self.outputs, subs)
        return tables

    def agreements(self, one: int, two: int) -> Integers | None:
        """How often two attributes of the same size both had each code, or None where nothing keeps that."""
        pair = min(one, two), max(one, two)
        if pair in self.pairs:
            return self.pairs[pair].diagonal().copy()
        for part, subs in self.parts.items():
            if subs is not None and one in part and two in part:
                first, second = subs.codes[:, part.index(one)], subs.codes[:, part.index(two)]
                agree = first == second
                return add_up(first[agree], subs.times[agree], self.outputs[one])
        return None

    def body(self) -> dict[str, Any]:
        """The counts as plain values."""
        return {
            "format": "privtally.counts/1",
            "plan": self.plan,
            "reports": self.reports,
            "limit": self.limit,
            "attributes": [tally.tolist() for tally in self.attributes],
            "parts": [
                {"attributes": list(part)}
                | ({} if subs is None else {"reports": np.column_stack([subs.codes, subs.times]).tolist()})
                for part, subs in sorted(self.parts.items())
            ],
            "pairs": [{"attributes": list(pair), "counts": self.pairs[pair].tolist()} for pair in sorted(self.pairs)],
        }

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON."""
        return canonical.digest(self.body())

    def dump(self) -> bytes:
        """The counts as a document."""
        return canonical.canonical(self.body()) + b"\n"


def check_counts(plan: Plan, counts: Counts) -> None:
    """Refuse counts that do not belong to the plan, or that no reports to it can have."""
    if counts.plan != plan.digest:
        raise CountsError(
            f"the counts belong to plan {counts.plan[:12]}…, not to {plan.digest[:12]}… "
            f"(phase {plan.phase} of {plan.name}); give each plan the counts of its own phase"
        )
    mechanism = plan.mechanism
    several = {part.attributes for part in mechanism.parts if len(part.attributes) > 1}
    if counts.outputs != mechanism.outputs or set(counts.parts) != several:
        raise CountsError("the counts do not have the plan's parts and numbers of codes")
    for part in mechanism.parts:
        if part.silent and not _shows_as_planned(part, counts):
            raise CountsError(f"every report must show {part.shown} of {len(part.attributes)} attributes of a part")


def _shows_as_planned(part: Part, counts: Counts) -> bool:
    """Whether every report shows as many attributes of a part as it must, as far as the counts say.

    Without sub-reports the mean and the variance of the number of answers decide, which pairwise tables have.
    """
    subs = counts.parts[part.attributes]
    if subs is not None:
        return bool((np.sum(subs.codes < np.array(part.answers), axis=1) == part.shown).all())
    answered = sum(int(counts.attributes[own][:-1].sum()) for own in part.attributes)
    tables = [counts.pairs[pair] for pair in combinations(sorted(part.attributes), 2) if pair in counts.pairs]
    together = sum(int(table[:-1, :-1].sum()) for table in tables)
    pairs = comb(part.shown, 2) if tables else 0
    return (answered, together) == (part.shown * counts.reports, pairs * counts.reports)


_Count = Annotated[int, msgspec.Meta(ge=0, le=canonical.MAX_INTEGER)]


class _Part(msgspec.Struct, forbid_unknown_fields=True):
    attributes: tuple[_Count, ...]
    reports: list[list[_Count]] | None = None


class _Pair(msgspec.Struct, forbid_unknown_fields=True):
    attributes: tuple[_Count, _Count]
    counts: list[list[_Count]]


class _Document(msgspec.Struct, forbid_unknown_fields=True, tag_field="format", tag="privtally.counts/1"):
    plan: str
    reports: _Count
    limit: _Count
    attributes: list[list[_Count]]
    parts: list[_Part]
    pairs: list[_Pair]


def load_counts(data: bytes | str, plan: Plan | None = None) -> Counts:
    """Counts from their document, refused if they contradict themselves or, where one is given, the plan."""
    document = canonical.decode(data, _Document, CountsError, "the counts document")
    canonical.check_digest(document.plan, "the plan of counts", CountsError)
    attributes = tuple(_integers(row, (len(row),)) for row in document.attributes)
    outputs = tuple(map(len, attributes))
    owners = [own for part in document.parts for own in part.attributes]
    _require(min(outputs, default=0) >= 2, "every attribute needs at least two counts")
    apart = len(set(owners)) == len(owners) and max(owners, default=0) < len(outputs)
    several = all(len(part.attributes) > 1 for part in document.parts)
    _require(apart and several, "each part must have several attributes, and each attribute one part")
    parts = {part.attributes: _read_sub_reports(part, outputs, document.limit) for part in document.parts}
    stated = [pair.attributes for pair in document.pairs]
    _require(stated == kept_pairs(outputs, parts), "it must have one table for each pair it keeps")
    shapes = [(outputs[one], outputs[two]) for one, two in stated]
    tables = [_integers(pair.counts, shape) for pair, shape in zip(document.pairs, shapes, strict=True)]
    pairs = dict(zip(stated, tables, strict=True))
    counts = Counts(document.plan, document.reports, attributes, parts, pairs, document.limit)
    _check_sums(counts)
    if plan is not None:
        check_counts(plan, counts)
    return counts


def _require(holds: bool, otherwise: str) -> None:  # noqa: FBT001  # an assertion under another name
    if not holds:
        raise CountsError(f"the counts document is refused: {otherwise}")


def _integers(rows: Any, shape: tuple[int, ...]) -> Integers:
    """Nested lists of integers as an array of that shape, with a sum that is exact in JSON."""
    try:
        table = np.array(rows, dtype=np.int64)
    except ValueError:  # rows of different lengths
        table = np.array(0)
    _require(table.shape == shape or not (rows or prod(shape)), "a table has the wrong shape")
    _require(table.sum(dtype=float) <= canonical.MAX_INTEGER, "a number is out of range")
    return table.reshape(shape)


def _read_sub_reports(part: _Part, outputs: Sequence[int], limit: int) -> SubReports | None:
    if part.reports is None:
        return None
    table = _integers(part.reports, (len(part.reports), len(part.attributes) + 1))
    subs = SubReports(table[:, :-1], table[:, -1])
    in_range = (subs.codes < [outputs[own] for own in part.attributes]).all() and (subs.times >= 1).all()
    _require(bool(in_range), "a report has a code out of range or was never seen")
    ordered = part.reports == sorted(part.reports) and len({tuple(row[:-1]) for row in part.reports}) == len(subs)
    _require(ordered and len(subs) <= limit, "reports must be distinct, in order and within the limit")
    return subs


def _check_sums(counts: Counts) -> None:
    """Refuse a document whose parts count different reports."""
    margins = []
    for (one, two), table in counts.pairs.items():
        margins += [(one, table.sum(axis=1)), (two, table.sum(axis=0))]
    for part, subs in counts.parts.items():
        if subs is not None:
            columns = zip(part, subs.codes.T, strict=True)
            margins += [(own, add_up(codes, subs.times, counts.outputs[own])) for own, codes in columns]
    agree = all(np.array_equal(counts.attributes[own], margin) for own, margin in margins)
    total = all(int(tally.sum()) == counts.reports for tally in counts.attributes)
    _require(agree and total, "its tables do not add up to the number of reports")
