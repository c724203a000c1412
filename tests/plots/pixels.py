"""How much two pictures differ."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.image import imread
from PIL import Image

MOST_DIFFERING = 0.001
"""The share of pixels that may differ plainly within one version of matplotlib; of another seed 0.019 do."""


def differing(drawn: Path, committed: Path) -> float:
    """The share of pixels that differ plainly; 1 if the sizes differ. Another version of matplotlib draws otherwise."""
    with Image.open(committed) as picture:
        drawer = str(picture.info["Software"])
    if f"version{mpl.__version__}," not in drawer:
        pytest.skip(f"{committed.name} was drawn by {drawer}; this is version {mpl.__version__}")
    first, second = (imread(path)[..., :3] for path in (drawn, committed))
    if first.shape != second.shape:
        return 1.0
    return float(np.mean(np.abs(first - second).max(axis=-1) > 0.25))
