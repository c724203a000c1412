"""tally: reports -> Counts."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from math import prod

import numpy as np

from privtally.documents.counts import SUB_REPORT_LIMIT, Counts, Pair, SubReports, add_up, distinct, kept_pairs, merge
from privtally.documents.plan import Plan
from privtally.documents.report import Report, check_report
from privtally.errors import CountsError
from privtally.exact.types import Codes, Floats, Integers
from privtally.mechanisms.mechanism import Part
from privtally.schema import code_type

Block = tuple[int, ...]
"""Attributes whose codes are combined."""
Group = tuple[Block, ...]
"""One or two blocks that have a table: an axis for each."""

BLOCK_CELLS = 64
"""How many combinations a block has at most where tables are those of two blocks."""
TABLE_CELLS = BLOCK_CELLS**2
"""How many combinations a block has at most where it has a table by itself: 32 kB."""
_TABLE_CHUNK = 1 << 16


def covering(outputs: Sequence[int], attributes: Iterable[int], pairs: Iterable[Pair]) -> list[Group]:
    """Groups such that each of these attributes and pairs of attributes is in one of them."""
    pairs = list(pairs)
    wanted = sorted({*attributes, *(own for pair in pairs for own in pair)})
    alone_enough = not pairs or prod(outputs[own] for own in wanted) <= TABLE_CELLS
    most = TABLE_CELLS if alone_enough else BLOCK_CELLS
    blocks: list[Block] = []
    for own in wanted:
        if blocks and prod(outputs[other] for other in blocks[-1]) * outputs[own] <= most:
            blocks[-1] += (own,)
        else:
            blocks.append((own,))
    place = {own: number for number, block in enumerate(blocks) for own in block}
    together = sorted({(place[one], place[two]) for one, two in pairs if place[one] != place[two]})
    covered = {number for both in together for number in both}
    alone: list[Group] = [(block,) for number, block in enumerate(blocks) if number not in covered]
    return alone + [(blocks[one], blocks[two]) for one, two in together]


def tabulate(
    codes: Codes | Integers, outputs: Sequence[int], groups: Collection[Group], times: Integers | None = None
) -> dict[Group, Integers]:
    """For each group the number of reports with each combination of its codes; all codes must be in range."""
    cells = {block: prod(outputs[own] for own in block) for group in groups for block in group}
    tables = {group: np.zeros(prod(cells[block] for block in group), dtype=np.int64) for group in groups}
    chunk = max([_TABLE_CHUNK, *(4 * len(table) for table in tables.values())])  # a table is cheap beside its reports
    for start in range(0, len(codes), chunk):
        piece = codes[start : start + chunk]
        combined = {block: _combined([(piece[:, own], outputs[own]) for own in block]) for block in cells}
        for group, table in tables.items():
            keys = _combined([(combined[block], cells[block]) for block in group])
            table += add_up(keys, None if times is None else times[start : start + chunk], len(table))
    return {group: table.reshape([cells[block] for block in group]) for group, table in tables.items()}


def _combined(columns: Sequence[tuple[Codes | Integers, int]]) -> Codes:
    """Columns of codes, each with its number of codes, as one column; the last one counts fastest."""
    (first, _), *others = columns
    keys = first.astype(code_type((prod(size for _, size in columns),)), copy=False)
    for number, (column, size) in enumerate(others):
        keys = np.multiply(keys, size, out=keys if number else None, dtype=keys.dtype)
        np.add(keys, column, out=keys, casting="unsafe")
    return keys


def one_way(tables: Mapping[Group, Integers], outputs: Sequence[int]) -> dict[int, Integers]:
    """The counts of every attribute that a group holds."""
    found: dict[int, Integers] = {}
    for group, table in tables.items():
        for axis, block in enumerate(group):
            if not found.keys() >= set(block):
                own = _sum_to(table, (axis,)).reshape([outputs[each] for each in block])
                found |= {each: _sum_to(own, (place,)) for place, each in enumerate(block)}
    return found


def two_way(tables: Mapping[Group, Integers], outputs: Sequence[int]) -> dict[Pair, Integers]:
    """The counts of every pair of attributes that a group holds."""
    blocks = {block for group in tables if len(group) == 2 for block in group if len(block) > 1}
    having = {block: _having(block, outputs) for block in blocks}
    found: dict[Pair, Integers] = {}
    for group, table in tables.items():
        for axis, block in enumerate(group):
            inside = list(combinations(range(len(block)), 2))
            if any((block[one], block[two]) not in found for one, two in inside):
                own = _sum_to(table, (axis,)).reshape([outputs[each] for each in block])
                found |= {(block[one], block[two]): _sum_to(own, (one, two)) for one, two in inside}
        if len(group) == 2:
            first, second = group
            rows = having[first] @ table if first in having else table
            found |= _split(rows @ having[second].T if second in having else rows, first, second, outputs)
    return found


def _having(block: Block, outputs: Sequence[int]) -> Floats:
    """For each code of each attribute of a block, which of the block's combinations have it: 1, else 0.

    Products with it are sums of counts, which are exact as floats below 2^53.
    """
    sizes = [outputs[own] for own in block]
    codes = np.unravel_index(np.arange(prod(sizes)), sizes)
    rows = [np.arange(size)[:, None] == own for size, own in zip(sizes, codes, strict=True)]
    return np.concatenate(rows).astype(float)


def _split(table: Floats | Integers, first: Block, second: Block, outputs: Sequence[int]) -> dict[Pair, Integers]:
    """The tables of the pairs with an attribute in each of two blocks, out of one with every code of both."""
    whole = table.astype(np.int64, copy=False)
    rows, columns = _ranges(first, outputs), _ranges(second, outputs)
    return {(one, two): whole[rows[one], columns[two]] for one in first for two in second}


def _ranges(block: Block, outputs: Sequence[int]) -> dict[int, slice]:
    """Where the codes of each attribute stand when those of a block stand one after the other."""
    ends = np.cumsum([outputs[own] for own in block]).tolist()
    return {own: slice(end - outputs[own], end) for own, end in zip(block, ends, strict=True)}


def _sum_to(table: Integers, axes: tuple[int, ...]) -> Integers:
    summed: Integers = table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in axes))
    return summed


_CHUNK = 1 << 18


def tally(plan: Plan, reports: Iterable[Report], limit: int = SUB_REPORT_LIMIT) -> Counts:
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
    codes_once = np.array(list(content.values()), dtype=np.uint32).reshape(-1, plan.mechanism.width)
    return count(plan, codes_once, limit).leaving_out(repeated, {"id_conflict": aside} if aside else {})


def count(plan: Plan, codes: Codes | Integers, limit: int = SUB_REPORT_LIMIT) -> Counts:
    """The counts of an array of private codes (report, attribute)."""
    return count_times(plan, codes, None, limit)


def count_times(plan: Plan, codes: Codes | Integers, times: Integers | None, limit: int = SUB_REPORT_LIMIT) -> Counts:
    """The counts of reports (rows of codes) of which each was seen so many times, once if none are given."""
    _check_codes(plan, codes)
    outputs = plan.mechanism.outputs
    several = [part for part in plan.mechanism.parts if len(part.attributes) > 1]
    few: list[Group] = [(part.attributes,) for part in several if prod(part.outputs) <= SUB_REPORT_LIMIT]
    tables = tabulate(codes, outputs, few, times)
    parts = {
        part.attributes: _sub_reports(part, codes, times, tables.get((part.attributes,)), limit) for part in several
    }
    _check_answers(several, codes, parts)
    kept = kept_pairs(outputs, parts)
    seen = one_way(tables, outputs)
    more = tabulate(codes, outputs, covering(outputs, set(range(len(outputs))) - seen.keys(), kept), times)
    seen |= one_way(more, outputs)
    pairs = two_way(more, outputs) if kept else {}
    attributes = tuple(seen[own] for own in range(len(outputs)))
    reports = len(codes) if times is None else int(times.sum())
    return Counts(plan.digest, reports, attributes, parts, {pair: pairs[pair] for pair in kept}, limit)


def _sub_reports(
    part: Part, codes: Codes | Integers, times: Integers | None, table: Integers | None, limit: int
) -> SubReports | None:
    """The distinct sub-reports of a part, from a table of all possible ones if there is one; None past the limit."""
    if table is not None:
        (cells,) = np.nonzero(table)
        rows = np.stack(np.unravel_index(cells, part.outputs), axis=1)
        return SubReports(rows, table[cells]) if len(cells) <= limit else None
    times = np.ones(len(codes), dtype=np.int64) if times is None else times
    total: SubReports | None = SubReports(np.empty((0, len(part.outputs)), np.int64), np.empty(0, np.int64))
    for start in range(0, len(codes), _CHUNK):
        piece = slice(start, start + _CHUNK)
        if total is not None:
            subs = distinct(part.outputs, codes[piece, list(part.attributes)], times[piece])
            total = merge(part.outputs, total, subs, limit)
    return total


def nothing(plan: Plan, limit: int = SUB_REPORT_LIMIT) -> Counts:
    """The counts of no reports: adding them changes nothing."""
    return count(plan, np.empty((0, plan.mechanism.width), dtype=np.uint8), limit)


def _check_codes(plan: Plan, codes: Codes | Integers) -> None:
    """Refuse codes that no report to the plan can have."""
    mechanism = plan.mechanism
    if codes.ndim != 2 or codes.shape[1] != mechanism.width or not np.issubdtype(codes.dtype, np.integer):
        raise CountsError(
            f"codes must be integers of the shape (reports, {mechanism.width}), got {codes.dtype} {codes.shape}"
        )
    signed = np.issubdtype(codes.dtype, np.signedinteger)
    for name, column, size in zip(plan.columns, codes.T, mechanism.outputs, strict=True):
        if len(column) and (column.max() >= size or (signed and column.min() < 0)):
            raise CountsError(f"attribute '{name}' has a code outside 0 to {size - 1}")


def _check_answers(
    parts: Sequence[Part], codes: Codes | Integers, found: Mapping[tuple[int, ...], SubReports | None]
) -> None:
    """Refuse reports that show more or fewer attributes of a part than it must."""
    for part in parts:
        if part.silent:
            subs = found[part.attributes]
            rows = codes[:, list(part.attributes)] if subs is None else subs.codes
            if (np.sum(rows < np.array(part.answers), axis=1) != part.shown).any():
                raise CountsError(f"every report must show {part.shown} of {len(part.attributes)} attributes of a part")
