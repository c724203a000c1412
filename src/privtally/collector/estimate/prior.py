"""The prior of the variances of the shared and the own component, on a grid in units of the reports' noise.

An estimate keeps the share 1 − λ of an observed difference, where λ = noise / (noise + variance) is the part of it that
is noise. The prior is therefore a density of λ: heavy towards 0, so that large differences are kept (Strawderman's
prior), with additional weight at 1 − 1/d, and at 1 for differences between attributes that share a component. A prior
stated for frequencies would shrink too little with few reports and too much with many.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from privtally.collector.estimate.dirichlet import Concentration, sparse, uniform
from privtally.exact.arrays import Floats

STEP = 2.5
"""The ratio of neighbouring variances on the grid."""
STEPS_BELOW = 3
"""How many variances of the grid are between 0 and the noise."""
HEAVY = 0.5
"""λ has a density in proportion to λ to minus this power: large differences are kept."""
ALIKE, HALF_AS_ALIKE = 0.36, 1.5
"""The weight of no own component at all beside a shared one, with many labels: identical attributes are averaged; and
the number of directions between two attributes at which it is half of that: yes-or-no questions agree by chance."""
AS_PUBLISHED = 0.3
"""The weight, in many directions, of no shared component and λ = 1 − 1/d: nearly uniform answers are shrunk as much as
by the paper's estimator, with even fills 1/d of the unbiased one."""
UNEVEN = 2.0
"""Above the variance of Dirichlet(1) the density falls with this power of the variance: noise is not taken for skew."""
SHARED = 0.8
"""The weight of a shared component, in many directions: attributes with the same labels are compared at all."""
ARBITRARY = 0.5
"""The weight of the variance of frequencies that are uniform on the simplex, where no two attributes have the same
labels."""
NONE = 1e-12
"""The least information, so that its inverse is finite."""


@dataclass(frozen=True)
class Dirichlet:
    """Frequencies with a Dirichlet distribution, shared by attributes with the same labels or each attribute's own."""

    concentration: Concentration
    shared: bool


@dataclass(frozen=True)
class Prior:
    """Pairs of variances, of the shared and of the own component, with their weights, and Dirichlet distributions with
    theirs. All weights sum to 1.

    The unit of variance is 1/(k(k + 1)), that of frequencies of k labels that are uniform on the simplex.
    """

    shared: Floats
    own: Floats
    weights: Floats
    dirichlet: Mapping[Dirichlet, float] = field(default_factory=dict)

    def with_dirichlet(self, largest: float) -> "Prior":
        """The same with Dirichlet distributions in place of the normal ones whose variance is nearest to theirs, where
        attributes have only one of the two components; the uniform one first.
        """
        left, dirichlet = np.ones(len(self.own), dtype=bool), {}
        for shared, variances, others in ((False, self.own, self.shared), (True, self.shared, self.own)):
            for concentration, variance in ((uniform, 1.0), (sparse, largest / 2)):
                near = (variances > variance / STEP**0.5) & (variances <= variance * STEP**0.5)
                replaced = left & near & (others == 0)
                if replaced.any():
                    dirichlet[Dirichlet(concentration, shared)] = float(self.weights[replaced].sum())
                left &= ~replaced
        return Prior(self.shared[left], self.own[left], self.weights[left], dirichlet)


@dataclass(frozen=True)
class Noise:
    """The number of directions in which something is observed, and the variance of the noise in each."""

    directions: int
    variance: float

    @classmethod
    def of(cls, information: Floats) -> "Noise":
        """The noise of directions with this information each."""
        return cls(len(information), 1 / max(float(np.mean(information)), NONE))


def prior(attributes: int, groups: int, total: Noise, shared: Noise | None, own: Noise | None, largest: float) -> Prior:
    """The prior for this noise in all directions, in those of the shared component, and in those of the own one.

    Attributes with the same labels are a group; where every group is one attribute, there is no shared component. No
    variance is larger than `largest`.
    """
    alone, alone_weights = variances(total.variance, largest)
    published = AS_PUBLISHED * max(0.0, 1 - 2 / total.directions) if total.variance <= largest else 0.0
    together = SHARED * own.directions / (own.directions + 1) if shared is not None and own is not None else 0.0
    alone_weights *= (1 - published) * (1 - together)
    below = min(STEPS_BELOW, round(np.log(max(attributes - 1, 1)) / np.log(STEP)))
    alone_weights[1 + STEPS_BELOW - below] += published
    if shared is None or own is None:
        alone_weights *= 1 - ARBITRARY
        alone_weights[1 + np.argmin(np.abs(np.log(alone[1:])))] += ARBITRARY
        return Prior(np.zeros(len(alone)), alone, alone_weights)
    common, common_weights = variances(shared.variance, largest)
    owns, own_weights = variances(own.variance, largest)
    between_two = own.directions / (attributes - groups)
    alike = ALIKE * between_two**2 / (between_two**2 + HALF_AS_ALIKE**2)
    own_weights *= 1 - alike
    own_weights[0] += alike
    both = (1 - published) * together * np.outer(common_weights, own_weights)
    return Prior(
        shared=np.concatenate([np.zeros(len(alone)), np.repeat(common, len(owns))]),
        own=np.concatenate([alone, np.tile(owns, len(common))]),
        weights=np.concatenate([alone_weights, both.ravel()]),
    )


def variances(noise: float, largest: float) -> tuple[Floats, Floats]:
    """The grid of variances of one component, and their weights."""
    steps = max(0, int(np.floor(np.log(largest / noise) / np.log(STEP) + 1e-9)))
    above = min(noise, largest) * STEP ** np.arange(-STEPS_BELOW, steps + 0.5)
    bounds = np.concatenate([[0.0], above / STEP**0.5, [above[-1] * STEP**0.5]])
    grid = np.concatenate([[0.0], above])
    weights = -np.diff((noise / (noise + bounds)) ** (1 - HEAVY)) / np.maximum(grid, 1.0) ** UNEVEN
    weights /= weights.sum()
    return grid, weights
