"""The Fisher information in Corr-RR reports at uniform answers, and the chance of naming a report's pivot.

Information is stated for a private answer that is kept with certainty; multiply by λ² for randomized response of scale
λ. At uniform answers only the pattern of equal values in a report matters. With one copy probability for all pairs the
patterns are the partitions of the number of attributes. Directed copies stay within small groups, with one probability
to the next attribute and another to the one before; all other fills are even, and patterns are counted by group.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise, product
from math import factorial, lgamma, perm, prod

import numpy as np
from numpy.typing import NDArray

from privtally.exact.arrays import Floats

MAX_PARTITIONS = 5_000
"""Schemas with more partitions than this are not analysed."""


@dataclass(frozen=True)
class CopyInformation:
    """The information of one report for each of an array of copy probabilities.

    `common` is the information on a difference that all attributes share, for each attribute, `contrast` that on a
    difference between attributes, and `pivot_guess` the probability that the best guess of the pivot is right.
    """

    common: Floats
    contrast: Floats
    pivot_guess: Floats


@dataclass(frozen=True)
class DirectedInformation:
    """The same for an array of pairs of probabilities; `groups` has the information matrix of each group, attribute by
    attribute, and between groups it is 0.
    """

    groups: tuple[Floats, ...]
    pivot_guess: Floats


def copy_information(p: Floats, attributes: int, size: int, *, whole: bool = True) -> CopyInformation | None:
    """The information of whole reports or of their marginals, for one copy probability p for all pairs; None where
    there are too many partitions.
    """
    of_whole = _whole_reports(p, attributes, size)
    if of_whole is None or whole:
        return of_whole
    copied = (size * p - 1) / (size - 1)
    correlation = 2 / attributes * copied + (1 - 2 / attributes) * copied**2
    with np.errstate(divide="ignore", invalid="ignore"):
        common = size * (1 + (attributes - 1) * copied) ** 2 / (1 + (attributes - 1) * correlation) / attributes**2
        contrast = size * (1 - copied) ** 2 / (1 - correlation) / attributes**2
    return CopyInformation(np.nan_to_num(common), np.nan_to_num(contrast), of_whole.pivot_guess)


def _whole_reports(p: Floats, attributes: int, size: int) -> CopyInformation | None:
    partitions = _partitions(attributes, size)
    if partitions is None:
        return None
    shares, log_reports = partitions
    with np.errstate(divide="ignore"):
        log_p, log_q = np.log(p)[:, None, None], np.log((1 - p) / (size - 1))[:, None, None]
    # The logarithm of the fills' probability if the pivot's value has this share (probability, partition, value).
    log_fills = np.where(shares > 0, _times(shares - 1, log_p) + _times(attributes - shares, log_q), -np.inf)
    possible = np.isfinite(log_fills.max(axis=2))
    largest = np.where(possible, log_fills.max(axis=2), 0)
    fills = np.exp(log_fills - largest[:, :, None])
    reports = np.where(possible, np.exp(log_reports + largest), 0) / attributes**2
    total = np.where(possible, (shares * fills).sum(axis=2), 1)
    own = (reports * (shares * fills**2).sum(axis=2) / total).sum(axis=1)
    equal = (reports * (shares * (shares - 1) * fills**2).sum(axis=2) / total).sum(axis=1)
    unequal = (reports * (total - (shares**2 * fills**2).sum(axis=2) / total)).sum(axis=1)
    cross = (equal - unequal / (size - 1)) / max(attributes - 1, 1)
    return CopyInformation(
        common=own + (attributes - 1) * cross,
        contrast=np.maximum(own - cross, 0),
        pivot_guess=reports.sum(axis=1) * attributes / size,
    )


def _times(number: Floats, log: Floats) -> Floats:
    """Number · log, where 0 · log 0 is 0."""
    with np.errstate(invalid="ignore"):
        product: Floats = np.where(number == 0, 0.0, number * log)
    return product


@lru_cache(maxsize=32)
def _partitions(attributes: int, size: int) -> tuple[Floats, Floats] | None:
    """The partitions of the attributes by value (row: how many attributes have each value), and the logarithm of the
    number of reports of each.
    """
    rows: list[list[int]] = []
    log_reports = []
    for parts in _split(attributes, min(size, attributes), attributes):
        if len(rows) == MAX_PARTITIONS:
            return None
        rows.append(parts + [0] * (min(size, attributes) - len(parts)))
        counts = [size - len(parts), *(parts.count(part) for part in set(parts))]
        log_ways = lgamma(attributes + 1) + lgamma(size + 1)
        log_reports.append(log_ways - sum(lgamma(count + 1) for count in (*parts, *counts)))
    return np.array(rows, dtype=float), np.array(log_reports)


def _split(total: int, parts: int, largest: int) -> Iterator[list[int]]:
    """The partitions of a number into at most this many parts, none larger than the largest."""
    if total == 0:
        yield []
        return
    for first in range(min(total, largest), 0, -1):
        if first * parts < total:
            return
        for rest in _split(total - first, parts - 1, first):
            yield [first, *rest]


def group_sizes(attributes: int, most: int) -> list[int]:
    """The sizes of groups of at most this many attributes."""
    return [min(most, attributes - start) for start in range(0, attributes, most)]


def directed_copies(forward: float, backward: float, even: float, attributes: int, most: int) -> Floats:
    """copy_probability[pivot][other]: `forward` to the next attribute of the group, `backward` to the one before,
    `even` elsewhere.
    """
    matrix = np.full((attributes, attributes), even)
    for group, members in enumerate(group_sizes(attributes, most)):
        for pivot, other, is_next in _pairs(members):
            matrix[group * most + pivot, group * most + other] = forward if is_next else backward
    np.fill_diagonal(matrix, 1.0)
    return matrix


def directed_information(
    forward: Floats, backward: Floats, attributes: int, size: int, most: int, *, whole: bool = True
) -> DirectedInformation:
    """The information of whole reports or of their marginals, for groups of at most two or three attributes."""
    sizes = group_sizes(attributes, most)
    patterns = {members: _Patterns.of(forward, backward, members, size) for members in set(sizes)}
    guess = np.zeros(len(forward))
    for probability, _, largest in _sums(patterns, sizes):
        guess += probability * largest / attributes
    if whole:
        found = {members: _whole_group(patterns, members, sizes, attributes, size) for members in patterns}
    else:
        found = {members: _marginal_group(forward, backward, members, attributes, size) for members in patterns}
    return DirectedInformation(tuple(found[members] for members in sizes), guess)


def _pairs(members: int) -> Iterator[tuple[int, int, bool]]:
    """Ordered pairs of a group, and whether the second comes next: after the third comes the first."""
    for pivot in range(members):
        for other in range(members):
            if pivot != other:
                yield pivot, other, pivot < other if members == 2 else (other - pivot) % members == 1


@dataclass(frozen=True)
class _Patterns:
    """The patterns of equal values in a group.

    `probability[pattern]` is that of uniform values, `distinct[pattern]` the number of values less 1, `equal[pattern]`
    says which members agree, and `ratio[choice, pattern, member]` is the pattern's probability if the member is the
    pivot, divided by that of even fills.
    """

    probability: Floats
    distinct: NDArray[np.int64]
    equal: NDArray[np.bool_]
    ratio: Floats

    @classmethod
    def of(cls, forward: Floats, backward: Floats, members: int, size: int) -> "_Patterns":
        patterns = [pattern for pattern in _equalities(members) if max(pattern) < size]
        codes = np.array(patterns)
        equal = codes[:, :, None] == codes[:, None, :]
        ratio = np.ones((len(forward), len(patterns), members))
        for pivot, other, is_next in _pairs(members):
            copy = (forward if is_next else backward)[:, None]
            ratio[:, :, pivot] *= size * np.where(equal[:, pivot, other], copy, (1 - copy) / (size - 1))
        probability = np.array([perm(size, max(pattern) + 1) / size**members for pattern in patterns])
        return cls(probability, codes.max(axis=1), equal, ratio)


def _equalities(members: int) -> Iterator[tuple[int, ...]]:
    """The patterns: each member has the value of an earlier one, or the next new value."""
    for values in product(range(members), repeat=members):
        if all(value <= max(values[:place], default=-1) + 1 for place, value in enumerate(values)):
            yield values


def _sums(patterns: dict[int, _Patterns], sizes: list[int]) -> Iterator[tuple[float, Floats, Floats]]:
    """Over all patterns of groups of these sizes: the probability with even fills, and for each choice the sum and the
    largest of the ratios of all members.
    """
    if not sizes:
        yield 1.0, np.zeros(1), np.zeros(1)
        return
    members = sizes[-1]
    own, groups = patterns[members], sizes.count(members)
    # Patterns with the same number of distinct values are rotations of each other.
    probabilities = np.bincount(own.distinct, own.probability)
    first = [int(np.argmax(own.distinct == each)) for each in range(len(probabilities))]
    total, largest = own.ratio[:, first].sum(axis=2), own.ratio[:, first].max(axis=2)
    for probability, others_total, others_largest in _sums(patterns, [each for each in sizes if each != members]):
        for counts in _compositions(groups, len(probabilities)):
            ways = factorial(groups) // prod(map(factorial, counts))
            chance = ways * float(np.prod(probabilities ** np.array(counts)))
            top = np.maximum(np.where(np.array(counts) > 0, largest, 0).max(axis=1), others_largest)
            yield chance * probability, total @ np.array(counts, dtype=float) + others_total, top


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Every way to write a number as an ordered sum of numbers from 0 up."""
    for bars in combinations(range(total + parts - 1), parts - 1):
        yield tuple(end - start - 1 for start, end in pairwise((-1, *bars, total + parts - 1)))


