"""What Corr-RR reports with one copy probability for all pairs tell: about the frequencies, and about the pivot.

With uniform answers all that matters of a report is how many attributes share each of its values, whatever the values
are: a partition of the number of attributes. Sums over all reports become sums over partitions, which are few.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import factorial, log

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MAX_PARTITIONS = 5_000
"""Schemas with more attributes and labels than this allows are not analysed."""


@dataclass(frozen=True)
class Told:
    """What one report tells, for each of an array of copy probabilities, at uniform answers and a private value kept
    with certainty; a response that lets λ through tells λ² of it.

    `shared` is the information on a difference that all attributes share, for each attribute; `apart` that on a
    difference between attributes; `pivot_guess` how often the best guess of the pivot is right.
    """

    shared: Floats
    apart: Floats
    pivot_guess: Floats


def told(copy_probability: Floats, attributes: int, size: int, *, whole: bool = True) -> Told | None:
    """What reports tell, whole or attribute by attribute, or None where there are too many kinds of them."""
    kinds = _whole(copy_probability, attributes, size)
    if kinds is None or whole:
        return kinds
    p = copy_probability
    copied = (size * p - 1) / (size - 1)
    through_third = p**2 + (1 - p) ** 2 / (size - 1)
    agree = 2 / attributes * p + (1 - 2 / attributes) * through_third
    together = (size * agree - 1) / (size - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shared = size * (1 + (attributes - 1) * copied) ** 2 / (1 + (attributes - 1) * together) / attributes**2
        apart = size * (1 - copied) ** 2 / (1 - together) / attributes**2
    return Told(np.nan_to_num(shared), np.nan_to_num(apart), kinds.pivot_guess)


def _whole(copy_probability: Floats, attributes: int, size: int) -> Told | None:
    partitions = _partitions(attributes, size)
    if partitions is None:
        return None
    shares, log_times = partitions
    with np.errstate(divide="ignore"):
        log_p = np.log(copy_probability)[:, None, None]
        log_q = np.log((1 - copy_probability) / (size - 1))[:, None, None]
    present = shares > 0
    # log of the probability that the fills give the rest, if the pivot has a value that so many attributes share
    log_rest = _times(shares - 1, log_p) + _times(attributes - shares, log_q)
    log_rest = np.where(present, log_rest, -np.inf)
    largest = log_rest.max(axis=2)
    possible = np.isfinite(largest)
    rest = np.exp(log_rest - np.where(possible, largest, 0)[:, :, None])
    times = np.where(possible, np.exp(log_times + np.where(possible, largest, 0)), 0)
    total = np.where(possible, (shares * rest).sum(axis=2), 1)
    squares = (shares * rest**2).sum(axis=2)
    same_pairs = (shares * (shares - 1) * rest**2).sum(axis=2)
    other_pairs = total**2 - (shares**2 * rest**2).sum(axis=2)
    own = (times * squares / total).sum(axis=1) / attributes**2
    same = (times * same_pairs / total).sum(axis=1) / attributes**2 / max(attributes - 1, 1)
    other = (times * other_pairs / total).sum(axis=1) / attributes**2 / max(attributes - 1, 1) / (size - 1)
    cross = same - other
    return Told(
        shared=own + (attributes - 1) * cross,
        apart=np.maximum(own - cross, 0),
        pivot_guess=times.sum(axis=1) / (size * attributes),
    )


def _times(many: Floats, log: Floats) -> Floats:
    """Many · log, where 0 · log 0 is 0."""
    with np.errstate(invalid="ignore"):
        product: Floats = np.where(many == 0, 0.0, many * log)
    return product


@lru_cache(maxsize=32)
def _partitions(attributes: int, size: int) -> tuple[Floats, Floats] | None:
    """Every way to share values (row: how many attributes share each value), and log how many reports do it."""
    rows = []
    for parts in _split(attributes, size, attributes):
        rows.append(parts + [0] * (size - len(parts)))
        if len(rows) > MAX_PARTITIONS:
            return None
    times = [_reports_of(row, attributes) for row in rows]
    return np.array(rows, dtype=float), np.array([log(count) for count in times])


def _split(total: int, parts: int, largest: int) -> Iterator[list[int]]:
    """The partitions of a number into at most so many parts, none larger than the largest."""
    if total == 0:
        yield []
        return
    if parts == 0:
        return
    for first in range(min(total, largest), 0, -1):
        if first * parts < total:
            return
        for rest in _split(total - first, parts - 1, first):
            yield [first, *rest]


def _reports_of(row: list[int], attributes: int) -> int:
    """How many reports share values in this way: who is with whom, and which value each group has."""
    ways = factorial(attributes) * factorial(len(row))
    for shared in row:
        ways //= factorial(shared)
    for shared in set(row):
        ways //= factorial(row.count(shared))
    return ways
