"""The posterior of frequencies with a Dirichlet prior, which knows that no frequency is negative.

It is the likelihood's parabola times a power of every frequency. Expectation propagation (Minka 2001) puts a parabola
in place of every power, each fitted to what the power does to the product of all the others.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from privtally.collector.estimate.inverse import zero_sum_basis

Floats = NDArray[np.float64]

MOST_SWEEPS, CLOSE_ENOUGH = 60, 1e-5
"""Powers are fitted anew until no mean moves by more than this part of the smallest deviation."""
DAMPING = 0.7
"""Each fit goes so far from the last one to the new one."""
WIDE = 1e4
"""Before the powers every direction has at most this variance, in units of Dirichlet(1)'s."""
LEAST_LEFT = 1e-3
"""Without a power at least this part of the precision is left."""
LEAST_CONCENTRATION = 0.05
"""Less concentrated ones are not integrated well."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
_REACH = 9.0


@dataclass(frozen=True)
class Bounded:
    """Logarithm of the likelihood's mean under the prior, and the posterior's mean and covariance.

    Where the likelihood is too sharp for floating point next to the prior, the evidence is minus infinity.
    """

    evidence: float
    mean: Floats
    covariance: Floats


def concentration(variance: float, size: int) -> float:
    """The concentration of the symmetric Dirichlet distribution with this variance, in units of Dirichlet(1)'s."""
    return max(((size + 1) / variance - 1) / size, LEAST_CONCENTRATION)


def most_variance(size: int) -> float:
    """The variance of the least concentrated one."""
    return (size + 1) / (size * LEAST_CONCENTRATION + 1)


def dirichlet_posterior(pull: Floats, hold: Floats, basis: Floats, sizes: Sequence[int], variance: float) -> Bounded:
    """The posterior in orthonormal coordinates x, frequencies being uniform + basis · x, where the log-likelihood is
    pull · x − ½ xᵀ hold x and the prior of every attribute has this variance.
    """
    found = _propagate(pull, hold, basis, sizes, variance)
    if not (np.isfinite(found.evidence) and np.isfinite(found.covariance).all()):
        return Bounded(-math.inf, np.zeros(len(pull)), np.zeros_like(hold))
    # Where little is known the evidence is known to be close to 0, and what is found instead is the error of the fit.
    spread = (basis @ found.covariance * basis).sum(axis=1)
    evidence, start = found.evidence, 0
    for size in sizes:
        error, before = _without_reports(size, variance)
        evidence -= error * min(1.0, spread[start : start + size].sum() / before)
        start += size
    return Bounded(evidence, found.mean, found.covariance)


@lru_cache(maxsize=256)
def _without_reports(size: int, variance: float) -> tuple[float, float]:
    """The evidence and the sum of variances that are found for an attribute of which nothing is known."""
    basis = zero_sum_basis([size])
    found = _propagate(np.zeros(size - 1), np.zeros((size - 1, size - 1)), basis, [size], variance)
    return found.evidence, float(np.trace(found.covariance))


@np.errstate(all="ignore")
def _propagate(pull: Floats, hold: Floats, basis: Floats, sizes: Sequence[int], variance: float) -> Bounded:
    own = [concentration(variance, size) for size in sizes]
    unit = np.repeat([1 / (size * (size + 1)) for size in sizes], sizes)
    hold = hold + (basis / (WIDE * unit)[:, None]).T @ basis
    # Of two labels the second's frequency follows from the first's, whose two powers are fitted together.
    label = np.concatenate([np.arange(size) for size in sizes])
    fits = np.repeat([size > 2 for size in sizes], sizes) | (label == 0)
    basis, power, uniform = basis[fits], np.repeat(own, sizes)[fits], np.repeat([1 / k for k in sizes], sizes)[fits]
    two = np.repeat([size == 2 for size in sizes], sizes)[fits]
    sharp, shift = np.zeros(len(basis)), np.zeros(len(basis))
    for _ in range(MOST_SWEEPS):
        precision = hold + (basis * sharp[:, None]).T @ basis
        covariance: Floats = np.asarray(np.linalg.inv(precision), dtype=np.float64)
        mean = covariance @ (pull + basis.T @ shift)
        spread = (basis @ covariance * basis).sum(axis=1)
        without = 1 / np.maximum(1 / spread - sharp, LEAST_LEFT / spread)
        middle = without * (basis @ mean / spread - shift)
        log_mean, fitted_mean, fitted_spread = _times_power(uniform + middle, without, power, two)
        used = sharp, shift
        sharp = sharp + DAMPING * (1 / fitted_spread - 1 / without - sharp)
        shift = shift + DAMPING * ((fitted_mean - uniform) / fitted_spread - middle / without - shift)
        if not np.abs(fitted_mean - uniform - basis @ mean).max() >= CLOSE_ENOUGH * np.sqrt(spread.min()):
            break
    sharp, shift = used
    both = 1 + sharp * without
    parabolas = 0.5 * ((middle + shift * without) ** 2 / both - middle**2) / without - 0.5 * np.log(both)
    everywhere = 0.5 * ((pull + basis.T @ shift) @ mean - np.linalg.slogdet(precision)[1])
    everywhere += 0.5 * len(pull) * math.log(2 * math.pi)
    density = sum(
        math.lgamma(size * each) - size * math.lgamma(each) - 0.5 * math.log(size)
        for size, each in zip(sizes, own, strict=True)
    )
    return Bounded(float((log_mean - parabolas).sum() + everywhere + density), mean, covariance)


def _times_power(
    mean: Floats, variance: Floats, power: Floats, two: NDArray[np.bool_]
) -> tuple[Floats, Floats, Floats]:
    """A normal density times t^(power − 1) for t > 0: log of its integral, its mean and its variance.

    Where there are two labels it is times (1 − t)^(power − 1) as well, for t < 1.
    """
    t, log_mass = _nodes(mean, variance, power, np.where(two, 0.5, np.inf))
    if two.any():
        high, high_mass = _nodes(1 - mean, variance, power, np.full(len(mean), 0.5))
        log_mass = log_mass + np.where(two, (power - 1) * np.log1p(-np.minimum(t, 0.5)), 0)
        high_mass = np.where(two, high_mass + (power - 1) * np.log1p(-high), -np.inf)
        t, log_mass = np.vstack([t, 1 - high]), np.vstack([log_mass, high_mass])
    peak = log_mass.max(axis=0)
    mass = np.exp(log_mass - peak)
    total = mass.sum(axis=0)
    middle = (mass * t).sum(axis=0) / total
    spread = (mass * (t - middle) ** 2).sum(axis=0) / total
    return np.log(total) + peak - 0.5 * np.log(2 * math.pi * variance), middle, spread


def _nodes(mean: Floats, variance: Floats, power: Floats, most: Floats) -> tuple[Floats, Floats]:
    """Places from 0 to the most, and log of the mass of exp(−(t − mean)² / 2 variance) · t^(power − 1) at each.

    In terms of t^power the integrand is smooth, and Gauss and Legendre's rule is exact to many digits.
    """
    deviation = np.sqrt(variance)
    rest = np.sqrt(mean**2 + 60 * variance) - np.minimum(mean, 0)
    top = np.minimum(np.where(mean > 0, mean + _REACH * deviation, 60 * variance / rest), most)
    bottom = np.minimum(np.maximum(mean - _REACH * deviation, 0), top) ** power
    half = (top**power - bottom) / 2
    t = (bottom + half * (1 + _NODES[:, None])) ** (1 / power)
    return t, np.log(_WEIGHTS[:, None] * half / power) - (t - mean) ** 2 / (2 * variance)
