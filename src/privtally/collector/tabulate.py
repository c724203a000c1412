"""How often each combination of codes occurs, for groups of attributes: one count of the reports for many tables.

Counting combined codes takes no longer than counting those of one attribute. So attributes are taken together in blocks
of at most 256 combinations; the tables of all pairs of attributes in two blocks follow from one table of both blocks.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from math import prod

import numpy as np

from privtally.documents.sub_reports import Pair
from privtally.exact.arrays import Codes, Integers
from privtally.schema import code_type

Block = tuple[int, ...]
"""Attributes whose codes are combined."""
Group = tuple[Block, ...]
"""One or two blocks that have a table: an axis for each."""

BLOCK_CELLS = 256
_CHUNK = 1 << 18


def covering(outputs: Sequence[int], attributes: Iterable[int], pairs: Iterable[Pair]) -> list[Group]:
    """Groups such that each of these attributes and pairs of attributes is in one of them."""
    pairs = list(pairs)
    blocks: list[Block] = []
    for own in sorted({*attributes, *(own for pair in pairs for own in pair)}):
        if blocks and prod(outputs[other] for other in blocks[-1]) * outputs[own] <= BLOCK_CELLS:
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
    for start in range(0, len(codes), _CHUNK):
        piece = codes[start : start + _CHUNK]
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
    found: dict[Pair, Integers] = {}
    for group, table in tables.items():
        for axis, block in enumerate(group):
            inner = list(combinations(range(len(block)), 2))
            if any((block[one], block[two]) not in found for one, two in inner):
                own = _sum_to(table, (axis,)).reshape([outputs[each] for each in block])
                found |= {(block[one], block[two]): _sum_to(own, (one, two)) for one, two in inner}
        if len(group) == 2:
            found |= _across(table, group[0], group[1], outputs)
    return found


def _across(table: Integers, first: Block, second: Block, outputs: Sequence[int]) -> dict[Pair, Integers]:
    """The tables of the pairs with an attribute in each of two blocks."""
    rows = table.reshape(len(table), *(outputs[each] for each in second))
    found: dict[Pair, Integers] = {}
    for place, two in enumerate(second):
        narrow = _sum_to(rows, (0, 1 + place)).reshape(*(outputs[each] for each in first), outputs[two])
        found |= {(one, two): _sum_to(narrow, (own, len(first))) for own, one in enumerate(first)}
    return found


def _sum_to(table: Integers, axes: tuple[int, ...]) -> Integers:
    """The sums over all axes but these."""
    summed: Integers = table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in axes))
    return summed
