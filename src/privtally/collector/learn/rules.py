"""The paper's rules for copy probabilities: Proposition 1, and the formula behind the published numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations

import numpy as np

from privtally.exact.arrays import Floats
from privtally.exact.probability import nearest_probability
from privtally.mechanisms.channel import randomized_response
from privtally.names import Rule

ROUNDING = 1e-12
"""Errors that differ by less than this part are the same."""


def copy_probabilities(
    frequencies: Sequence[Floats], epsilon: float, phase2_users: int, rule: Rule
) -> tuple[tuple[float, ...], ...]:
    """copy_probability[pivot][other] for every ordered pair; 1 on the diagonal."""
    scale = float(randomized_response(Fraction(epsilon), len(frequencies[0])).scale)
    choose = COPY_RULES[rule]
    copies = np.eye(len(frequencies))
    for pivot, other in permutations(range(len(frequencies)), 2):
        best = choose(frequencies[pivot], frequencies[other], scale, phase2_users)
        copies[pivot, other] = nearest_probability(float(best))
    return tuple(tuple(row) for row in copies.tolist())


def proposition(pivot: Floats, other: Floats, scale: float, users: int) -> Floats:
    """The paper's Proposition 1 with its endpoint comparison: the copy probability that minimises the mean squared
    error of `other` in the paper's estimator, for the pivot's and the other's frequencies (along the last axis) and
    Δ = `scale`.

    Where the pivot is exactly uniform, copying changes nothing, and the answer is 1/k.
    """
    size = pivot.shape[-1]
    c0 = (other + (1 - pivot) / (size - 1)) / 2
    c1 = (size * pivot - 1) / (size - 1) / 2
    error = PairError(other, scale, users)
    quadratic, linear, _ = error.parabola(c0, c1)
    chosen: Floats = np.where((quadratic == 0) & (linear == 0), 1 / size, _lowest(quadratic, linear))
    return chosen


@dataclass(frozen=True)
class PairError:
    """The mean squared error of an attribute in the paper's estimator, up to what no fill changes, if half of the
    reports answer it and half are filled from one other attribute.
    """

    frequencies: Floats
    scale: float
    """Δ of the attribute's own randomized response."""
    users: int

    def parabola(self, c0: Floats, c1: Floats) -> tuple[Floats, Floats, Floats]:
        """The coefficients of p², p and 1 where the expected estimate is c0 + c1·p; that of p² is never negative."""
        q = (1 - self.scale) / self.frequencies.shape[-1]
        alpha = 1 - 1 / self.users
        beta = -2 * self.frequencies + (1 - 2 * q) / (self.users * self.scale)
        quadratic = alpha * np.sum(c1**2, axis=-1)
        linear = np.sum(c1 * (2 * alpha * c0 + beta), axis=-1)
        return quadratic, linear, np.sum(c0 * (alpha * c0 + beta), axis=-1)

    def best_match(self, never: Floats, always: Floats) -> float | None:
        """Proposition 1 for any sizes: the best probability of a match if fills that never match have one distribution
        and fills that always do another; None where even fills are at least as good.
        """
        size = len(self.frequencies)
        q = (1 - self.scale) / size
        # What the estimator makes of a fill's distribution, as if it were that of a private answer.
        read = [(fill - q) / self.scale for fill in (never, always, np.full(size, 1 / size))]
        quadratic, linear, constant = self.parabola((self.frequencies + read[0]) / 2, (read[1] - read[0]) / 2)
        best = float(_lowest(quadratic, linear))
        error = quadratic * best**2 + linear * best + constant
        even = self.parabola((self.frequencies + read[2]) / 2, np.zeros(size))[2]
        return best if error < even - ROUNDING * abs(even) else None


def _lowest(quadratic: Floats, linear: Floats) -> Floats:
    """Where quadratic · p² + linear · p is least between 0 and 1: comparing the ends is clipping the middle."""
    middle = np.divide(-linear, 2 * quadratic, out=np.where(linear < 0, 1.0, 0.0), where=quadratic > 0)
    clipped: Floats = np.clip(middle, 0, 1)
    return clipped


def published(pivot: Floats, other: Floats, scale: float, users: int) -> Floats:
    """The formula behind the paper's published numbers: the one for two labels, used for any number of them.

    With two labels it is Proposition 1 for the opposite direction: published(a, b) = proposition(b, a). With more it is
    nearly always close to 1.
    """
    size = pivot.shape[-1]
    gap = 1 - pivot - other
    slope = 2 * other - 1
    start = (1 - scale) / size + scale / 2 * (gap + 2 * pivot)
    step = scale / 2 * slope
    noise = users * scale**2
    linear = np.sum(gap * slope / 2 + step * (1 - 2 * start) / noise, axis=-1)
    quadratic = np.sum(slope**2 / 4 - step**2 / noise, axis=-1)
    middle = np.divide(-linear, 2 * quadratic, out=np.full_like(linear, 1 / size), where=quadratic != 0)
    chosen: Floats = np.clip(middle, 0, 1)
    return chosen


COPY_RULES: Mapping[Rule, Callable[[Floats, Floats, float, int], Floats]] = {
    "proposition": proposition,
    "published": published,
}
