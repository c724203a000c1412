"""e to a rational power between two rationals, probabilities in units of 2^-32, and bounds as people read them."""

import math
from collections.abc import Callable, Iterator
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privtally.errors import PlanError


def exp_bounds(power: Fraction) -> Iterator[tuple[Fraction, Fraction]]:
    """Ever tighter rationals (lower, upper) around e^power, for power ≥ 0.

    The lower bound is a partial sum of the series, whose terms are all positive. Once the next term's index is at
    least twice the power, every further term is at most half of the one before, so that the rest is at most twice
    the next term.
    """
    total, term, index = Fraction(1), Fraction(1), 0
    while True:
        index += 1
        term = term * power / index
        if index >= 2 * power:
            yield total, total + 2 * term
        total += term


def floor_of(function: Callable[[Fraction], Fraction], power: Fraction) -> int:
    """floor(function(e^power)) for a monotone rational function and power > 0, whatever precision that takes.

    It ends because e^power is transcendental, so that the function's value is never an integer.
    """
    values = ((function(lower), function(upper)) for lower, upper in exp_bounds(power))
    return next(math.floor(low) for low, high in values if math.floor(low) == math.floor(high))


def at_most_exp(ratio: Fraction, power: Fraction) -> bool:
    """Whether ratio ≤ e^power, decided in exact arithmetic."""
    return next(ratio <= lower for lower, upper in exp_bounds(power) if ratio <= lower or ratio > upper)


def log_floor(ratio: Fraction) -> float:
    """A float just below ln(ratio), for people to read; comparisons use `at_most_exp`."""
    with localcontext() as context:
        context.prec = 60
        value = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        nearest = float(value)
        return nearest if Decimal(nearest) <= value else math.nextafter(nearest, -math.inf)


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


def rounded_up(bound: float) -> Decimal:
    """A bound rounded up to two digits that matter, or three just above 1: a promise says no less than it means."""
    # Nine digits are right in a float that was computed.
    return Context(prec=3 if 1 < bound < 1.5 else 2, rounding=ROUND_CEILING).create_decimal(f"{bound:.9g}")
