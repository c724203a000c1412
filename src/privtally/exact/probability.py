"""Probabilities rounded to what a plan can state exactly: whole multiples of 2^-32."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privtally.errors import PlanError

PROBABILITY_UNIT = 1 << 32
"""Probabilities that a plan states (copies, priors, tables) are whole multiples of one part in this many."""


def nearest_probability(probability: float) -> float:
    """The nearest statable probability."""
    return round(probability * PROBABILITY_UNIT) / PROBABILITY_UNIT


def nearest_distribution(weights: NDArray[np.floating[Any]]) -> tuple[float, ...]:
    """Non-negative weights as a statable distribution that sums to exactly 1, by largest remainders."""
    parts = weights / weights.sum() * PROBABILITY_UNIT
    whole = np.floor(parts).astype(np.int64)
    missing = PROBABILITY_UNIT - int(whole.sum())
    largest = np.argsort(whole - parts, kind="stable")[:missing]
    whole[largest] += 1
    return tuple(float(part) / PROBABILITY_UNIT for part in whole)


def whole_parts(probability: float) -> int:
    """A stated probability in units of 2^-32; it must be a whole number of them between 0 and 1."""
    parts = probability * PROBABILITY_UNIT
    if not 0 <= parts <= PROBABILITY_UNIT or not parts.is_integer():
        raise PlanError("a probability must be a whole multiple of 2^-32 between 0 and 1")
    return int(parts)
