"""Several hidden pivots: the tables of as many attributes as a report answers, from whole reports.

With m pivots in a branch the law of a sub-report is linear in the joint distributions of m attributes. These are
written as a sum over all sets of at most m attributes, each with a term whose margins are 0:

    table of S = Σ over U ⊆ S  (term of U) ⊗ (uniform on the others),      P(report) = P₀(report) + G(report) · terms

where P₀ is the law at uniform answers. So all tables agree with each other. The terms are estimated by the score at
uniform answers, s = G / P₀: its mean over reports is M · terms, where M = Σ G Gᵀ / P₀ over all sub-reports is the
information of one report. M⁻¹ · (mean of s) is therefore unbiased whatever the answers are, and its covariance is that
of one report's s, carried back and divided by the number of reports. One imaginary report at uniform answers keeps
every variance above zero; its second moment is M.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import chain, combinations
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privtally.documents.counts import SubReports
from privtally.errors import EstimateError
from privtally.exact.types import Floats, Integers
from privtally.mechanisms.fills import Places
from privtally.mechanisms.mechanism import Joint, Part, independent


def project_to_simplex(values: Floats) -> Floats:
    """The non-negative values that sum to 1 and lie nearest to the given ones (Euclidean).

    The projection subtracts one number from all and clips at 0; that number follows from the sorted values
    (Held, Wolfe and Crowder 1974). The largest value is subtracted first, so that large ones do not swallow the 1.
    """
    values = values - values.max()
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(values) + 1)
    last = np.flatnonzero(falling > excess)[-1]
    projected: Floats = np.maximum(values - excess[last], 0)
    return projected


MOST_CONDITION = 1e6
"""A condition number from which on an operator cannot be undone in floating point with any use."""


@dataclass(frozen=True)
class ByLabel:
    """Where each label is reported by itself: one small matrix over attributes serves every label.

    `start` are the frequencies that uniform answers would be observed with, `known` says which attributes' frequencies
    the reports determine, and `condition` is the operator's condition number, 1 where each is observed by itself.
    """

    weights: Floats
    start: Sequence[Floats]
    known: Sequence[bool]
    condition: float

    def apply(self, observed: Sequence[Floats]) -> list[Floats]:
        """The true frequencies behind observed ones."""
        found = [np.full(len(start), 1 / len(start)) for start in self.start]
        for own, one in np.argwhere(self.weights):
            found[own] += self.weights[own, one] * (observed[one] - self.start[one])
        return found

    def back(self, own: int) -> list[Floats]:
        """For each attribute the matrix (own label, its label): what an observed share adds to a frequency."""
        sizes = [len(start) for start in self.start]
        return [
            weight * np.eye(sizes[own], size) if weight else np.broadcast_to(0.0, (sizes[own], size))
            for weight, size in zip(self.weights[own], sizes, strict=True)
        ]


@dataclass(frozen=True)
class ByTable:
    """The same for any channels and fills: the whole matrix, attributes laid end to end."""

    matrix: Floats
    start: Sequence[Floats]
    known: Sequence[bool]
    condition: float

    def apply(self, observed: Sequence[Floats]) -> list[Floats]:
        uniform = np.concatenate([np.full(len(start), 1 / len(start)) for start in self.start])
        found = uniform + self.matrix @ (np.concatenate(observed) - np.concatenate(self.start))
        return np.split(found, ends([len(start) for start in self.start]))

    def back(self, own: int) -> list[Floats]:
        places = ends([len(start) for start in self.start])
        return np.split(np.split(self.matrix, places)[own], places, axis=1)


Inverse = ByLabel | ByTable


def inverse_of(part: Part) -> Inverse:
    """The way back through a part."""
    if not part.linear:
        raise EstimateError("with several hidden pivots the reports say nothing about one attribute by itself")
    start = part.observe(independent([np.full(size, 1 / size) for size in part.sizes]))
    scales = part.scales()
    if scales is None:
        return _by_table(part, start)
    own = np.diag(scales)
    inverse, known, condition = _pseudo_inverse(scales / own)
    return ByLabel(inverse / own[:, None], start, known.tolist(), condition)


def units_of(sizes: Sequence[int]) -> Joint:
    """For each label of every attribute all of the people: a linear law of these is its matrix."""
    return independent(np.split(np.eye(sum(sizes)), ends(sizes), axis=1))


def _by_table(part: Part, start: Sequence[Floats]) -> ByTable:
    """The operator undone between the spaces in which every attribute sums to nothing."""
    sizes = part.sizes
    true = zero_sum_basis(sizes)
    operator = np.hstack(part.observe(units_of(sizes))).T
    own = [(channel.same - channel.other) / channel.total for channel in part.asked]
    columns = np.repeat(own, np.array(sizes) - 1)
    inverse, _, condition = _pseudo_inverse(operator @ true / columns)
    matrix = true @ (inverse / columns[:, None])
    identified = np.split(np.abs(matrix @ operator @ true - true).max(axis=1) < 1e-6, ends(sizes))
    return ByTable(matrix, start, [bool(rows.all()) for rows in identified], condition)


def _pseudo_inverse(matrix: Floats) -> tuple[Floats, NDArray[np.bool_], float]:
    """The inverse as far as there is one, which unknowns it determines, and the condition number.

    Columns come divided by what each attribute's own channel lets through, so that the condition says how far the
    attributes can be told apart, and nothing of how noisy each one is.
    """
    singular = np.linalg.svd(matrix, compute_uv=False)
    condition = float(singular[0] / singular[-1]) if singular[-1] > 0 else float("inf")
    inverse = np.linalg.pinv(matrix, rcond=1 / MOST_CONDITION).astype(np.float64)
    known: NDArray[Any] = np.abs(inverse @ matrix - np.eye(matrix.shape[1])).max(axis=1) < 1e-6
    return inverse, known, condition


def ends(sizes: Sequence[int]) -> NDArray[Any]:
    """Where one attribute ends and the next begins, attributes laid end to end."""
    return np.cumsum(sizes)[:-1]


def zero_sum_basis(sizes: Sequence[int]) -> Floats:
    """Orthonormal columns that span the vectors in which each attribute's part sums to 0."""
    return block_diagonal([_zero_sums(size) for size in sizes])


