"""A normal likelihood with an independent error added: between rounds a change, between phases a person's own answer.

Both errors have the covariance of one person's answers, diag(f) − f fᵀ, times a factor: rare answers change by little,
and what people answer varies by as much.
"""

from collections.abc import Sequence

import numpy as np

from privtally.collector.estimate.inverse import block_diagonal
from privtally.collector.estimate.likelihood import Score
from privtally.exact.arrays import Floats


def root_of_answers(frequencies: Sequence[Floats]) -> Floats:
    """A matrix R for which R Rᵀ is the covariance of one person's answers, attribute by attribute."""
    return block_diagonal([np.diag(np.sqrt(own)) - np.outer(own, np.sqrt(own)) for own in frequencies])


def add_error(score: Score, root: Floats) -> tuple[Floats, Floats, float]:
    """Gradient and information with an error of covariance root · rootᵀ added, and the change of the log-likelihood at
    the point of the gradient.
    """
    gradient, information = score
    scaled = root.T @ information @ root + np.eye(root.shape[1])
    target = root.T @ gradient
    solved = np.linalg.solve(scaled, np.column_stack([root.T @ information, target]))
    lost = information @ root @ solved
    change = 0.5 * float(target @ solved[:, -1]) - 0.5 * float(np.linalg.slogdet(scaled)[1])
    return gradient - lost[:, -1], information - lost[:, :-1], change
