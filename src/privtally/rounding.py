"""Probabilities rounded to what a plan can state exactly: whole multiples of 2^-32."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privtally.channel import PROBABILITY_UNIT


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