@lru_cache(maxsize=16)
def _zero_sums(size: int) -> Floats:
    basis: Floats = np.linalg.qr(np.column_stack([np.ones(size), np.eye(size)[:, 1:]]))[0][:, 1:]
    return basis


def block_diagonal(blocks: Sequence[Floats]) -> Floats:
    """The blocks along the diagonal, nothing elsewhere."""
    whole = np.zeros((sum(len(block) for block in blocks), sum(block.shape[1] for block in blocks)))
    row = column = 0
    for block in blocks:
        whole[row : row + len(block), column : column + block.shape[1]] = block
        row, column = row + len(block), column + block.shape[1]
    return whole


MOST_ENTRIES = 1 << 23
"""The most entries of the matrix from terms to the probabilities of sub-reports."""


@dataclass(frozen=True)
class Terms:
    """The terms of all sets of at most m attributes, laid end to end, and their covariance.

    `identified` says which of them the reports determine, and `condition` is the square root of the information's
    condition number, as that of an operator.
    """

    sizes: tuple[int, ...]
    pivots: int
    values: Floats
    covariance: Floats
    identified: Floats
    condition: float
    reports: int

    def frequencies(self, places: Places) -> Floats:
        """The joint frequencies of some attributes: unbiased, and possibly negative."""
        shape = [self.sizes[own] for own in places]
        found: Floats = 1 / prod(shape) + table_matrix(self.sizes, self.pivots, places) @ self.values
        return found.reshape(shape)

    def between(self, places: Places, others: Places) -> Floats:
        """The covariance of the joint frequencies of some attributes with those of others, row after row."""
        first, second = (table_matrix(self.sizes, self.pivots, each) for each in (places, others))
        covariance: Floats = first @ self.covariance @ second.T
        return covariance

    def known(self, own: int) -> bool:
        """Whether the reports determine the frequencies of an attribute."""
        start = sum(size - 1 for size in self.sizes[:own])  # the terms of single attributes come first
        return bool(self.identified[start : start + self.sizes[own] - 1].all())


def table_matrix(sizes: Sequence[int], pivots: int, places: Places) -> Floats:
    """The matrix from terms to the cells of the table of some attributes, row after row."""
    basis = [(np.full((size, 1), 1 / size), zero_sum_basis([size])) for size in sizes]
    blocks = [
        reduce(np.kron, (basis[own][own in term] for own in places))
        if set(term) <= set(places)
        else np.zeros((prod(sizes[own] for own in places), _width(sizes, term)))
        for term in _sets(len(sizes), pivots)
    ]
    return np.hstack(blocks)


def readable(sizes: Sequence[int], pivots: int) -> bool:
    """Whether the matrices of several hidden pivots of these attributes are small enough."""
    if prod(sizes) > MOST_ENTRIES:
        return False
    return prod(sizes) * sum(_width(sizes, each) for each in _sets(len(sizes), pivots)) <= MOST_ENTRIES


