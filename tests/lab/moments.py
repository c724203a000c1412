"""Samples held against an exact mean and covariance."""

import numpy as np


def agrees(samples: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> bool:
    """Whether samples (run, cell) have the given mean and covariance, cell by cell and in all directions together."""
    runs, errors = len(samples), samples - mean
    variances = np.diag(covariance)
    of_mean = np.abs(errors.mean(axis=0)) <= 7 * np.sqrt(variances / runs) + 1e-9
    # The variance of a product of two counts is that of normal ones, and for rare reports that of Poisson ones.
    spread = np.outer(variances, variances) + covariance**2 + np.sqrt(np.outer(variances, variances))
    of_covariance = np.abs(np.cov(samples.T) - covariance) <= 7 * np.sqrt(spread / runs) + 1e-9
    # Squared distances in units of the covariance have its rank as their mean.
    precision = np.linalg.pinv(covariance, rcond=1e-9, hermitian=True)
    distances = np.einsum("ri,ij,rj->r", errors, precision, errors, optimize=True)
    offset = distances.mean() - np.linalg.matrix_rank(covariance, hermitian=True, rtol=1e-9)
    of_distance = abs(offset) <= 7 * distances.std() / np.sqrt(runs)
    return bool(of_mean.all() and of_covariance.all() and of_distance)
