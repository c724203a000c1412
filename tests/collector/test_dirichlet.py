"""The Dirichlet posterior, against averages over many draws from the prior."""

import numpy as np
import pytest
from numpy.typing import NDArray

from privtally.collector.estimate.dirichlet import Bounded, concentration, dirichlet_posterior, most_variance
from privtally.collector.estimate.inverse import zero_sum_basis

Floats = NDArray[np.float64]
DRAWS = 400_000


def averaged(pull: Floats, hold: Floats, sizes: tuple[int, ...], variance: float) -> tuple[Bounded, float]:
    """The same by weighing draws, and how many draws the weights amount to."""
    made_up = np.random.default_rng(0)
    draws = [made_up.dirichlet(np.full(size, concentration(variance, size)), DRAWS) for size in sizes]
    uniform = np.repeat([1 / size for size in sizes], sizes)
    x = (np.hstack(draws) - uniform) @ zero_sum_basis(sizes)
    log = x @ pull - 0.5 * np.einsum("si,ij,sj->s", x, hold, x, optimize=True)
    weights = np.exp(log - log.max())
    total = float(weights.sum())
    mean = weights @ x / total
    covariance = (weights[:, None] * (x - mean)).T @ (x - mean) / total
    return Bounded(float(np.log(total / DRAWS) + log.max()), mean, covariance), total**2 / float((weights**2).sum())


@pytest.mark.parametrize("sizes", [(2,), (5,), (2, 2), (3, 4), (2, 3)])
@pytest.mark.parametrize(("variance", "close"), [(1.0, 20), (1.6, 12), (2.5, 7)])
@pytest.mark.parametrize("noise", [0.2, 0.3, 1.0])
def test_it_is_what_draws_give(sizes: tuple[int, ...], variance: float, close: float, noise: float) -> None:
    """Means to a small part of their deviation, evidence to a tenth an attribute; wide noise can make variances twice
    too large.
    """
    basis = zero_sum_basis(sizes)
    for seed in (1, 2, 3):
        made_up = np.random.default_rng(seed)
        mixed = np.eye(basis.shape[1]) + 0.3 * made_up.normal(size=(basis.shape[1],) * 2)
        hold = mixed @ mixed.T / noise**2
        truth = np.concatenate([made_up.dirichlet(np.ones(size)) for size in sizes]) @ basis
        pull = hold @ (truth + np.linalg.solve(mixed.T, made_up.normal(size=len(truth)) * noise))
        found = dirichlet_posterior(pull, hold, basis, sizes, variance)
        wanted, draws = averaged(pull, hold, sizes, variance)
        assert draws > 200
        spread = np.sqrt(np.trace(wanted.covariance))
        assert np.linalg.norm(found.mean - wanted.mean) < spread / close
        assert found.evidence == pytest.approx(wanted.evidence, abs=0.1 * len(sizes))
        assert 0.9 < np.trace(found.covariance) / spread**2 < 2


@pytest.mark.parametrize("sizes", [(2,) * 60, (3,) * 40, (5, 4, 3), (100,), (2, 50)])
@pytest.mark.parametrize("variance", [1.0, 2.5])
def test_nothing_known_explains_nothing(sizes: tuple[int, ...], variance: float) -> None:
    """However many attributes there are: errors of the fit must not add up."""
    basis = zero_sum_basis(sizes)
    none = np.zeros(basis.shape[1])
    found = dirichlet_posterior(none, np.diag(none), basis, sizes, variance)
    assert found.mean == pytest.approx(none, abs=1e-9)
    assert found.evidence == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("away", [1.0, 10.0, 1000.0, 1e9])
@pytest.mark.parametrize("variance", [1.0, 2.5])
def test_far_outside_it_stays_a_distribution_or_says_that_it_cannot(away: float, variance: float) -> None:
    """Reports can be so unlucky that the unbiased estimate is far from any distribution."""
    basis = zero_sum_basis((4,))
    hold = np.eye(3) / 0.05**2
    found = dirichlet_posterior(hold @ (away * basis[0]), hold, basis, (4,), variance)
    if found.evidence > -np.inf:
        frequencies = 0.25 + basis @ found.mean
        assert (frequencies > -1e-3).all()
        assert frequencies[0] > 0.9
    else:
        assert away > 1000


def test_inside_it_changes_nothing() -> None:
    basis = zero_sum_basis((3, 3))
    hold = np.eye(4) / 0.01**2
    truth = np.array([0.5, 0.3, 0.2, 0.2, 0.4, 0.4]) @ basis
    found = dirichlet_posterior(hold @ truth, hold, basis, (3, 3), 1.0)
    assert found.mean == pytest.approx(truth, abs=1e-4)
    assert found.covariance == pytest.approx(np.eye(4) * 0.01**2, rel=1e-2, abs=1e-7)


@pytest.mark.parametrize("size", [2, 5, 100])
def test_a_variance_has_its_concentration(size: int) -> None:
    draws = np.random.default_rng(1).dirichlet(np.full(size, concentration(1.6, size)), 20_000)
    assert draws.var(axis=0).mean() * size**2 / (size - 1) * (size + 1) == pytest.approx(1.6, rel=0.05)
    assert concentration(1.0, size) == pytest.approx(1)
    assert concentration(most_variance(size), size) == pytest.approx(0.05)
