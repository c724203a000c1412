"""How often each combination of codes occurs, for groups of attributes: one count of the reports for many tables.

Counting combined codes takes no longer than counting those of one attribute, as long as the table fits the processor's
nearest cache. So attributes are taken together in blocks, and the tables of all pairs of attributes in two blocks
follow from one table of both blocks.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from math import prod

import numpy as np

from privtally.documents.sub_reports import Pair
from privtally.exact.arrays import Codes, Floats, Integers
from privtally.schema import code_type

Block = tuple[int, ...]
"""Attributes whose codes are combined."""
Group = tuple[Block, ...]
"""One or two blocks that have a table: an axis for each."""

BLOCK_CELLS = 64
"""How many combinations a block has at most where tables are those of two blocks."""
TABLE_CELLS = BLOCK_CELLS**2
"""How many combinations a block has at most where it has a table by itself: 32 kB."""
_CHUNK = 1 << 16


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


def tabulate(codes: Codes, outputs: Sequence[int], groups: Collection[Group]) -> dict[Group, Integers]:
    """For each group the number of reports with each combination of its codes; all codes must be in range."""
    cells = {block: prod(outputs[own] for own in block) for group in groups for block in group}
    tables = {group: np.zeros(prod(cells[block] for block in group), dtype=np.int64) for group in groups}
    chunk = max([_CHUNK, *(4 * len(table) for table in tables.values())])  # a table is cheap beside its reports
    for start in range(0, len(codes), chunk):
        piece = codes[start : start + chunk]
        combined = {block: _combined([(piece[:, own], outputs[own]) for own in block]) for block in cells}
        for group, table in tables.items():
            keys = _combined([(combined[block], cells[block]) for block in group])
            table += np.bincount(keys, minlength=len(table))
    return {group: table.reshape([cells[block] for block in group]) for group, table in tables.items()}


def _combined(columns: Sequence[tuple[Codes, int]]) -> Codes:
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
    """The sums over all axes but these."""
    summed: Integers = table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in axes))
    return summed
