"""Distinct sub-reports with their numbers, and the pairwise tables that take their place where there are too many."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from privtally.exact.arrays import Codes, Integers

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


def add_up(codes: Integers, times: Integers, size: int) -> Integers:
    """How often each code was seen; sums of integers below 2^53 are exact as floats."""
    return np.bincount(codes, times, size).astype(np.int64)


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
