"""The counts of reports, sampled exactly and without users.

People with the same record, pivot and private pivot behave alike, so multinomials over those groups have exactly the
law that counting users one by one would have. Many campaigns are simulated at once along the first axis; the cost
depends on the number of different records and not on the number of people.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privtally.lab.population import Tensor, marginals

Floats = NDArray[np.float64]
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


def spl_whole(tables: Tensor, scales: Sequence[float], generator: np.random.Generator) -> Tensor:
    """The counts of whole SPL reports: one attribute after the other goes through its channel."""
    for axis, scale in enumerate(scales, start=1):
        last = np.moveaxis(tables, axis, -1)
        replaced = push(last, response_matrix(scale, last.shape[-1]), generator).sum(axis=-2)
        tables = np.moveaxis(replaced, -1, axis)
    return tables


def pivot_whole(private: Sequence[Tensor], fills: Fills, generator: np.random.Generator) -> Tensor:
    """The counts of whole pivot reports: the private pivot first, then one attribute after the other."""
    sizes = [margin.shape[-1] for margin in private]
    runs = len(private[0])
    total = np.zeros((runs, *sizes), dtype=np.int64)
    for pivot, margin in enumerate(private):
        built, order = margin, [pivot]
        for other, matrix in enumerate(fills[pivot]):
            if matrix is None:
                continue
            # The fill looks at the pivot's code (the first axis after the runs) and at nothing else.
            rows = matrix if matrix.ndim == 3 else matrix[None]
            spread = rows.reshape(len(rows), sizes[pivot], *[1] * (built.ndim - 2), sizes[other])
            built = push(built, np.broadcast_to(spread, (*built.shape, sizes[other])), generator)
            order.append(other)
        total += np.moveaxis(built, range(1, len(order) + 1), [own + 1 for own in order])
    return total
