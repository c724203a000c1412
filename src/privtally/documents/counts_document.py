"""Counts read back from their JSON document, which must not contradict itself."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import msgspec
import numpy as np

from privtally.documents.counts import (
    MAX_PAIR_CELLS,
    Counts,
    Pair,
    Tally,
    WholeReports,
    check_counts,
    from_whole,
    pair_cells,
)
from privtally.documents.plan import Plan
from privtally.errors import CountsError
from privtally.exact import wire

LARGEST_COUNT = 2**53 - 1
"""The largest integer that every JSON reader takes exactly."""

_WHAT = "the counts document"


class _Pair(msgspec.Struct, forbid_unknown_fields=True):
    attributes: tuple[int, int]
    counts: list[list[int]]


class _Document(msgspec.Struct, forbid_unknown_fields=True, tag_field="format", tag="privtally.counts/1"):
    plan: str
    reports: int
    attributes: list[list[int]]
    whole_report_limit: int
    whole_reports: list[list[int]] | None = None
    pairs: list[_Pair] | None = None


def load_counts(data: bytes | str, plan: Plan | None = None) -> Counts:
    """Counts from their document, refused if they contradict themselves or, where one is given, the plan."""
    document = wire.decode(data, _Document, CountsError, _WHAT)
    wire.check_digest(document.plan, "the plan of counts", CountsError)
    attributes = tuple(_integers(row, (len(row),)) for row in document.attributes)
    outputs = tuple(map(len, attributes))
    if not outputs or min(outputs) < 2:
        raise CountsError(f"{_WHAT} is refused: every attribute needs at least two counts")
    _integers([document.reports, document.whole_report_limit], (2,))
    if (document.whole_reports is None) == (document.pairs is None) and pair_cells(outputs) <= MAX_PAIR_CELLS:
        raise CountsError(f"{_WHAT} is refused: it must have either 'whole_reports' or 'pairs'")
    if document.whole_reports is not None:
        whole = _read_whole(document.whole_reports, outputs)
        counts = from_whole(document.plan, outputs, whole, document.whole_report_limit)
        if counts.whole is None:
            raise CountsError(f"{_WHAT} is refused: it has more whole reports than its limit")
    else:
        pairs = None if document.pairs is None else _read_pairs(document.pairs, outputs)
        counts = Counts(document.plan, document.reports, attributes, None, pairs, document.whole_report_limit)
    _check_sums(counts, document.reports, attributes)
    if plan is not None:
        check_counts(plan, counts)
    return counts


def _integers(rows: Any, shape: tuple[int, ...]) -> Tally:
    """Nested lists of integers as an array of that shape, each between 0 and the largest exact JSON integer."""
    try:
        table = np.array(rows, dtype=np.int64)
    except (ValueError, OverflowError):
        raise CountsError(f"{_WHAT} is refused: a table has the wrong shape or a number out of range") from None
    if table.size and (table.min() < 0 or table.sum(dtype=float) > LARGEST_COUNT):
        raise CountsError(f"{_WHAT} is refused: a number in it is out of range")
    if table.size and table.shape != shape:
        raise CountsError(f"{_WHAT} is refused: a table has the wrong shape")
    return table.reshape(shape)


def _read_whole(rows: list[list[int]], outputs: Sequence[int]) -> WholeReports:
    table = _integers(rows, (len(rows), len(outputs) + 1))
    whole = WholeReports(table[:, :-1], table[:, -1])
    if (whole.codes >= outputs).any() or (whole.times < 1).any():
        raise CountsError(f"{_WHAT} is refused: a whole report has a code out of range or was never seen")
    if rows != sorted(rows) or len({tuple(row[:-1]) for row in rows}) < len(rows):
        raise CountsError(f"{_WHAT} is refused: whole reports must be distinct and in order")
    return whole


def _read_pairs(documents: Sequence[_Pair], outputs: Sequence[int]) -> dict[Pair, Tally]:
    pairs = [document.attributes for document in documents]
    if pairs != list(combinations(range(len(outputs)), 2)):
        raise CountsError(f"{_WHAT} is refused: it needs one table for each pair of attributes, in order")
    return {
        (one, two): _integers(document.counts, (outputs[one], outputs[two]))
        for (one, two), document in zip(pairs, documents, strict=True)
    }


def _check_sums(counts: Counts, reports: int, attributes: Sequence[Tally]) -> None:
    """Refuse a document whose parts count different reports."""
    margins = list(enumerate(counts.attributes))
    for (one, two), table in (counts.pairs or {}).items():
        margins += [(one, table.sum(axis=1)), (two, table.sum(axis=0))]
    if any(int(tally.sum()) != reports for tally in attributes) or not all(
        np.array_equal(attributes[own], margin) for own, margin in margins
    ):
        raise CountsError(f"{_WHAT} contradicts itself: its tables do not add up to the number of reports")
