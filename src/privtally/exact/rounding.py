"""Bounds as people read them."""

from decimal import ROUND_CEILING, Context, Decimal

_NOISE = 9
"""Digits that are right in a float that was computed."""


def rounded_up(bound: float) -> Decimal:
    """A bound rounded up to two digits that matter, or three just above 1: a promise says no less than it means."""
    return Context(prec=3 if 1 < bound < 1.5 else 2, rounding=ROUND_CEILING).create_decimal(f"{bound:.{_NOISE}g}")
