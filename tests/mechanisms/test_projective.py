"""The channel for large domains: its geometry, its exact law, and its sampler."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from privtally.errors import PlanError
from privtally.lab.population import seeded
from privtally.mechanisms.channels import as_codes, conditional
from privtally.mechanisms.named import best_channel
from privtally.mechanisms.projective import Geometry, Projective, best_geometry, projective_response
from tests.law.test_sampler import assert_exact_shares
from tests.support import exp_below

SPACES = [(2, 3, 5), (2, 3, 7), (3, 3, 7), (2, 4, 11), (3, 4, 9), (5, 3, 31)]
"""Order, dimension and number of labels."""


def channel_of(order: int, dimension: int, size: int, epsilon: Fraction = Fraction(1)) -> Projective:
    return projective_response(epsilon, size, Geometry(order, dimension))


def incidence(geometry: Geometry) -> np.ndarray:
    vectors = geometry.vectors(np.arange(geometry.points))
    return np.asarray(vectors @ vectors.T % geometry.order == 0)


@pytest.mark.parametrize(("order", "dimension", "_size"), SPACES)
def test_points_and_hyperplanes_are_a_projective_space(order: int, dimension: int, _size: int) -> None:
    geometry = Geometry(order, dimension)
    vectors = geometry.vectors(np.arange(geometry.points))
    assert len(np.unique(vectors, axis=0)) == geometry.points
    assert (vectors[np.arange(len(vectors)), np.argmax(vectors != 0, axis=1)] == 1).all()
    for factor in range(1, order):
        np.testing.assert_array_equal(geometry.numbers(factor * vectors % order), np.arange(geometry.points))
    inside = incidence(geometry).astype(int)
    shared = inside @ inside.T
    assert (np.diag(shared) == geometry.plane).all()
    assert (shared[~np.eye(len(shared), dtype=bool)] == geometry.meet).all()


@pytest.mark.parametrize(("order", "dimension", "_size"), SPACES)
def test_sums_over_hyperplanes_are_exact_after_rounding(order: int, dimension: int, _size: int) -> None:
    geometry = Geometry(order, dimension)
    weights = np.random.default_rng(3).integers(0, 10**9, geometry.points).astype(float)
    np.testing.assert_array_equal(np.rint(geometry.plane_sums(weights)), incidence(geometry) @ weights)


@pytest.mark.parametrize(("order", "dimension", "size"), SPACES)
@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(2)])
def test_the_budget_is_kept_exactly_and_nearly_used(order: int, dimension: int, size: int, epsilon: Fraction) -> None:
    channel = channel_of(order, dimension, size, epsilon)
    law = [[channel.probability(x, y) for y in range(channel.outputs)] for x in range(size)]
    ratios = [max(column) / min(column) for column in zip(*law, strict=True)]
    assert max(ratios) <= channel.ratio <= exp_below(epsilon)
    assert channel.ratio >= exp_below(epsilon * Fraction(9_999, 10_000))


@pytest.mark.parametrize(("order", "dimension", "size"), SPACES)
def test_the_words_that_lead_to_each_code_are_exactly_its_share(order: int, dimension: int, size: int) -> None:
    assert_exact_shares(channel_of(order, dimension, size), size)


@pytest.mark.parametrize(
    ("size", "epsilon", "order", "dimension"),
    [(32, 1, 3, 4), (64, 1, 3, 5), (128, 2, 11, 3), (1024, 1, 3, 7), (16_384, 2, 7, 6)],
)
def test_the_geometry_is_the_one_that_varies_least(size: int, epsilon: float, order: int, dimension: int) -> None:
    assert best_geometry(epsilon, size) == Geometry(order, dimension)


@pytest.mark.parametrize(("size", "epsilon"), [(2, 1.0), (4, 1.0), (16, 6.0)])
def test_small_domains_and_large_budgets_keep_randomized_response(size: int, epsilon: float) -> None:
    assert best_geometry(epsilon, size) is None


def test_the_weights_stay_close_to_the_law_for_large_domains() -> None:
    geometry = best_geometry(1.0, 65_536)
    assert geometry is not None
    channel = projective_response(Fraction(1), 65_536, geometry)
    given = np.random.default_rng(2).integers(0, 65_536, 20_000).astype(np.uint16)
    codes = channel.draw(given, seeded(5)).astype(np.int64)
    inside = (geometry.vectors(given.astype(np.int64)) * geometry.vectors(codes)).sum(axis=1) % geometry.order == 0
    chance = channel.inside * exp(1) / (channel.inside * exp(1) + channel.outputs - channel.inside)
    # Five standard errors are exceeded once in 1.7 million seeds; uniform codes would be thirty away.
    deviation = (chance * (1 - chance) / len(given)) ** 0.5
    assert abs(inside.mean() - chance) < 5 * deviation
    assert abs(1 / geometry.order - chance) > 20 * deviation


def test_more_labels_than_points_are_refused() -> None:
    with pytest.raises(PlanError, match="8 labels"):
        channel_of(2, 3, 8)


def test_a_fill_never_gives_a_code_that_no_label_of_its_row_holds() -> None:
    asked = best_channel(Fraction(1), 64).channel(Fraction(1), 64)
    row = np.zeros(64)
    row[5] = 1.0
    filling = as_codes(conditional([tuple(row.tolist())]), asked)
    pushed = filling.push(np.array([0.25, 0.75]))
    held = np.array([5 in asked.holders(code) for code in range(asked.outputs)])
    assert (pushed[~held] == 0).all()
    assert pushed[held] == pytest.approx(1 / asked.inside, rel=1e-15)
