"""The nearest proper distribution."""

from collections.abc import Sequence

import numpy as np

from privtally.exact.arrays import Floats


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


def project_each(values: Floats, sizes: Sequence[int]) -> list[Floats]:
    """The nearest proper distribution of each attribute, attributes laid end to end."""
    return [project_to_simplex(own) for own in np.split(values, np.cumsum(sizes)[:-1])]
