"""The Dirichlet posterior, against averages over many draws from the prior."""

from dataclasses import replace

import numpy as np
import pytest

from privtally.collector.estimate.dirichlet import (
    Concentration,
    DirichletPosterior,
    dirichlet_posterior,
    sparse,
    uniform,
)
from privtally.collector.estimate.inverse import zero_sum_basis
from privtally.collector.estimate.pooled import Model
from privtally.collector.estimate.prior import Dirichlet, Prior
from privtally.exact.arrays import Floats

DRAWS = 50_000


def averaged(
    gradient: Floats, information: Floats, sizes: tuple[int, ...], concentration: Concentration
) -> tuple[DirichletPosterior, float]:
    """The same by weighting draws, and their effective number."""
    generator = np.random.default_rng(0)
    draws = np.hstack([generator.dirichlet(np.full(size, concentration(size)), DRAWS) for size in sizes])
    x = (draws - np.repeat([1 / size for size in sizes], sizes)) @ zero_sum_basis(sizes)
    log = x @ gradient - 0.5 * ((x @ information) * x).sum(axis=1)
    weights = np.exp(log - log.max())
    total = float(weights.sum())
    mean = weights @ x / total
    covariance = (weights[:, None] * (x - mean)).T @ (x - mean) / total
    log_evidence = float(np.log(total / DRAWS) + log.max())
    return DirichletPosterior(log_evidence, mean, covariance), total**2 / float((weights**2).sum())


@pytest.mark.parametrize("sizes", [(2,), (5,), (2, 2), (3, 4), (2, 3)])
@pytest.mark.parametrize("concentration", [uniform, sparse])
@pytest.mark.parametrize("noise", [0.2, 0.3, 1.0])
def test_it_is_what_draws_give(sizes: tuple[int, ...], concentration: Concentration, noise: float) -> None:
    """Means to a part of their deviation, evidence to a part an attribute; variances are too large with large noise."""
    part, most = (10, 1.5) if concentration is uniform else (4, 2.2)
    basis = zero_sum_basis(sizes)
    for seed in (1, 2, 3):
        generator = np.random.default_rng(seed)
        mixed = np.eye(basis.shape[1]) + 0.3 * generator.normal(size=(basis.shape[1],) * 2)
        information = mixed @ mixed.T / noise**2
        truth = np.concatenate([generator.dirichlet(np.full(size, concentration(size))) for size in sizes]) @ basis
        observed = truth + np.linalg.solve(mixed.T, generator.normal(size=len(truth)) * noise)
        found = dirichlet_posterior(information @ observed, information, basis, sizes, concentration)
        expected, draws = averaged(information @ observed, information, sizes, concentration)
        assert found is not None
        assert draws > 200
        spread = np.sqrt(np.trace(expected.covariance))
        assert np.linalg.norm(found.mean - expected.mean) < spread / part
        assert found.log_evidence == pytest.approx(expected.log_evidence, abs=1.5 / part * len(sizes))
        assert 0.8 < np.trace(found.covariance) / spread**2 < most


@pytest.mark.parametrize("sizes", [(2,) * 60, (3,) * 40, (5, 4, 3), (100,), (2, 50)])
@pytest.mark.parametrize("concentration", [uniform, sparse])
def test_without_information_there_is_no_evidence(sizes: tuple[int, ...], concentration: Concentration) -> None:
    """However many attributes there are: errors of the fit must not add up."""
    basis = zero_sum_basis(sizes)
    none = np.zeros(basis.shape[1])
    found = dirichlet_posterior(none, np.diag(none), basis, sizes, concentration)
    assert found is not None
    assert found.mean == pytest.approx(none, abs=1e-9)
    assert found.log_evidence == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("sizes", [(4,), (2,), (3, 5)])
@pytest.mark.parametrize("concentration", [uniform, sparse])
@pytest.mark.parametrize("noise", [1e-3, 0.05])
@pytest.mark.parametrize("away", [1.0, 10.0, 1e3])
def test_far_outside_it_stays_a_distribution(
    away: float, noise: float, concentration: Concentration, sizes: tuple[int, ...]
) -> None:
    """Reports can be so unlucky that the unbiased estimate is far from any distribution."""
    basis = zero_sum_basis(sizes)
    information = np.eye(basis.shape[1]) / noise**2
    found = dirichlet_posterior(information @ (away * basis[0]), information, basis, sizes, concentration)
    assert found is not None
    frequencies = np.repeat([1 / size for size in sizes], sizes) + basis @ found.mean
    assert (frequencies > -2e-3).all()
    assert frequencies[0] > 0.9
    assert np.isfinite(found.covariance).all()


def test_a_fit_that_fails_is_said() -> None:
    """A likelihood sharper than floating point allows for."""
    basis = zero_sum_basis((4,))
    assert dirichlet_posterior(np.full(3, np.inf), np.eye(3), basis, (4,), uniform) is None
    assert dirichlet_posterior(np.zeros(3), np.full((3, 3), -1e300), basis, (4,), uniform) is None


def test_identical_attributes_have_the_posterior_of_one_with_all_the_information() -> None:
    model, alone = Model([tuple("abc")] * 3), Model([tuple("abc")])
    generator = np.random.default_rng(4)
    gradient, information = 100 * generator.normal(size=9), np.diag(generator.uniform(300, 900, 9))
    prior = Prior(np.zeros(1), np.zeros(1), np.full(1, 1e-9), {Dirichlet(sparse, shared=True): 1 - 1e-9})
    single = replace(prior, dirichlet={Dirichlet(sparse, shared=False): 1 - 1e-9})
    summed = gradient.reshape(3, 3).sum(axis=0), np.diag(np.diag(information).reshape(3, 3).sum(axis=0))
    found, expected = model.posterior(prior, gradient, information), alone.posterior(single, *summed)
    assert model.mean(found) == pytest.approx(np.tile(alone.mean(expected), 3), abs=1e-6)
    assert model.covariance(found, information).diagonal() == pytest.approx(
        np.tile(alone.covariance(expected, summed[1]).diagonal(), 3), rel=1e-6
    )


def test_inside_it_changes_nothing() -> None:
    basis = zero_sum_basis((3, 3))
    information = np.eye(4) / 0.01**2
    truth = np.array([0.5, 0.3, 0.2, 0.2, 0.4, 0.4]) @ basis
    found = dirichlet_posterior(information @ truth, information, basis, (3, 3), uniform)
    assert found is not None
    assert found.mean == pytest.approx(truth, abs=1e-4)
    assert found.covariance == pytest.approx(np.eye(4) * 0.01**2, rel=1e-2, abs=1e-7)
