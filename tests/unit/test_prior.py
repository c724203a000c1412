"""The prior in units of noise: what it costs and gains at every size of differences, by integration."""

import re
from pathlib import Path

import numpy as np
import pytest

from privtally.estimation.inverse import Floats
from privtally.estimation.prior import AS_LARGE_AS_NOISE, LARGEST, Seen, prior, variances

RADII = np.concatenate([np.linspace(0, 9, 37), [12.0, 20.0]])
ANGLES = (np.arange(2000) + 0.5) / 2000 * np.pi
SEEN = np.linspace(0.005, 30, 6000)


def radial(directions: int, radii: Floats) -> tuple[Floats, Floats]:
    """The law of |x| for x ~ N(θ, 1) with |θ| = r, and the mean of cos(x, θ) given |x|: (radius, |x|)."""
    weight = np.sin(ANGLES) ** (directions - 2)
    law, turned = np.zeros((len(radii), len(SEEN))), np.zeros((len(radii), len(SEEN)))
    for place, radius in enumerate(radii):
        by_angle = np.exp(radius * SEEN[:, None] * (np.cos(ANGLES) - 1)) * weight
        average = by_angle.mean(axis=1)
        turned[place] = (by_angle * np.cos(ANGLES)).mean(axis=1) / average
        law[place] = SEEN ** (directions - 1) * np.exp(-((SEEN - radius) ** 2) / 2) * average
    return law / law.sum(axis=1, keepdims=True), turned


def risk(directions: int, radii: Floats, length: Floats) -> Floats:
    """The squared error of the estimate that has this length for each |x|, at every radius."""
    law, turned = radial(directions, radii)
    mean: Floats = (law * (length**2 - 2 * length * turned * radii[:, None])).sum(axis=1) + radii**2
    return mean


def pooled_length(directions: int) -> Floats:
    """What is left of |x| if attributes share nothing and noise is small next to frequencies."""
    noise = 1e-6
    spread, weights = variances(noise, AS_LARGE_AS_NOISE * max(0, 1 - 2 / directions))
    ratio = spread / noise
    evidence = -directions / 2 * np.log1p(ratio) - SEEN[:, None] ** 2 / 2 / (1 + ratio)
    posterior = weights * np.exp(evidence - evidence.max(axis=1, keepdims=True))
    length: Floats = SEEN * (posterior * ratio / (1 + ratio)).sum(axis=1) / posterior.sum(axis=1)
    return length


@pytest.mark.parametrize(("directions", "most"), [(2, 1.22), (3, 1.14), (6, 1.02), (14, 1.0)])
def test_pulling_costs_little_where_nothing_is_to_be_gained(directions: int, most: float) -> None:
    """In many directions hardly more than the unbiased estimate's error; in two, where Stein's effect ends, some."""
    errors = risk(directions, RADII, pooled_length(directions)) / directions
    assert errors.max() < most
    assert errors[-1] == pytest.approx(1, abs=0.02)
    assert errors[0] < 0.3


@pytest.mark.parametrize(("directions", "most"), [(4, 1.15), (6, 1.10), (14, 1.06)])
def test_even_fills_come_close_to_the_better_of_half_and_all(directions: int, most: float) -> None:
    """With even fills and two attributes the paper's estimator halves the unbiased one."""
    better = np.minimum(directions, (directions + RADII**2) / 4)
    assert (risk(directions, RADII, pooled_length(directions)) / better).max() < most


def least_excess(radii: Floats, weights: Floats, limit: Floats) -> float:
    """A lower bound, for every estimate in two directions, on the largest ratio of its error to the limit.

    The largest is at least the mean over any weights, and no estimate has a smaller mean than the Bayes estimate does.
    """
    law, turned = radial(2, radii)
    prior = weights / limit
    best = ((prior * radii)[:, None] * law * turned).sum(axis=0) / (prior[:, None] * law).sum(axis=0)
    return float((weights * risk(2, radii, best) / limit).sum())


def test_two_questions_with_two_labels_are_out_of_reach() -> None:
    """The bounds in docs/guide/accuracy.md, from three sizes of differences in units of noise."""
    page = (Path(__file__).parents[2] / "docs/guide/accuracy.md").read_text()
    radii, weights = np.array([1.13, 3.61, 6.0]), np.array([0.549, 0.375, 0.076])
    alone = least_excess(radii, weights, np.minimum(2, (2 + radii**2) / 4))
    radii, weights = np.array([1.11, 3.58, 5.97]), np.array([0.523, 0.390, 0.087])
    both = least_excess(radii, weights, np.minimum(1.05 * 2, 1.10 * (2 + radii**2) / 4))
    stated = re.search(r"at least ([\d.]+) times the better of the two.*at least (\d+) % above", page, re.DOTALL)
    assert stated is not None
    assert alone == pytest.approx(float(stated[1]), abs=0.005)
    assert (both - 1) * 100 == pytest.approx(float(stated[2]), abs=0.5)
    reached = risk(2, RADII, pooled_length(2)) / np.minimum(2, (2 + RADII**2) / 4)
    assert alone < reached.max() < 1.25


def test_a_prior_is_one() -> None:
    for noise in (1e-9, 1e-3, 1.0, 1e6):
        spread, weights = variances(noise, 0.4)
        assert weights.sum() == pytest.approx(1)
        assert (weights > 0).all()
        assert (np.diff(spread) > 0).all()
        assert spread[0] == 0
        assert spread[-1] == pytest.approx(LARGEST)
        both = prior(Seen(3, noise), Seen(9, 2 * noise), Seen(12, noise))
        assert both.weights.sum() == pytest.approx(1)
        assert len(both.shared) == len(both.own) == len(both.weights)
