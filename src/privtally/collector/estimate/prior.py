"""How credible the sizes of differences are before any report, on a grid in units of the reports' own noise.

What is seen of a difference is the difference and noise. The noise's share of that, λ = noise / (noise + variance),
decides how far an estimate is pulled, so that the prior is stated for λ: heavy towards 0, where large differences are
left alone (Strawderman's prior), in many directions with a part at 1 − 1/d, and for differences between attributes that
share something with a part at 1. A prior stated for frequencies would be bold with few reports and timid with many;
this one depends on their number only by how many sizes there are from the noise up to the largest.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STEP = 2.5
"""Each variance is so many times the one before."""
STEPS_BELOW = 3
"""How many variances above 0 are smaller than the noise."""
HEAVY = 0.5
"""λ has a density in proportion to λ to minus this power."""
ALIKE, HALF_AS_ALIKE = 0.36, 1.5
"""How credible it is that attributes that share something have nothing of their own, with many labels to tell by, and
in how many directions such an attribute has to differ from another for half of that."""
HEAVY_APART = 0.9
"""λ's power for what attributes that share something have of their own, if they have any. That they have nothing has a
part of its own, so that the sizes may be nearly even on a logarithmic scale."""
ALL_BUT_ONE, ONE_APART, LEAST_FOR_ONE = 0.1, 0.4, 3
"""How credible it is that one attribute has something of its own and the others have nothing; if that is not so, how
credible that one has something beyond what all have; and how many attributes this takes: of two neither is the one."""
AS_PUBLISHED = 0.3
"""How credible it is in many directions that nothing is shared and λ is 1 − 1/d; in two and fewer it is not.

With d attributes and even fills the paper's estimator is 1/d of the unbiased one, the right pull for that λ."""
UNEVEN = 2.0
"""Beyond the spread of Dirichlet(1) credibility falls with this power of the variance: few frequencies are that uneven,
and where some are, many labels say so."""
BOUNDED_FROM = 0.4
"""Own variances from here on are those of Dirichlet distributions: normal ones reach below 0."""
SHARED = 0.8
"""How credible it is that attributes share something, where there are many directions to tell by."""
ARBITRARY = 0.5
"""How credible it is that frequencies are as uneven as draws from Dirichlet(1), where no two attributes have the same
labels: a scale is answered evenly more often than a list of kinds."""
NONE = 1e-12
"""Information below this is none."""


@dataclass(frozen=True)
class Prior:
    """Pairs of variances, of what attributes share and of what each has of its own, and how credible each is.

    The unit is the variance of frequencies drawn from Dirichlet(1), 1/(k(k + 1)). The last `bounded` pairs are
    Dirichlet distributions with that own variance, the others normal.
    """

    shared: Floats
    own: Floats
    weights: Floats
    bounded: int = 0

    @property
    def normal(self) -> int:
        """How many pairs are normal."""
        return len(self.own) - self.bounded

    def with_bounds(self, most: float) -> "Prior":
        """The same with Dirichlet distributions in place of large own variances up to the most that they can have."""
        uneven = (self.own >= BOUNDED_FROM) & (self.own <= most)
        place = np.maximum(np.round(np.log(self.own[uneven]) / np.log(STEP)), 0)
        found = np.unique(place)
        weights = [self.weights[uneven][place == each].sum() for each in found]
        return Prior(
            shared=np.concatenate([self.shared[~uneven], np.zeros(len(found))]),
            own=np.concatenate([self.own[~uneven], STEP**found]),
            weights=np.concatenate([self.weights[~uneven], weights]),
            bounded=len(found),
        )

    def only(self, kept: NDArray[np.bool_]) -> "Prior":
        """Some of the pairs."""
        return Prior(self.shared[kept], self.own[kept], self.weights[kept], int(kept[self.normal :].sum()))