def _whole_group(patterns: dict[int, _Patterns], members: int, sizes: list[int], attributes: int, size: int) -> Floats:
    """The information of whole reports on one group of this many members, over the patterns of the others."""
    own, others = patterns[members], list(sizes)
    others.remove(members)
    total = own.ratio.sum(axis=2)
    inverse = np.zeros_like(total)
    for probability, beside, _ in _sums(patterns, others):
        everything = total + np.reshape(beside, (-1, 1))
        inverse += probability * np.divide(1.0, everything, out=np.zeros_like(everything), where=everything > 0)
    weights = own.probability * inverse * size**2 / attributes
    agreement = (own.equal - 1 / size) / (size - 1)
    information: Floats = np.einsum("cw,cwi,cwj,wij->cij", weights, own.ratio, own.ratio, agreement, optimize=True)
    return information


def _marginal_group(forward: Floats, backward: Floats, members: int, attributes: int, size: int) -> Floats:
    """The information of the marginals of one group's attributes."""
    through = np.zeros((len(forward), members, members))
    for pivot, other, is_next in _pairs(members):
        through[:, pivot, other] = (size * (forward if is_next else backward) - 1) / (size - 1)
    through += np.eye(members)
    # Reported values are correlated through each pivot; a pivot in another group leaves them independent.
    spread = (through.transpose(0, 2, 1) @ through) / attributes
    spread[:, range(members), range(members)] = 1.0
    solved = np.linalg.solve(spread, through.transpose(0, 2, 1))
    return np.asarray(size / attributes**2 * through @ solved)
