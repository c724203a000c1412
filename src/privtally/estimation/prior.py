"""How credible the sizes of differences are before any report, in units of the reports' own noise.

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

LARGEST = 1.0
"""The largest variance; the unit is that of frequencies drawn from Dirichlet(1)."""
STEP = 2.5
"""Each variance is so many times the one before."""
SMALLEST = 0.1
"""The smallest variance above 0, in units of the noise, or of the largest where the noise is larger."""
HEAVY = 0.5
"""λ has a density in proportion to λ to minus this power."""
AS_LARGE_AS_NOISE = 0.4
"""How credible it is in many directions that nothing is shared and λ is one half; in two and fewer it is not."""
SHARED = 0.8
"""How credible it is that attributes share something, where there are many directions to tell by."""


@dataclass(frozen=True)
class Prior:
    """Pairs of variances, of what attributes share and of what each has of its own, and how credible each is."""

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
        return cls(len(known), 1 / max(float(np.mean(known)), 1e-12))


def prior(shared: Seen, own: Seen, everything: Seen) -> Prior:
    """The prior where what attributes share, what each has of its own, and all of it are seen like this."""
    alone, alone_weights = variances(everything.noise, AS_LARGE_AS_NOISE * max(0.0, 1 - 2 / everything.directions))
    common, common_weights = variances(shared.noise, 0)
    apart, apart_weights = variances(own.noise, 0)
    together = SHARED * own.directions / (own.directions + 1)
    return Prior(
        shared=np.concatenate([np.zeros(len(alone)), np.repeat(common, len(apart))]),
        own=np.concatenate([alone, np.tile(apart, len(common))]),
        weights=np.concatenate(
            [(1 - together) * alone_weights, together * np.outer(common_weights, apart_weights).ravel()]
        ),
    )


def variances(noise: float, as_large_as_noise: float) -> tuple[Floats, Floats]:
    """Variances of one part, and how credible each is."""
    steps = int(np.ceil(np.log(LARGEST / (SMALLEST * min(noise, LARGEST))) / np.log(STEP)))
    above = LARGEST * STEP ** -np.arange(steps, -0.5, -1)
    bounds = np.concatenate([[0.0], above / STEP**0.5, [LARGEST * STEP**0.5]])
    weights = -np.diff((noise / (noise + bounds)) ** (1 - HEAVY))
    weights *= (1 - as_large_as_noise) / weights.sum()
    weights[1 + np.argmin(np.abs(np.log(above / noise)))] += as_large_as_noise
    return np.concatenate([[0.0], above]), weights
