"""Counts of whole reports, sampled exactly and without users, as `lab/paper/simulate` does for single attributes."""

from collections.abc import Sequence

import numpy as np

from privtally.lab.paper.simulate import Fills as Fills
from privtally.lab.paper.simulate import private_pivots as private_pivots
from privtally.lab.paper.simulate import push, response_matrix
from privtally.lab.population import Tensor


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
