"""The flat posterior, against integration over all distributions."""

import numpy as np
import pytest
from numpy.typing import NDArray

from privtally.estimation.flat import Flat, flat_posterior
from privtally.estimation.inverse import zero_sum_basis

Floats = NDArray[np.float64]


def points(sizes: tuple[int, ...], fine: int) -> Floats:
    """A fine grid of all pairs of distributions."""
    grids = []
    for size in sizes:
        middles = (np.arange(fine) + 0.5) / fine
        if size == 2:
            grids.append(np.column_stack([middles, 1 - middles]))
        else:
            first, second = (each.ravel() for each in np.meshgrid(middles, middles))
            inside = first + second < 1
            grids.append(np.column_stack([first, second, 1 - first - second])[inside])
    places = np.meshgrid(*(np.arange(len(grid)) for grid in grids))
    return np.hstack([grid[place.ravel()] for grid, place in zip(grids, places, strict=True)])


def integrated(pull: Floats, hold: Floats, sizes: tuple[int, ...], fine: int) -> Flat:
    uniform = np.repeat([1 / size for size in sizes], sizes)
    x = (points(sizes, fine) - uniform) @ zero_sum_basis(sizes)
    log = x @ pull - 0.5 * np.einsum("si,ij,sj->s", x, hold, x, optimize=True)
    weights = np.exp(log - log.max())
    mean = weights @ x / weights.sum()
    covariance = (weights[:, None] * (x - mean)).T @ (x - mean) / weights.sum()
    return Flat(float(np.log(weights.mean()) + log.max()), mean, covariance)


CASES = [((2,), 2000), ((3,), 300), ((2, 2), 300), ((3, 2), 60)]


@pytest.mark.parametrize(("sizes", "fine"), CASES)
@pytest.mark.parametrize("noise", [0.06, 0.2, 0.6])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_it_is_what_integration_gives(sizes: tuple[int, ...], fine: int, noise: float, seed: int) -> None:
    """Means to a thirtieth of their deviation; wide noise makes the variance too large, by up to 1.4."""
    made_up = np.random.default_rng(seed)
    basis = zero_sum_basis(sizes)
    mixed = np.eye(basis.shape[1]) + 0.3 * made_up.normal(size=(basis.shape[1],) * 2)
    hold = mixed @ mixed.T / noise**2
    truth = np.concatenate([made_up.dirichlet(np.ones(size)) for size in sizes]) @ basis
    pull = hold @ (truth + np.linalg.solve(mixed.T, made_up.normal(size=len(truth)) * noise))
    found, wanted = flat_posterior(pull, hold, basis, sizes), integrated(pull, hold, sizes, fine)
    spread = np.sqrt(np.trace(wanted.covariance))
    assert np.linalg.norm(found.mean - wanted.mean) < 0.035 * spread
    assert found.evidence == pytest.approx(wanted.evidence, abs=0.1)
    assert 0.97 < np.trace(found.covariance) / spread**2 < 1.4


def test_nothing_known_is_anything() -> None:
    for sizes in ((2,), (5,), (3, 4)):
        basis = zero_sum_basis(sizes)
        none = np.zeros(basis.shape[1])
        found = flat_posterior(none, np.diag(none), basis, sizes)
        assert found.mean == pytest.approx(none, abs=1e-9)
        assert found.evidence == pytest.approx(0, abs=0.2)


@pytest.mark.parametrize("away", [1.0, 10.0, 1000.0])
def test_far_outside_it_stays_a_distribution(away: float) -> None:
    """Reports can be so unlucky that the unbiased estimate is far from any distribution."""
    basis = zero_sum_basis((4,))
    hold = np.eye(3) / 0.05**2
    found = flat_posterior(hold @ (away * basis[0]), hold, basis, (4,))
    frequencies = 0.25 + basis @ found.mean
    assert (frequencies > -1e-6).all()
    assert frequencies[0] > 0.9
    assert np.isfinite(found.evidence)


def test_inside_it_changes_nothing() -> None:
    basis = zero_sum_basis((3, 3))
    hold = np.eye(4) / 0.01**2
    truth = np.array([0.5, 0.3, 0.2, 0.2, 0.4, 0.4]) @ basis
    found = flat_posterior(hold @ truth, hold, basis, (3, 3))
    assert found.mean == pytest.approx(truth, abs=1e-4)
    assert found.covariance == pytest.approx(np.eye(4) * 0.01**2, rel=1e-2, abs=1e-7)
