"""One attribute, nobody knows which, that has something of its own beyond what all of them have.

Where the others' part is normal with a known covariance, what reports say about the extra part of one attribute is
normal too, once the others' part is integrated out: a slope and an information in the attribute's own directions. In
the information's eigenvectors every size of the extra part is a division.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privtally.collector.estimate.prior import Extra
from privtally.exact.arrays import Floats


@dataclass(frozen=True)
class Block:
    """An attribute that may be the one: its directions, orthonormal columns, and the prior's unit of variance."""

    directions: Floats
    unit: float


@dataclass(frozen=True)
class _Candidate:
    """An attribute as the one: its directions with the others' part integrated out (pair, coordinate, direction), and
    the extra part's mean and variance in them for every size that it may have (pair, size, direction).
    """

    directions: Floats
    means: Floats
    variances: Floats


class OneApart:
    """What the chance that one attribute is apart adds to the normal posteriors of pairs of variances.

    Their covariances and chances are given for each pair; the log-likelihood is pull · x − ½ xᵀ hold x.
    """

    def __init__(
        self, pull: Floats, hold: Floats, covariances: Floats, blocks: Sequence[Block], extra: Extra, chances: Floats
    ) -> None:
        self._candidates: list[_Candidate] = []
        gains = [np.log1p(-chances)[:, None]]
        for block in blocks:
            held = hold @ block.directions
            left = block.directions - covariances @ held
            known, vectors = np.linalg.eigh(held.T @ left)
            directions = left @ vectors
            slopes = directions.transpose(0, 2, 1) @ pull
            sizes = extra.variances[:, None] * block.unit
            ratio = sizes * np.maximum(known, 0.0)[:, None, :]
            variances = sizes / (1 + ratio)
            means = variances * slopes[:, None, :]
            fit = 0.5 * (means * slopes[:, None, :] - np.log1p(ratio)).sum(axis=2)
            gains.append(np.log(np.outer(chances, extra.weights / len(blocks))) + fit)
            self._candidates.append(_Candidate(directions, means, variances))
        gain = np.concatenate(gains, axis=1)
        most = gain.max(axis=1, keepdims=True)
        credible = np.exp(gain - most)
        total = credible.sum(axis=1, keepdims=True)
        self._weights = np.split((credible / total)[:, 1:], len(blocks), axis=1)
        self.evidence: Floats = (np.log(total) + most)[:, 0]
        """What is to be added to the logarithm of how well each pair explains the reports."""
        self.shift: Floats = np.zeros((len(covariances), len(pull)))
        """What is to be added to the mean of each pair."""
        for weights, each in zip(self._weights, self._candidates, strict=True):
            self.shift += (each.directions @ np.einsum("gl,gli->gi", weights, each.means)[:, :, None])[:, :, 0]

    def spread(self) -> Floats:
        """What is to be added to the covariance of each pair."""
        spread = -self.shift[:, :, None] * self.shift[:, None, :]
        for weights, each in zip(self._weights, self._candidates, strict=True):
            inside = np.einsum("gl,gli,glj->gij", weights, each.means, each.means)
            inside += np.einsum("gl,gli,ij->gij", weights, each.variances, np.eye(inside.shape[1]))
            spread += each.directions @ inside @ each.directions.transpose(0, 2, 1)
        return np.asarray(spread)