@dataclass(frozen=True)
class Extra:
    """Variances of what one attribute may have beyond the others, and how credible each is if one has; how credible it
    is that one has, if the others have nothing of their own and if they have.
    """

    variances: Floats
    weights: Floats
    chance_if_alike: float
    chance_otherwise: float

    def chance(self, own: Floats) -> Floats:
        """How credible it is that one has, for each of these own variances."""
        return np.where(own == 0, self.chance_if_alike, self.chance_otherwise)


@dataclass(frozen=True)
class Seen:
    """In how many directions something is seen, and with how much noise in each."""

    directions: int
    noise: float

    @classmethod
    def with_information(cls, known: Sequence[float] | Floats) -> "Seen":
        """Directions of which so much is known."""
        return cls(len(known), 1 / max(float(np.mean(known)), NONE))


def prior(attributes: int, groups: int, everything: Seen, shared: Seen | None, own: Seen | None, most: float) -> Prior:
    """The prior where all of the frequencies, what attributes share, and what each has of its own are seen like this.

    Attributes with the same labels are a group; where every group is one attribute, nothing can be shared. No variance
    is larger than `most`.
    """
    alone, alone_weights = variances(everything.noise, most)
    part = AS_PUBLISHED * max(0.0, 1 - 2 / everything.directions) if everything.noise <= most else 0.0
    together = SHARED * own.directions / (own.directions + 1) if shared is not None and own is not None else 0.0
    alone_weights *= (1 - part) * (1 - together)
    below = min(STEPS_BELOW, round(np.log(max(attributes - 1, 1)) / np.log(STEP)))
    alone_weights[1 + STEPS_BELOW - below] += part
    if shared is None or own is None:
        alone_weights *= 1 - ARBITRARY
        alone_weights[1 + np.argmin(np.abs(np.log(alone[1:])))] += ARBITRARY
        return Prior(np.zeros(len(alone)), alone, alone_weights)
    common, common_weights = variances(shared.noise, most)
    apart, apart_weights = variances(own.noise, most, HEAVY_APART)
    from_another = own.directions / (attributes - groups)
    alike = ALIKE * from_another**2 / (from_another**2 + HALF_AS_ALIKE**2)
    apart_weights *= 1 - alike
    apart_weights[0] += alike
    both = (1 - part) * together * np.outer(common_weights, apart_weights)
    return Prior(
        shared=np.concatenate([np.zeros(len(alone)), np.repeat(common, len(apart))]),
        own=np.concatenate([alone, np.tile(apart, len(common))]),
        weights=np.concatenate([alone_weights, both.ravel()]),
    )


def with_one_apart(before: Prior, own: Seen, most: float) -> tuple[Prior, Extra]:
    """The prior if one attribute may have more of its own than the others, by noise or more, and that extra part."""
    alike = before.own == 0
    nothing = (1 - ALL_BUT_ONE) * float(before.weights[alike].sum())
    scale = np.where(alike, 1 - ALL_BUT_ONE + ALL_BUT_ONE * (1 - ALL_BUT_ONE) / nothing, 1 - ALL_BUT_ONE)
    sizes, weights = (each[1 + STEPS_BELOW :] for each in variances(own.noise, most, HEAVY_APART))
    return replace(before, weights=before.weights * scale), Extra(
        sizes, weights / weights.sum(), (nothing * ONE_APART + ALL_BUT_ONE) / (nothing + ALL_BUT_ONE), ONE_APART
    )


def variances(noise: float, most: float, heavy: float = HEAVY) -> tuple[Floats, Floats]:
    """Variances of one part, and how credible each is if λ has this power."""
    steps = max(0, int(np.floor(np.log(most / noise) / np.log(STEP) + 1e-9)))
    above = min(noise, most) * STEP ** np.arange(-STEPS_BELOW, steps + 0.5)
    bounds = np.concatenate([[0.0], above / STEP**0.5, [above[-1] * STEP**0.5]])
    held = np.concatenate([[0.0], above])
    weights = -np.diff((noise / (noise + bounds)) ** (1 - heavy)) / np.maximum(held, 1.0) ** UNEVEN
    weights /= weights.sum()
    return held, weights
