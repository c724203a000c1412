"""The posterior of frequencies that may be anything: beforehand, every distribution is as credible as any other.

It is the likelihood's parabola cut off where a frequency would be negative. Expectation propagation (Minka 2001) puts a
parabola in place of every cut, each fitted to what the cut does to the product of all the others.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_SWEEPS, CLOSE_ENOUGH = 60, 1e-5
"""Cuts are fitted anew until no mean moves by more than this part of the smallest deviation."""
DAMPING = 0.8
"""Each fit goes so far from the last one to the new one."""
WIDE = 100.0
"""Directions of which nothing is known have this variance before the cuts, in units of Dirichlet(1)'s."""
FAR = 30.0
"""So many deviations away the normal tail is what its asymptotic series says."""

_LOG_ROOT = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True)
class Flat:
    """Logarithm of the likelihood's mean over all distributions, and the posterior's mean and covariance."""

    evidence: float
    mean: Floats
    covariance: Floats


def flat_posterior(pull: Floats, hold: Floats, basis: Floats, sizes: Sequence[int]) -> Flat:
    """The posterior in orthonormal coordinates x, frequencies being uniform + basis · x, where the log-likelihood is
    pull · x − ½ xᵀ hold x.
    """
    least = -np.repeat([1 / size for size in sizes], sizes)
    unit = np.repeat([1 / (size * (size + 1)) for size in sizes], sizes)
    hold = hold + (basis / (WIDE * unit)[:, None]).T @ basis
    sharp, shift = np.zeros(len(basis)), np.zeros(len(basis))
    for _ in range(MOST_SWEEPS):
        precision = hold + (basis * sharp[:, None]).T @ basis
        covariance: Floats = np.asarray(np.linalg.inv(precision), dtype=np.float64)
        mean = covariance @ (pull + basis.T @ shift)
        spread = np.einsum("vi,ij,vj->v", basis, covariance, basis, optimize=True)
        without = 1 / (1 / spread - sharp)
        middle = without * (basis @ mean / spread - shift)
        log_chance, cut_mean, cut_spread = _above(middle, without, least)
        used = sharp, shift
        sharp = sharp + DAMPING * (np.maximum(1 / cut_spread - 1 / without, 0) - sharp)
        shift = shift + DAMPING * (cut_mean / cut_spread - middle / without - shift)
        if np.abs(cut_mean - basis @ mean).max() < CLOSE_ENOUGH * np.sqrt(spread.min()):
            break
    sharp, shift = used
    both = 1 + sharp * without
    parabolas = 0.5 * ((middle + shift * without) ** 2 / both - middle**2) / without - 0.5 * np.log(both)
    everywhere = 0.5 * ((pull + basis.T @ shift) @ mean - np.linalg.slogdet(precision)[1]) + len(pull) * _LOG_ROOT
    volume = sum(0.5 * math.log(size) - math.lgamma(size) for size in sizes)
    return Flat(float((log_chance - parabolas).sum() + everywhere - volume), mean, covariance)


def _above(mean: Floats, variance: Floats, least: Floats) -> tuple[Floats, Floats, Floats]:
    """A normal variable that is at least this much: log of how probable that is, and its mean and variance then."""
    deviation = np.sqrt(variance)
    short = (least - mean) / deviation
    near, far = np.minimum(short, FAR), np.maximum(short, FAR)
    log_near = np.log(np.array([math.erfc(each) for each in (near / math.sqrt(2)).tolist()]) / 2)
    hazard = np.exp(-0.5 * near**2 - _LOG_ROOT - log_near)
    tail = short > FAR
    log_chance = np.where(tail, -0.5 * far**2 - _LOG_ROOT - np.log(far), log_near)
    beyond = np.where(tail, 1 / far - 2 / far**3, hazard - near)
    narrowed = np.where(tail, 1 / far**2 - 6 / far**4, 1 - hazard * (hazard - near))
    return log_chance, least + deviation * beyond, variance * narrowed