def check_readable(sizes: Sequence[int], pivots: int) -> None:
    """Refuse attributes for which the matrices of several hidden pivots would be too large."""
    if not readable(sizes, pivots):
        raise EstimateError(
            f"{pivots} questions a report (pivots) with {', '.join(map(str, sizes))} answers cannot be read: "
            "there are too many different reports; use smaller groups, one question a report, or smp"
        )


def _sets(attributes: int, pivots: int) -> list[Places]:
    return list(chain.from_iterable(combinations(range(attributes), size) for size in range(1, pivots + 1)))


def _width(sizes: Sequence[int], each: Places) -> int:
    return prod(sizes[own] - 1 for own in each)


@lru_cache(maxsize=16)
def terms_of(part: Part, subs: SubReports) -> Terms:
    """What the sub-reports of a part with several hidden pivots say."""
    known = information(part)
    scale = np.sqrt(np.where(known.diagonal() > 0, known.diagonal(), 1.0))
    normal = known / np.outer(scale, scale)
    inverse = np.linalg.pinv(normal, rcond=MOST_CONDITION**-2, hermitian=True)
    values = np.linalg.eigvalsh(normal)
    base, slopes = _law(part, subs.codes)
    possible = base > 0
    scores, times = slopes[possible] / base[possible, None] / scale, subs.times[possible]
    reports = int(times.sum())
    mean = times @ scores / reports
    second = ((scores.T * times) @ scores + normal) / (reports + 1)
    spread = inverse @ (second - np.outer(mean, mean)) @ inverse / reports
    return Terms(
        sizes=part.sizes,
        pivots=part.pivots,
        values=inverse @ mean / scale,
        covariance=spread / np.outer(scale, scale),
        identified=np.abs(inverse @ normal - np.eye(len(normal))).max(axis=1) < 1e-6,
        condition=float(np.sqrt(values[-1] / values[0])) if values[0] > 0 else float("inf"),
        reports=reports,
    )


@lru_cache(maxsize=16)
def information(part: Part) -> Floats:
    """The information of one sub-report about the terms, at uniform answers."""
    check_readable(part.sizes, part.pivots)
    base, slopes = _law(part, np.array(list(part.reports())))
    possible = base > 0
    weighted = slopes[possible] / np.sqrt(base[possible, None])
    found: Floats = weighted.T @ weighted
    return found


def _law(part: Part, codes: Integers) -> tuple[Floats, Floats]:
    """The probability of sub-reports at uniform answers, and its derivatives by the terms."""
    uniform = [channel.push(np.full(size, 1 / size)) for channel, size in zip(part.asked, part.sizes, strict=True)]
    inside = [channel.push(zero_sum_basis([size]).T).T for channel, size in zip(part.asked, part.sizes, strict=True)]
    rests = {branch: _rest(part, branch, codes) / len(part.branches) for branch in part.branches}
    codes = np.minimum(codes, np.array(part.answers) - 1)  # a branch that asks what is not shown has no weight

    def weight(each: Places) -> Floats:
        total = np.zeros(len(codes))
        for branch, rest in rests.items():
            if set(each) <= set(branch):
                total += rest * prod((uniform[own][codes[:, own]] for own in branch if own not in each), start=1.0)
        return total

    blocks = []
    for each in _sets(len(part.attributes), part.pivots):
        block = weight(each)[:, None]
        for own in each:
            block = (block[:, :, None] * inside[own][codes[:, own]][:, None, :]).reshape(len(codes), -1)
        blocks.append(block)
    return weight(()), np.hstack(blocks)


def _rest(part: Part, branch: Places, codes: Integers) -> Floats:
    """The probability that the fills give the rest of each sub-report, given the branch and its private codes."""
    answers = [part.answers[own] for own in branch]
    shown = codes < np.array(part.answers)
    found: Floats = np.asarray(shown[:, list(branch)].all(axis=1)) / comb(
        len(part.attributes) - part.pivots, part.decoys
    )
    codes = np.minimum(codes, np.array(part.answers) - 1)
    given = np.ravel_multi_index(tuple(codes[:, list(branch)].T), answers)
    for other in part.others(branch):
        if part.fill is not None and part.fill.conditional:
            filled = part.filling(branch, other).push(np.eye(prod(answers)))[given, codes[:, other]]
        else:
            filled = part.decoy_law(other)[codes[:, other]]
        found *= np.where(shown[:, other], filled, 1.0)
    return found
