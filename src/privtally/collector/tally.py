"""tally: reports -> Counts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from privtally.collector.tabulate import Group, covering, one_way, tabulate, two_way
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.documents.report import Report, check_report
from privtally.documents.sub_reports import SUB_REPORT_LIMIT, SubReports, add_up, distinct, kept_pairs, merge
from privtally.errors import CountsError
from privtally.exact.arrays import Codes, Integers
from privtally.mechanisms import Part
from privtally.names import SetAside

_CHUNK = 1 << 18


@dataclass(frozen=True)
class Tallied:
    """Counts, and how many reports were not counted.

    `repeated` reports were equal to a counted one with the same id. Others were `set_aside`, by reason: all reports
    with an id that came with different codes are, since no honest participant sends those.
    """

    counts: Counts
    repeated: int
    set_aside: Mapping[SetAside, int]


def tally(plan: Plan, reports: Iterable[Report], limit: int = SUB_REPORT_LIMIT) -> Tallied:
    """The counts of reports to one plan; each report id counts once."""
    times: dict[bytes, int] = {}
    content: dict[bytes, list[int]] = {}
    conflicting: set[bytes] = set()
    for report in reports:
        codes, name = check_report(plan, report), bytes.fromhex(report.id)
        times[name] = times.get(name, 0) + 1
        if content.setdefault(name, codes) != codes:
            conflicting.add(name)
    for name in conflicting:
        del content[name]
    aside = sum(times[name] for name in conflicting)
    repeated = sum(times.values()) - aside - len(content)
    codes_once = np.array(list(content.values()), dtype=np.uint32).reshape(-1, plan.sampler.width)
    return Tallied(count(plan, codes_once, limit), repeated, {"id_conflict": aside} if aside else {})


def count(plan: Plan, codes: Codes, limit: int = SUB_REPORT_LIMIT) -> Counts:
    """The counts of an array of private codes (report, attribute)."""
    _check_codes(plan, codes)
    outputs = plan.sampler.outputs
    several = [part for part in plan.sampler.parts if len(part.attributes) > 1]
    few: list[Group] = [(part.attributes,) for part in several if prod(part.outputs) <= SUB_REPORT_LIMIT]
    tables = tabulate(codes, outputs, few)
    parts = {part.attributes: _sub_reports(part, codes, tables.get((part.attributes,)), limit) for part in several}
    _check_answers(several, codes, parts)
    kept = kept_pairs(outputs, parts)
    seen = one_way(tables, outputs)
    more = tabulate(codes, outputs, covering(outputs, set(range(len(outputs))) - seen.keys(), kept))
    seen |= one_way(more, outputs)
    pairs = two_way(more, outputs) if kept else {}
    attributes = tuple(seen[own] for own in range(len(outputs)))
    return Counts(plan.digest, len(codes), attributes, parts, {pair: pairs[pair] for pair in kept}, limit)


def _sub_reports(part: Part, codes: Codes, table: Integers | None, limit: int) -> SubReports | None:
    """The distinct sub-reports of a part, from a table of all possible ones if there is one; None past the limit."""
    if table is not None:
        (cells,) = np.nonzero(table)
        rows = np.stack(np.unravel_index(cells, part.outputs), axis=1)
        return SubReports(rows, table[cells]) if len(cells) <= limit else None
    total: SubReports | None = SubReports(np.empty((0, len(part.outputs)), np.int64), np.empty(0, np.int64))
    for start in range(0, len(codes), _CHUNK):
        if total is None:
            break
        piece = codes[start : start + _CHUNK, list(part.attributes)]
        own = distinct(part.outputs, piece, np.ones(len(piece), dtype=np.int64))
        total = merge(part.outputs, total, own, limit)
    return total


def nothing(plan: Plan, limit: int = SUB_REPORT_LIMIT) -> Counts:
    """The counts of no reports: adding them changes nothing."""
    empty = np.empty((0, plan.sampler.width), dtype=np.uint8)
    return count_times(plan, empty, np.ones(0, dtype=np.int64), limit)


def count_times(plan: Plan, codes: Codes | Integers, times: Integers, limit: int = SUB_REPORT_LIMIT) -> Counts:
    """The counts of reports (rows of codes, each possible under the plan) of which each was seen several times."""
    outputs = plan.sampler.outputs
    codes = codes.astype(np.int64, copy=False)
    attributes = tuple(add_up(column, times, size) for column, size in zip(codes.T, outputs, strict=True))
    parts: dict[tuple[int, ...], SubReports | None] = {}
    for part in plan.sampler.parts:
        if len(part.attributes) > 1:
            subs = distinct(part.outputs, codes[:, list(part.attributes)], times)
            parts[part.attributes] = subs if len(subs) <= limit else None
    pairs = {}
    for one, two in kept_pairs(outputs, parts):
        shape = outputs[one], outputs[two]
        pairs[one, two] = add_up(codes[:, one] * shape[1] + codes[:, two], times, prod(shape)).reshape(shape)
    return Counts(plan.digest, int(times.sum()), attributes, parts, pairs, limit)


def _check_codes(plan: Plan, codes: Codes) -> None:
    """Refuse codes that no report to the plan can have."""
    mechanism = plan.sampler
    if codes.ndim != 2 or codes.shape[1] != mechanism.width or not np.issubdtype(codes.dtype, np.integer):
        raise CountsError(
            f"codes must be integers of the shape (reports, {mechanism.width}), got {codes.dtype} {codes.shape}"
        )
    signed = np.issubdtype(codes.dtype, np.signedinteger)
    for attribute, column, size in zip(plan.schema.attributes, codes.T, mechanism.outputs, strict=True):
        if len(column) and (column.max() >= size or (signed and column.min() < 0)):
            raise CountsError(f"attribute '{attribute.name}' has a code outside 0 to {size - 1}")


def _check_answers(parts: Sequence[Part], codes: Codes, found: Mapping[tuple[int, ...], SubReports | None]) -> None:
    """Refuse reports that show more or fewer attributes of a part than it must."""
    for part in parts:
        if part.silent:
            subs = found[part.attributes]
            rows = codes[:, list(part.attributes)] if subs is None else subs.codes
            if (np.sum(rows < np.array(part.answers), axis=1) != part.shown).any():
                raise CountsError(f"every report must show {part.shown} of {len(part.attributes)} attributes of a part")
