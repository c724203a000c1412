"""The mean squared error to expect of one cell of a two-way table.

A report that answers both attributes gives an unbiased table: at uniform answers the second moment of a cell is the
product of those of the two attributes' labels.
"""

from collections.abc import Sequence
from itertools import combinations
from math import comb

from privtally.lab.noise import private


def mean_square(sizes: Sequence[int], epsilon: float, people: int, pivots: int) -> float:
    """The mean over all pairs of attributes, if a report answers so many of them, with equal shares of the budget, and
    says which. Errors are those of the unbiased table, next to the table of the people asked.
    """
    attributes = len(sizes)
    share = comb(pivots, 2) / comb(attributes, 2)
    moments = [_second_moment(epsilon / pivots, size) for size in sizes]
    total = 0.0
    for one, two in combinations(range(attributes), 2):
        cell = 1 / (sizes[one] * sizes[two])
        drawn = cell - cell**2
        total += ((moments[one] * moments[two] - cell**2) / share - drawn) / people
    return total / comb(attributes, 2)


def _second_moment(budget: float, size: int) -> float:
    """The mean square of one label's unbiased frequency from one report, at uniform answers."""
    return (1 - 1 / size) / private(budget, size).information + 1 / size**2
