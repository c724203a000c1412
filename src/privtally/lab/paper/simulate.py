"""The counts of each attribute in many simulated campaigns at once, sampled exactly and without users.

People with the same record, pivot and private pivot behave alike, so multinomials over those groups have exactly the
law that counting users one by one would have. The first axis of every array is the run; the cost depends on the number
of different records and not on the number of people.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privtally.lab.population import Floats, Tensor, marginals

Fills = Sequence[Sequence[Floats | None]]
"""fills[pivot][other]: the channel's matrix (pivot code, other code), with a run axis in front where runs differ."""


def response_matrix(scale: float, size: int) -> Floats:
    """Randomized response as a matrix: λ·identity plus a constant."""
    return scale * np.eye(size) + (1 - scale) / size


def copy_matrix(copy_probability: NDArray[Any], size: int) -> Floats:
    """Copying as a matrix, for each of an array of copy probabilities."""
    p = np.asarray(copy_probability, dtype=float)[..., None, None]
    matrix: Floats = p * np.eye(size) + (1 - p) / (size - 1) * (1 - np.eye(size))
    return matrix


def push(counts: Tensor, matrix: Floats, generator: np.random.Generator) -> Tensor:
    """Pass counts (…, input) through a channel: (…, input, output) of those who went each way."""
    return generator.multinomial(counts, np.broadcast_to(matrix, (*counts.shape, matrix.shape[-1])))


def spl_one_way(tables: Tensor, scales: Sequence[float], generator: np.random.Generator) -> list[Tensor]:
    """Each attribute's counts of SPL reports. Given the records, attributes are randomised independently."""
    return [
        push(margin, response_matrix(scale, margin.shape[-1]), generator).sum(axis=-2)
        for margin, scale in zip(marginals(tables), scales, strict=True)
    ]


def private_pivots(tables: Tensor, scales: Sequence[float], generator: np.random.Generator) -> list[Tensor]:
    """For each pivot the counts of its private codes, everybody having one pivot."""
    attributes = tables.ndim - 1
    by_pivot = generator.multinomial(tables, np.full(attributes, 1 / attributes))
    chosen = [marginals(by_pivot[..., pivot])[pivot] for pivot in range(attributes)]
    return [
        push(margin, response_matrix(scale, margin.shape[-1]), generator).sum(axis=-2)
        for margin, scale in zip(chosen, scales, strict=True)
    ]


def pivot_one_way(private: Sequence[Tensor], fills: Fills, generator: np.random.Generator) -> list[Tensor]:
    """Each attribute's counts of pivot reports. Given the private pivot, the others are filled independently."""
    counts = [margin.copy() for margin in private]
    for pivot, margin in enumerate(private):
        for other, matrix in enumerate(fills[pivot]):
            if matrix is not None:
                counts[other] += push(margin, matrix, generator).sum(axis=-2)
    return counts
