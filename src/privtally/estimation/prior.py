"""How credible the sizes of differences are before any report, on a grid in units of the reports' own noise.

What is seen of a difference is the difference and noise. The noise's share of that, λ = noise / (noise + variance),
decides how far an estimate is pulled, so that the prior is stated for λ: heavy towards 0, where large differences are
left alone (Strawderman's prior), and in many directions with a part at one half. A prior stated for frequencies would
be bold with few reports and timid with many.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STEP = 2.5
"""Each variance is so many times the one before."""
STEPS_BELOW = 3
"""How many variances above 0 are smaller than the noise."""
HEAVY = 0.5
"""λ has a density in proportion to λ to minus this power."""
AS_LARGE_AS_NOISE = 0.4
"""How credible it is in many directions that nothing is shared and λ is one half; in two and fewer it is not."""
UNEVEN = 1.0
"""Beyond the spread of Dirichlet(1) credibility falls with this power of the variance: few frequencies are that uneven,
and where some are, many labels say so."""
SHARED = 0.8
"""How credible it is that attributes share something, where there are many directions to tell by."""
NONE = 1e-12
"""Information below this is none."""


@dataclass(frozen=True)
class Prior:
    """Pairs of variances, of what attributes share and of what each has of its own, and how credible each is.

    The unit is the variance of frequencies drawn from Dirichlet(1), 1/(k(k + 1)).
    """

    shared: Floats
    own: Floats
    weights: Floats


@dataclass(frozen=True)
class Seen:
    """In how many directions something is seen, and with how much noise in each."""

    directions: int
    noise: float

    @classmethod
    def with_information(cls, known: Sequence[float] | Floats) -> "Seen":
        """Directions of which so much is known."""
        return cls(len(known), 1 / max(float(np.mean(known)), NONE))


def prior(everything: Seen, shared: Seen | None, own: Seen | None, most: float) -> Prior:
    """The prior where all of the frequencies, what attributes share, and what each has of its own are seen like this.

    No variance is larger than `most`. Where no two attributes have the same labels, nothing can be shared.
    """
    even = AS_LARGE_AS_NOISE * max(0.0, 1 - 2 / everything.directions)
    alone, alone_weights = variances(everything.noise, even, most)
    if shared is None or own is None:
        return Prior(np.zeros(len(alone)), alone, alone_weights)
    common, common_weights = variances(shared.noise, 0, most)
    apart, apart_weights = variances(own.noise, 0, most)
    together = SHARED * own.directions / (own.directions + 1)
    return Prior(
        shared=np.concatenate([np.zeros(len(alone)), np.repeat(common, len(apart))]),
        own=np.concatenate([alone, np.tile(apart, len(common))]),
        weights=np.concatenate(
            [(1 - together) * alone_weights, together * np.outer(common_weights, apart_weights).ravel()]
        ),
    )


def variances(noise: float, as_large_as_noise: float, most: float) -> tuple[Floats, Floats]:
    """Variances of one part, and how credible each is."""
    steps = max(0, int(np.floor(np.log(most / noise) / np.log(STEP) + 1e-9)))
    above = min(noise, most) * STEP ** np.arange(-STEPS_BELOW, steps + 0.5)
    bounds = np.concatenate([[0.0], above / STEP**0.5, [above[-1] * STEP**0.5]])
    held = np.concatenate([[0.0], above])
    weights = -np.diff((noise / (noise + bounds)) ** (1 - HEAVY)) / (1 + held) ** UNEVEN
    weights /= weights.sum()
    if noise <= most:
        weights *= 1 - as_large_as_noise
        weights[1 + STEPS_BELOW] += as_large_as_noise
    return held, weights
