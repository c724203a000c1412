"""Bounds on a probability from hits among independent draws (Clopper and Pearson 1934), to near machine precision."""

from collections.abc import Callable
from math import exp, floor, lgamma, log


def lower_bound(hits: int, draws: int, chance: float) -> float:
    """The smallest probability that gives so many hits, or more, with at least the chance."""
    if hits == 0:
        return 0.0
    return _solve(lambda p: 1 - below(hits, draws, p) >= chance)


def upper_bound(hits: int, draws: int, chance: float) -> float:
    """The largest probability that gives so few hits, or fewer, with at least the chance."""
    if hits == draws:
        return 1.0
    return _solve(lambda p: below(hits + 1, draws, p) < chance)


def below(hits: int, draws: int, probability: float) -> float:
    """The chance of fewer hits than so many. The terms are added from the largest outward, until they vanish."""
    if probability <= 0:
        return 1.0 if hits > 0 else 0.0
    if probability >= 1:
        return 1.0 if hits > draws else 0.0
    if hits <= 0:
        return 0.0
    last = min(hits - 1, draws)
    peak = min(last, floor((draws + 1) * probability))
    odds = probability / (1 - probability)
    largest = exp(
        lgamma(draws + 1)
        - lgamma(peak + 1)
        - lgamma(draws - peak + 1)
        + peak * log(probability)
        + (draws - peak) * log(1 - probability)
    )
    total = term = largest
    for count in range(peak, 0, -1):
        term *= count / (draws - count + 1) / odds
        total += term
        if term < total * 1e-17:
            break
    term = largest
    for count in range(peak, last):
        term *= (draws - count) / (count + 1) * odds
        total += term
        if term < total * 1e-17:
            break
    return min(total, 1.0)


def _solve(beyond: Callable[[float], bool]) -> float:
    """Where a condition that holds for large probabilities begins to hold."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return (low + high) / 2
