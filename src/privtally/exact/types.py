"""The array types that the whole program shares."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Codes = NDArray[np.unsignedinteger[Any]]
"""Codes of labels or of outputs, in the smallest unsigned type that holds them."""
Distribution = NDArray[Any]
"""Probabilities as floats, or as Fractions in an object array."""
