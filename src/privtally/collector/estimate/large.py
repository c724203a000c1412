"""The pooled estimate for schemas too large for matrices over all labels.

The model is that of `pooled` with normal components only; the reports enter through the unbiased estimate alone, as if
every label of an attribute had the same variance and no two attributes shared any noise. Then labels separate, and the
covariance of a group of attributes is a diagonal matrix plus a constant, which takes time and memory in proportion to
the number of labels.
"""

from collections.abc import Sequence

import numpy as np

from privtally.collector.estimate.pooled import Labels, groups
from privtally.collector.estimate.prior import Noise, Prior, prior
from privtally.collector.estimate.sparse import shrink
from privtally.exact.arrays import Floats

MANY_LABELS = 300
"""An attribute with more labels is shrunk by itself, label by label: most of its labels may be rare."""


def pool_large(
    frequencies: Sequence[Floats], variances: Sequence[Floats], labels: Labels
) -> tuple[list[Floats], list[Floats]]:
    """Mean and variance of every frequency, from unbiased ones and their variances."""
    grouped = [Group(group, frequencies, variances) for group in groups(labels)]
    many = [group for group in grouped if group.size > MANY_LABELS]
    grouped = [group for group in grouped if group.size <= MANY_LABELS]
    means, spreads = _pool_groups(grouped, frequencies) if grouped else ([*frequencies], [*frequencies])
    for group in many:
        for own, noise in zip(group.members, group.noise.tolist(), strict=True):
            means[own], spreads[own] = shrink(frequencies[own], noise)
    return means, spreads


def _pool_groups(grouped: Sequence["Group"], frequencies: Sequence[Floats]) -> tuple[list[Floats], list[Floats]]:
    """Mean and variance of every frequency of the attributes in these groups."""
    before = prior_for(grouped)
    pairs = list(zip(before.shared.tolist(), before.own.tolist(), strict=True))
    evidence = np.array([sum(group.evidence(*pair) for group in grouped) for pair in pairs])
    weights = before.weights * np.exp(evidence - evidence.max())
    weights /= weights.sum()
    means = [np.zeros(len(own)) for own in frequencies]
    squares = [np.zeros(len(own)) for own in frequencies]
    for weight, pair in zip(weights, pairs, strict=True):
        if weight < 1e-6 * weights.max():
            continue
        for group in grouped:
            for own, mean, variance in zip(group.members, *group.posterior(*pair), strict=True):
                means[own] += weight * mean
                squares[own] += weight * (variance + mean**2)
    return [1 / len(mean) + mean for mean in means], [s - m**2 for s, m in zip(squares, means, strict=True)]


def prior_for(grouped: Sequence["Group"]) -> Prior:
    """The prior that `pooled` would have with normal components only, from each group's directions."""
    parts = [(group.information, group.size - 1, len(group.members)) for group in grouped]
    shared = np.concatenate([np.full(directions, members * known) for known, directions, members in parts])
    own = np.concatenate([np.full(directions * (members - 1), known) for known, directions, members in parts])
    total = np.concatenate([np.full(directions * members, known) for known, directions, members in parts])
    several = len(own) > 0
    return prior(
        sum(len(group.members) for group in grouped),
        len(grouped),
        Noise.of(total),
        Noise.of(shared) if several else None,
        Noise.of(own) if several else None,
        max(group.size for group in grouped) + 1,
    )


class Group:
    """Attributes with the same labels: differences from uniform, and the variance of the noise of each attribute."""

    def __init__(self, members: Sequence[int], frequencies: Sequence[Floats], variances: Sequence[Floats]) -> None:
        self.members = members
        self.size = len(frequencies[members[0]])
        self.unit = 1 / (self.size * (self.size + 1))
        self._differences = np.array([frequencies[own] - 1 / self.size for own in members])
        self.noise = np.array([variances[own].sum() / (self.size - 1) for own in members])

    @property
    def information(self) -> float:
        """The information on each direction of each attribute, in the prior's unit."""
        return float(np.mean(1 / self.noise)) * self.unit

    def evidence(self, shared: float, own: float) -> float:
        """The log-density of the differences under the two variances."""
        variance, common, total = self._variances(shared, own)
        weighted = (self._differences / variance[:, None]).sum(axis=0)
        square = (self._differences**2 / variance[:, None]).sum() - common / total * (weighted**2).sum()
        return float(-0.5 * square - 0.5 * (self.size - 1) * (np.log(variance).sum() + np.log(total)))

    def posterior(self, shared: float, own: float) -> tuple[Floats, Floats]:
        """Mean (attribute, label) and variance (attribute, 1) of the true differences under the two variances."""
        variance, common, total = self._variances(shared, own)
        alone = own * self.unit
        weighted = (self._differences / variance[:, None]).sum(axis=0)
        residual = (self._differences - common * weighted / total) / variance[:, None]
        mean = alone * residual + common * residual.sum(axis=0)
        explained = alone**2 * (1 / variance - common / variance**2 / total) + 2 * alone * common / variance / total
        explained += common**2 * (1 / variance).sum() / total
        left = (alone + common - explained) * (1 - 1 / self.size)
        return mean, left[:, None]

    def _variances(self, shared: float, own: float) -> tuple[Floats, float, float]:
        """Each attribute's variance without the shared component, that of the shared component, and 1 + the sum of
        their ratios.
        """
        variance = self.noise + own * self.unit
        common = shared * self.unit
        return variance, common, 1 + common * float((1 / variance).sum())
