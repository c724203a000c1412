"""The bound of docs/notes/secrecy.md by enumeration: Σ E[w²] is at most the chance G that the pivot is guessed.

w_s(y) is the posterior probability that s was the pivot, given the sub-report y, at uniform records.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from privtally.exact.rational import nearest_distribution, nearest_probability
from privtally.mechanisms.fills import AnyFill, CopyFill, RowFill, UniformFill
from privtally.mechanisms.mechanism import Part
from privtally.mechanisms.named import asking
from tests.support import exact_guess

BUDGET = Fraction(1)
PARTS = [(width, labels, decoys) for width in (2, 3, 4) for labels in (2, 3) for decoys in range(width)]
TELLING = 0.05
"""A copy probability far below 1/k: the pivot is nearly always the code that differs."""


def part_of(width: int, labels: int, decoys: int, fill: AnyFill) -> Part:
    sizes = (labels,) * width
    return asking(tuple(range(width)), sizes, BUDGET, fill if decoys else None, decoys=decoys).build(sizes, BUDGET)


def copies(width: int, probability: float) -> CopyFill:
    near = nearest_probability(probability)
    return CopyFill(tuple(tuple(1.0 if one == two else near for two in range(width)) for one in range(width)))


def rows(width: int, weights: Sequence[float]) -> RowFill:
    return RowFill((nearest_distribution(np.array(weights)),) * width)


def information_and_guess(part: Part) -> tuple[Fraction, Fraction]:
    """Σ_s E[w_s²] and E[max_s w_s], from the law of every sub-report given every choice of pivot and its true code."""
    information = Fraction(0)
    for report in part.reports():
        chances = []
        for branch in part.branches:
            (size,) = (part.sizes[own] for own in branch)
            given = (part.branch_probability(branch, (code,), report) for code in range(size))
            chances.append(sum(given, start=Fraction(0)) / size)
        squares = sum((chance**2 for chance in chances), start=Fraction(0))
        information += squares / (sum(chances) or 1)
    return information, exact_guess(part, [[Fraction(1, size)] * size for size in part.sizes])


@pytest.mark.parametrize(("width", "labels", "decoys"), PARTS)
def test_even_decoys_reach_the_bound(width: int, labels: int, decoys: int) -> None:
    least = Fraction(1, decoys + 1)
    assert information_and_guess(part_of(width, labels, decoys, UniformFill())) == (least, least)


@pytest.mark.parametrize(("width", "labels", "decoys"), PARTS)
def test_no_copy_and_no_prior_goes_beyond_it(width: int, labels: int, decoys: int) -> None:
    fills: list[AnyFill] = [
        *(copies(width, probability) for probability in (0.0, TELLING, 0.4, 0.8, 1.0)),
        *(rows(width, weights[:labels]) for weights in ((0.7, 0.3, 0.1), (0.05, 0.9, 0.5))),
    ]
    for fill in fills:
        information, guess = information_and_guess(part_of(width, labels, decoys, fill))
        assert Fraction(1, decoys + 1) <= information <= guess <= 1


@pytest.mark.parametrize(("width", "labels"), list(product((3, 4), (2, 3))))
def test_copies_that_tell_the_pivot_stay_strictly_below_it(width: int, labels: int) -> None:
    """The control: with unequal posteriors the two sides differ, and the guess is far above that of even decoys."""
    information, guess = information_and_guess(part_of(width, labels, width - 1, copies(width, TELLING)))
    assert information < guess
    assert guess > Fraction(3, 2) / width


def test_the_guess_of_the_page() -> None:
    """Four questions with two labels and a copy probability of 0.05."""
    assert round(float(information_and_guess(part_of(4, 2, 3, copies(4, TELLING)))[1]), 2) == 0.89
