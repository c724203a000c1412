"""The pooled estimate for schemas too large for matrices over all labels.

The model is that of `pooled` with normal parts only; the reports enter through the unbiased estimate alone, as if every
label of an attribute had the same variance and no two attributes shared any noise. Then labels separate, and what is
left of a group of attributes is a diagonal matrix and a constant, which takes time and memory in proportion to the
number of labels.
"""

from collections.abc import Sequence

import numpy as np

from privtally.collector.estimate.pooled import Labels, groups
from privtally.collector.estimate.prior import Prior, Seen, prior
from privtally.exact.arrays import Floats


def pool_large(
    frequencies: Sequence[Floats], variances: Sequence[Floats], labels: Labels
) -> tuple[list[Floats], list[Floats]]:
    """Mean and variance of every frequency, from unbiased ones and their variances."""
    grouped = [Group(group, frequencies, variances) for group in groups(labels)]
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
    """The prior that `pooled` would have, from each group's directions: what its attributes share, and the others."""
    parts = [(group.known, group.size - 1, len(group.members)) for group in grouped]
    common = np.concatenate([np.full(many, members * known) for known, many, members in parts])
    apart = np.concatenate([np.full(many * (members - 1), known) for known, many, members in parts])
    several = len(apart) > 0
    return prior(
        sum(len(group.members) for group in grouped),
        len(grouped),
        Seen.with_information(np.concatenate([np.full(many * members, known) for known, many, members in parts])),
        Seen.with_information(common) if several else None,
        Seen.with_information(apart) if several else None,
        max(group.size for group in grouped) + 1,
    )


class Group:
    """Attributes with the same labels: differences to uniform, and a variance for each attribute."""

    def __init__(self, members: Sequence[int], frequencies: Sequence[Floats], variances: Sequence[Floats]) -> None:
        self.members = members
        self.size = len(frequencies[members[0]])
        self.unit = 1 / (self.size * (self.size + 1))
        self._seen = np.array([frequencies[own] - 1 / self.size for own in members])
        self.noise = np.array([variances[own].sum() / (self.size - 1) for own in members])

    @property
    def known(self) -> float:
        """The information on each direction of each attribute, in the prior's unit."""
        return float(np.mean(1 / self.noise)) * self.unit

    def evidence(self, shared: float, own: float) -> float:
        """The log-density of what was seen under the two variances."""
        noise, common, total = self._parts(shared, own)
        pulled = (self._seen / noise[:, None]).sum(axis=0)
        far = (self._seen**2 / noise[:, None]).sum() - common / total * (pulled**2).sum()
        return float(-0.5 * far - 0.5 * (self.size - 1) * (np.log(noise).sum() + np.log(total)))

    def posterior(self, shared: float, own: float) -> tuple[Floats, Floats]:
        """Mean (attribute, label) and variance (attribute, 1) of the differences under the two variances."""
        noise, common, total = self._parts(shared, own)
        apart = own * self.unit
        pulled = (self._seen / noise[:, None]).sum(axis=0)
        weighed = (self._seen - common * pulled / total) / noise[:, None]
        mean = apart * weighed + common * weighed.sum(axis=0)
        known = apart**2 * (1 / noise - common / noise**2 / total) + 2 * apart * common / noise / total
        known += common**2 * (1 / noise).sum() / total
        variance = (apart + common - known) * (1 - 1 / self.size)
        return mean, variance[:, None]

    def _parts(self, shared: float, own: float) -> tuple[Floats, float, float]:
        noise = self.noise + own * self.unit
        common = shared * self.unit
        return noise, common, 1 + common * float((1 / noise).sum())
