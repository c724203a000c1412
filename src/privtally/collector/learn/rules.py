"""The paper's rules for copy probabilities: Proposition 1, and the formula behind the published numbers."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np

from privtally.exact.arrays import Floats
from privtally.exact.probability import nearest_probability
from privtally.mechanisms.channel import randomized_response
from privtally.names import Rule


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
    q = (1 - scale) / size
    c0 = (other + (1 - pivot) / (size - 1)) / 2
    c1 = (size * pivot - 1) / (size - 1) / 2
    alpha = 1 - 1 / users
    beta = -2 * other + (1 - 2 * q) / (users * scale)
    quadratic = alpha * np.sum(c1**2, axis=-1)
    linear = np.sum(c1 * (2 * alpha * c0 + beta), axis=-1)
    # The error is quadratic · p² + linear · p + constant, and quadratic ≥ 0: comparing the ends is clipping the middle.
    middle = np.divide(-linear, 2 * quadratic, out=np.where(linear < 0, 1.0, 0.0), where=quadratic > 0)
    chosen: Floats = np.where((quadratic == 0) & (linear == 0), 1 / size, np.clip(middle, 0, 1))
    return chosen


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
