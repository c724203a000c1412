"""The one name for an array of floating-point numbers."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
