"""The chi-square distribution, central and not: tail probabilities, and the shift that a test sees often enough."""

from collections.abc import Callable
from functools import lru_cache
from math import exp, lgamma, log, sqrt


def tail(value: float, degrees: float) -> float:
    """The probability that a chi-square variable exceeds a value."""
    if value <= 0:
        return 1.0
    shape, half = degrees / 2, value / 2
    front = exp(shape * log(half) - half - lgamma(shape))
    if half < shape + 1:
        term = total = 1 / shape
        while term > 1e-16 * total:
            shape += 1
            term *= half / shape
            total += term
        return max(0.0, 1 - front * total)
    return front * _fraction(shape, half)


def _fraction(shape: float, half: float) -> float:
    """The continued fraction of the upper incomplete gamma function, by Lentz's method."""
    tiny = 1e-300
    start = half + 1 - shape
    upper, lower = 1 / tiny, 1 / start
    found = lower
    for step in range(1, 10_000):
        factor = -step * (step - shape)
        start += 2
        lower = 1 / (factor * lower + start or tiny)
        upper = start + factor / upper or tiny
        found *= lower * upper
        if abs(lower * upper - 1) < 1e-15:
            break
    return found


def critical(level: float, degrees: int) -> float:
    """The value that is exceeded with this probability."""
    return _crossing(lambda value: level - tail(value, degrees), degrees + 10.0)


@lru_cache(maxsize=64)
def seen_shift(level: float, degrees: int, power: float) -> float:
    """The non-centrality that a test at this level sees with this probability."""
    bound = critical(level, degrees)
    return _crossing(lambda shift: _shifted_tail(bound, degrees, shift) - power, 10.0)


def _shifted_tail(value: float, degrees: int, shift: float) -> float:
    """The probability that a chi-square variable with a non-centrality exceeds a value: a mixture over Poisson."""
    half = shift / 2
    reach = 10 * sqrt(half) + 20
    numbers = range(max(0, int(half - reach)), int(half + reach) + 1)
    weights = (exp(number * log(half) - half - lgamma(number + 1)) if half else float(not number) for number in numbers)
    return sum(weight * tail(value, degrees + 2 * number) for number, weight in zip(numbers, weights, strict=True))


def _crossing(rising: Callable[[float], float], start: float) -> float:
    """Where a rising function that starts below 0 reaches it."""
    low, high = 0.0, start
    while rising(high) < 0:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) >= 0 else (middle, high)
    return high
