"""e to a rational power, between two rationals: what every statement about a privacy budget rests on."""

import math
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from fractions import Fraction


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
