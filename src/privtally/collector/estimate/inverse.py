"""The way back through a part: a linear map from observed frequencies to true ones.

Observed is, for each label, the share of reports with a code of its set, among those that are not silent about the
attribute; with randomized response a label's set is the label itself. The inverse takes what uniform
answers would give to uniform, and every difference from that linearly to a difference. Where the reports of different
frequencies have the same law there is no way back; `known` says for which attributes there is one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privtally.errors import EstimateError
from privtally.exact.arrays import Floats
from privtally.mechanisms import Part, independent

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
        uniform = [np.full(len(start), 1 / len(start)) for start in self.start]
        return _mapped(self.weights, observed, self.start, uniform)

    def back(self, own: int) -> list[Floats]:
        """For each attribute the matrix (own label, its label): what an observed share adds to a frequency."""
        sizes = [len(start) for start in self.start]
        return [
            weight * np.eye(sizes[own], size) if weight else np.broadcast_to(0.0, (sizes[own], size))
            for weight, size in zip(self.weights[own], sizes, strict=True)
        ]


def _mapped(
    weights: Floats, given: Sequence[Floats], origin: Sequence[Floats], image: Sequence[Floats]
) -> list[Floats]:
    """Image + weights · (given − origin), label by label."""
    found = [own.copy() for own in image]
    for one, (seen, start) in enumerate(zip(given, origin, strict=True)):
        for own in np.flatnonzero(weights[:, one]):
            found[own] += weights[own, one] * (seen - start)
    return found


@dataclass(frozen=True)
class ByTable:
    """The same for any channels and fills: the whole matrix, attributes laid end to end."""

    matrix: Floats
    sizes: Sequence[int]
    start: Sequence[Floats]
    known: Sequence[bool]
    condition: float

    def apply(self, observed: Sequence[Floats]) -> list[Floats]:
        uniform = np.concatenate([np.full(size, 1 / size) for size in self.sizes])
        found = uniform + self.matrix @ (np.concatenate(observed) - np.concatenate(self.start))
        return np.split(found, ends(self.sizes))

    def back(self, own: int) -> list[Floats]:
        rows = np.split(self.matrix, ends(self.sizes))[own]
        return np.split(rows, ends([len(start) for start in self.start]), axis=1)


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
    return ByLabel(inverse / own[:, None], start, [bool(each) for each in known], condition)


def operator_of(part: Part) -> Floats:
    """The matrix from true to observed frequencies, attributes laid end to end."""
    units = np.split(np.eye(sum(part.sizes)), ends(part.sizes), axis=1)
    operator: Floats = np.hstack(part.observe(independent(units))).T
    return operator


def _by_table(part: Part, start: Sequence[Floats]) -> ByTable:
    """The operator undone between the spaces in which every attribute sums to nothing."""
    sizes = part.sizes
    true = zero_sum_basis(sizes)
    operator = operator_of(part)
    own = [(channel.same - channel.other) / channel.total for channel in part.asked]
    columns = np.repeat(own, np.array(sizes) - 1)
    inverse, _, condition = _pseudo_inverse(operator @ true / columns)
    matrix = true @ (inverse / columns[:, None])
    identified = np.split(np.abs(matrix @ operator @ true - true).max(axis=1) < 1e-6, ends(sizes))
    return ByTable(matrix, sizes, start, [bool(rows.all()) for rows in identified], condition)


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
    """Orthonormal columns that span the vectors of this length that sum to 0."""
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
