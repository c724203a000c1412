"""How much two pictures differ."""

from pathlib import Path

import numpy as np
from matplotlib.image import imread

MOST_DIFFERING = 0.01
"""The share of pixels that may differ plainly: versions of matplotlib set letters a little differently."""


def differing(one: Path, other: Path) -> float:
    """The share of pixels that differ plainly; 1 if the sizes differ."""
    first, second = (imread(path)[..., :3] for path in (one, other))
    if first.shape != second.shape:
        return 1.0
    return float(np.mean(np.abs(first - second).max(axis=-1) > 0.25))
