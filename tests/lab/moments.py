"""Samples held against an exact mean and covariance."""

import numpy as np


def agrees(samples: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> bool:
    """Whether samples (run, cell) have the given mean and covariance."""
    runs = len(samples)
    variances = np.diag(covariance)
    of_mean = np.abs(samples.mean(axis=0) - mean) <= 7 * np.sqrt(variances / runs) + 1e-9
    found = np.cov(samples.T)
    of_covariance = (
        np.abs(found - covariance) <= 7 * np.sqrt((np.outer(variances, variances) + covariance**2) / runs) + 1e-9
    )
    return bool(of_mean.all() and of_covariance.all())
