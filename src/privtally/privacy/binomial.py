"""Bounds on a probability from hits among independent draws (Clopper and Pearson 1934)."""

from collections.abc import Callable
from functools import lru_cache
from math import lgamma, log, log1p

import numpy as np

from privtally.exact.arrays import Floats


def lower_bound(hits: int, draws: int, chance: float) -> float:
    """The smallest probability that gives so many hits, or more, with at least the chance."""
    return _solve(lambda p: 1 - below(hits, draws, p) >= chance) if hits else 0.0


def upper_bound(hits: int, draws: int, chance: float) -> float:
    """The largest probability that gives so few hits, or fewer, with at least the chance."""
    return _solve(lambda p: below(hits + 1, draws, p) < chance) if hits < draws else 1.0


def below(hits: int, draws: int, probability: float) -> float:
    """The chance of fewer hits than so many."""
    if not 0 < probability < 1:
        return float(hits > draws * probability)
    counts = np.arange(min(max(hits, 0), draws + 1))
    logs = _log_binomials(draws)[: len(counts)] + counts * log(probability) + (draws - counts) * log1p(-probability)
    return min(float(np.exp(logs).sum()), 1.0)


@lru_cache(maxsize=4)
def _log_binomials(draws: int) -> Floats:
    """The logarithms of "draws over 0, 1, … draws"."""
    factorials = np.array([lgamma(count + 1) for count in range(draws + 1)])
    logs: Floats = factorials[-1] - factorials - factorials[::-1]
    return logs


def _solve(beyond: Callable[[float], bool]) -> float:
    """Where a condition that holds for large probabilities begins to hold."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return (low + high) / 2
