"""The posterior of frequencies with a symmetric Dirichlet prior: the normal likelihood times a power of each frequency.

Expectation propagation (Minka 2001) replaces each power by a normal factor. A factor is fitted so that, multiplied by
all the others, it gives the mean and the variance that the power itself would give.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from privtally.collector.estimate.inverse import zero_sum_basis
from privtally.exact.arrays import Floats

MOST_SWEEPS, CLOSE_ENOUGH = 60, 1e-3
"""All factors are fitted again until no mean moves by more than this part of the smallest standard deviation."""
DAMPING = 0.7
"""The part of each step that is taken, so that the factors do not oscillate."""
LEAST_PRECISION = 1e-3
"""The least part of a frequency's precision that the other factors are taken to have."""
LEAST_CONCENTRATION = 0.05
"""Powers of smaller concentrations are not integrated accurately."""

Concentration = Callable[[int], float]
"""The concentration of a Dirichlet distribution, by the number of labels."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
_REACH = 9.0


def uniform(_: int) -> float:
    """Uniform on the simplex."""
    return 1.0


def sparse(size: int) -> float:
    """Perks's prior, with nearly all of the probability on a few labels."""
    return max(1 / size, LEAST_CONCENTRATION)


@dataclass(frozen=True)
class DirichletPosterior:
    """The logarithm of the likelihood's mean under the prior, and the posterior's mean and covariance."""

    log_evidence: float
    mean: Floats
    covariance: Floats


@np.errstate(all="ignore")
def dirichlet_posterior(
    gradient: Floats, information: Floats, basis: Floats, sizes: Sequence[int], concentration: Concentration
) -> DirichletPosterior | None:
    """The posterior in coordinates x of frequencies uniform + basis · x, for attributes with these numbers of labels;
    None where the fit fails in floating point.

    The log-likelihood is gradient · x − ½ xᵀ information x; the basis is orthonormal.
    """
    try:
        found = _fit(gradient, information, basis, sizes, concentration)
    except np.linalg.LinAlgError:
        return None
    if not (np.isfinite(found.log_evidence) and (np.diag(found.covariance) > 0).all()):
        return None
    # Without information the evidence is 0: subtracting what is found then removes the error of the fit.
    return replace(found, log_evidence=found.log_evidence - sum(_log_integral(size, concentration) for size in sizes))


@lru_cache(maxsize=256)
def _log_integral(size: int, concentration: Concentration) -> float:
    """The fitted logarithm of the integral of the powers over the simplex."""
    none = np.zeros(size - 1)
    return _fit(none, np.diag(none), zero_sum_basis([size]), [size], concentration).log_evidence


def _fit(
    gradient: Floats, information: Floats, basis: Floats, sizes: Sequence[int], concentration: Concentration
) -> DirichletPosterior:
    """The posterior, its evidence not divided by the integral of the prior's powers."""
    centre = np.repeat([1 / size for size in sizes], sizes)
    power = np.repeat([concentration(size) for size in sizes], sizes)
    # The first factors together have the covariance of the prior.
    precision, linear = (power / centre + 1) / centre, np.zeros(len(basis))
    for _ in range(MOST_SWEEPS):
        total = information + (basis * precision[:, None]).T @ basis
        covariance = np.linalg.inv(total)
        mean = covariance @ (gradient + basis.T @ linear)
        variance, place = (basis @ covariance * basis).sum(axis=1), basis @ mean
        others_variance = 1 / np.maximum(1 / variance - precision, LEAST_PRECISION / variance)
        others_mean = others_variance * (place / variance - linear)
        log_mass, new_mean, new_variance = _times_power(centre + others_mean, others_variance, power)
        used = precision, linear
        precision = precision + DAMPING * (1 / new_variance - 1 / others_variance - precision)
        linear = linear + DAMPING * ((new_mean - centre) / new_variance - others_mean / others_variance - linear)
        if not np.abs(new_mean - centre - place).max() >= CLOSE_ENOUGH * np.sqrt(variance.min()):
            break
    precision, linear = used
    spread = 1 + precision * others_variance
    log_factor = 0.5 * ((others_mean + linear * others_variance) ** 2 / spread - others_mean**2) / others_variance
    log_integral = (log_mass - log_factor + 0.5 * np.log(spread)).sum()
    log_integral += 0.5 * ((gradient + basis.T @ linear) @ mean - np.linalg.slogdet(total)[1])
    return DirichletPosterior(float(log_integral), mean, covariance)


def _times_power(mean: Floats, variance: Floats, power: Floats) -> tuple[Floats, Floats, Floats]:
    """Normal densities times t^(power − 1) for t > 0: the logarithm of the integral, the mean and the variance.

    In terms of t^power the integrand is smooth, and the Gauss–Legendre rule is accurate.
    """
    deviation = np.sqrt(variance)
    tail = 60 * variance / (np.sqrt(mean**2 + 60 * variance) - np.minimum(mean, 0))
    top = np.where(mean > 0, mean + _REACH * deviation, tail)
    bottom = np.minimum(np.maximum(mean - _REACH * deviation, 0), top) ** power
    half = (top**power - bottom) / 2
    t = (bottom + half * (1 + _NODES[:, None])) ** (1 / power)
    log_mass = np.log(_WEIGHTS[:, None] * half / power) - (t - mean) ** 2 / (2 * variance)
    peak = log_mass.max(axis=0)
    mass = np.exp(log_mass - peak)
    total = mass.sum(axis=0)
    new_mean = (mass * t).sum(axis=0) / total
    new_variance = (mass * (t - new_mean) ** 2).sum(axis=0) / total
    return np.log(total) + peak - 0.5 * np.log(2 * math.pi * variance), new_mean, new_variance
