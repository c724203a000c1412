"""The way back through a mechanism: a linear map from reported frequencies to true ones.

It takes what uniform answers would give to uniform, and every difference from that linearly to a difference. Where the
reports of different frequencies have the same law there is no way back; `known` says for which attributes there is one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from privtally.mechanisms import Mechanism, Pivot, Sample, Split, operator_matrix

Floats = NDArray[np.float64]

SINGULAR = 1e6
"""A condition number from which on an operator cannot be undone in floating point with any use."""


class Inverse(Protocol):
    """true = uniform + back · (reported − start), attribute by attribute."""

    @property
    def start(self) -> Sequence[Floats]:
        """The frequencies that uniform answers would be reported with."""
        ...

    @property
    def known(self) -> Sequence[bool]:
        """Which attributes' frequencies the reports determine."""
        ...

    @property
    def condition(self) -> float:
        """How hard the attributes are to tell apart: 1 is not hard at all."""
        ...

    def apply(self, reported: Sequence[Floats]) -> list[Floats]:
        """The true frequencies behind reported ones."""
        ...

    def back(self, own: int) -> list[Floats]:
        """For each attribute the matrix (own label, its label): what a reported label adds to a frequency."""
        ...


@dataclass(frozen=True)
class ByLabel:
    """Where each label is reported by itself: one small matrix over attributes serves every label."""

    weights: Floats
    start: Sequence[Floats]
    known: Sequence[bool]
    condition: float

    def apply(self, reported: Sequence[Floats]) -> list[Floats]:
        frequencies = [np.full(len(start), 1 / len(start)) for start in self.start]
        for one, (seen, start) in enumerate(zip(reported, self.start, strict=True)):
            for own in np.flatnonzero(self.weights[:, one]):
                frequencies[own] += self.weights[own, one] * (seen - start)
        return frequencies

    def back(self, own: int) -> list[Floats]:
        sizes = [len(start) for start in self.start]
        return [weight * np.eye(sizes[own], size) for weight, size in zip(self.weights[own], sizes, strict=True)]


@dataclass(frozen=True)
class ByTable:
    """Any fills: the whole matrix, attributes laid end to end."""

    matrix: Floats
    start: Sequence[Floats]
    known: Sequence[bool]
    condition: float

    @property
    def bounds(self) -> Any:
        """Where one attribute ends and the next begins."""
        return np.cumsum([len(start) for start in self.start])[:-1]

    def apply(self, reported: Sequence[Floats]) -> list[Floats]:
        uniform = np.concatenate([np.full(len(start), 1 / len(start)) for start in self.start])
        return np.split(uniform + self.matrix @ (np.concatenate(reported) - np.concatenate(self.start)), self.bounds)

    def back(self, own: int) -> list[Floats]:
        return np.split(np.split(self.matrix, self.bounds)[own], self.bounds, axis=1)


def inverse_of(mechanism: Mechanism) -> ByLabel | ByTable:
    """The way back through a mechanism; SMP's starts from the answers of those who were asked."""
    match mechanism:
        case Split(channels) | Sample(channels):
            weights = np.diag([1 / float(channel.scale) for channel in channels])
            return ByLabel(weights, _uniform(mechanism.sizes), [True] * len(channels), 1.0)
        case Pivot() as pivot:
            scales = pivot.scales()
            return _by_table(pivot) if scales is None else _by_label(pivot, scales)
        case _:
            raise TypeError(f"no inverse for {type(mechanism).__name__}")


def _by_label(mechanism: Pivot, scales: Floats) -> ByLabel:
    """reported_j = Σ_s Λ[j, s] · f_s + constant, solved for f."""
    own_scales = np.diag(scales)
    inverse, known, condition = _pseudo_inverse(scales / own_scales)
    start = mechanism.expect(_uniform(mechanism.sizes))
    return ByLabel(inverse / own_scales[:, None], start, [bool(is_known) for is_known in known], condition)


def _by_table(mechanism: Pivot) -> ByTable:
    """The operator undone between the spaces in which every attribute sums to nothing."""
    sizes = mechanism.sizes
    basis = zero_sum_basis(sizes)
    operator = operator_matrix(mechanism).T
    shares = np.repeat([float(channel.scale) / len(sizes) for channel in mechanism.channels], np.array(sizes) - 1)
    inverse, _, condition = _pseudo_inverse(basis.T @ operator @ basis / shares)
    matrix = basis @ (inverse / shares[:, None]) @ basis.T
    identified = np.split(np.abs(matrix @ operator @ basis - basis).max(axis=1) < 1e-6, np.cumsum(sizes)[:-1])
    return ByTable(matrix, mechanism.expect(_uniform(sizes)), [bool(rows.all()) for rows in identified], condition)


def _uniform(sizes: Sequence[int]) -> list[Floats]:
    return [np.full(size, 1 / size) for size in sizes]


def _pseudo_inverse(matrix: Floats) -> tuple[Floats, NDArray[np.bool_], float]:
    """The inverse as far as there is one, which unknowns it determines, and the condition number.

    Columns come divided by what each attribute's own channel lets through, so that the condition says how far the
    attributes can be told apart, and nothing of how noisy each one is.
    """
    singular = np.linalg.svd(matrix, compute_uv=False)
    condition = float(singular[0] / singular[-1]) if singular[-1] > 0 else float("inf")
    inverse = np.linalg.pinv(matrix, rcond=1 / SINGULAR).astype(np.float64)
    known: NDArray[Any] = np.abs(inverse @ matrix - np.eye(len(matrix))).max(axis=1) < 1e-6
    return inverse, known, condition


def zero_sum_basis(sizes: Sequence[int]) -> Floats:
    """Orthonormal columns that span the vectors in which each attribute's part sums to 0."""
    basis = np.zeros((sum(sizes), sum(sizes) - len(sizes)))
    row = column = 0
    for size in sizes:
        ones_first = np.column_stack([np.ones(size), np.eye(size)[:, 1:]])
        basis[row : row + size, column : column + size - 1] = np.linalg.qr(ones_first)[0][:, 1:]
        row, column = row + size, column + size - 1
    return basis
