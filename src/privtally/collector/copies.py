"""Corr-RR: what fills an attribute goes with the pivot's private label, or differs from it.

Between attributes with the same labels it is a copy; between others a label of the class that matches, and an even fill
where nothing goes together.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, permutations
from math import factorial, perm, prod

import numpy as np

from privtally.collector.estimate import unbiased
from privtally.documents.campaign import History
from privtally.errors import LearningError
from privtally.exact.rational import nearest_probability
from privtally.exact.types import Floats
from privtally.mechanisms.channels import randomized_response
from privtally.mechanisms.fills import (
    AlignedFill,
    AlignedPair,
    Classes,
    CopyFill,
    Places,
    UniformFill,
    alignment_of,
    label_by_label,
)
from privtally.mechanisms.named import PartPlan, RandomizedResponse, asking, best_channel
from privtally.names import RULES_LABEL_BY_LABEL, Rule

ROUNDING = 1e-12
"""Errors that differ by less than this part are the same."""
SLACK = 1.04
"""Without it `robust` copies always where Phase I is too noisy to tell attributes apart, and Phase II cannot either."""
MOST_ATTRIBUTES = 30
"""With more attributes reports have too many patterns of equal codes; `robust` takes even fills."""
LEAST = 1e-12
"""The least variance, so that information is finite."""


def copy_probabilities(
    frequencies: Sequence[Floats], epsilon: float, phase2_users: int, rule: Rule, variances: Sequence[Floats] = ()
) -> tuple[tuple[float, ...], ...]:
    """copy_probability[pivot][other] for every ordered pair; 1 on the diagonal. `robust` needs the variances."""
    attributes, size = len(frequencies), len(frequencies[0])
    scale = float(randomized_response(Fraction(epsilon), size).scale)
    if rule == "robust":
        spreads = [spread(own) for own in variances]
        safe = safe_copies(attributes, size, float(np.mean([1 / own for own in spreads])), phase2_users * scale**2)
    copies = np.eye(attributes)
    for pivot, other in permutations(range(attributes), 2):
        if rule == "robust":
            error = PairError(frequencies[other], scale, phase2_users)
            best = nearest(safe, error.best_copy(frequencies[pivot], spreads[pivot]))
        else:
            best = float(COPY_RULES[rule](frequencies[pivot], frequencies[other], scale, phase2_users))
        copies[pivot, other] = nearest_probability(best)
    return tuple(tuple(row) for row in copies.tolist())


def proposition(pivot: Floats, other: Floats, scale: float, users: int) -> Floats:
    """The paper's Proposition 1 with its endpoint comparison: the copy probability that minimises the mean squared
    error of `other` in the paper's estimator, for the pivot's and the other's frequencies (along the last axis) and
    Δ = `scale`.

    Where the pivot is exactly uniform, copying changes nothing, and the answer is 1/k.
    """
    return PairError(other, scale, users).best_copy(pivot)


@dataclass(frozen=True)
class PairError:
    """The mean squared error of an attribute in the paper's estimator, up to what no fill changes, if half of the
    reports answer it and half are filled from one other attribute.

    It is a parabola in the probability p of a copy or a match. Where the pivot's frequencies are estimates whose errors
    have the variance σ² in every direction, their squares are larger than the true ones by σ² for each direction; that
    is subtracted.
    """

    frequencies: Floats
    scale: float
    """Δ of the attribute's own randomized response."""
    users: int

    def best_copy(self, pivot: Floats, variance: float = 0.0) -> Floats:
        """The copy probability with the least error, for pivots along all axes but the last."""
        size = pivot.shape[-1]
        c0 = (self.frequencies + (1 - pivot) / (size - 1)) / 2
        c1 = (size * pivot - 1) / (size - 1) / 2
        quadratic, linear, _ = self._parabola(c0, c1)
        noise = (1 - 1 / self.users) * variance / (4 * (size - 1))
        quadratic, linear = quadratic - size**2 * noise, linear + 2 * size * noise
        chosen: Floats = np.where((quadratic == 0) & (linear == 0), 1 / size, _lowest(quadratic, linear))
        return chosen

    def best_match(self, pivot: Floats, never: Floats, always: Floats, variance: float = 0.0) -> float | None:
        """Proposition 1 for any sizes: the best probability of a match if `never` has the law of a fill that never
        matches, given each of the pivot's labels, and `always` that of one that always does; None where even fills are
        at least as good.
        """
        size = len(self.frequencies)
        # What the estimator makes of a fill's law, as if it were that of a private answer.
        even = np.full(size, 1 / size)
        never, always, even = ((law - (1 - self.scale) / size) / self.scale for law in (never, always, even))
        coefficients = self._parabola((self.frequencies + pivot @ never) / 2, pivot @ (always - never) / 2)
        start, step = (law - law.mean(axis=0) for law in (never / 2, (always - never) / 2))
        noise = (
            (1 - 1 / self.users) * variance * np.array([np.sum(step**2), 2 * np.sum(start * step), np.sum(start**2)])
        )
        quadratic, linear, constant = np.array(coefficients) - noise
        best = float(_lowest(quadratic, linear))
        error = quadratic * best**2 + linear * best + constant
        evenly = self._parabola((self.frequencies + even) / 2, np.zeros(size))[2]
        return best if error < evenly - ROUNDING * abs(evenly) else None

    def _parabola(self, c0: Floats, c1: Floats) -> tuple[Floats, Floats, Floats]:
        """The coefficients of p², p and 1 where the expected estimate is c0 + c1·p; that of p² is never negative."""
        q = (1 - self.scale) / self.frequencies.shape[-1]
        alpha = 1 - 1 / self.users
        beta = -2 * self.frequencies + (1 - 2 * q) / (self.users * self.scale)
        quadratic = alpha * np.sum(c1**2, axis=-1)
        linear = np.sum(c1 * (2 * alpha * c0 + beta), axis=-1)
        return quadratic, linear, np.sum(c0 * (alpha * c0 + beta), axis=-1)


def _lowest(quadratic: Floats, linear: Floats) -> Floats:
    """Where quadratic · p² + linear · p is least between 0 and 1: comparing the ends is clipping the middle, except for
    a parabola that opens downwards.
    """
    ends = np.where(quadratic + linear < 0, 1.0, 0.0)
    clipped: Floats = np.clip(np.divide(-linear, 2 * quadratic, out=ends, where=quadratic > 0), 0, 1)
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
"""The paper's rules, which need nothing but frequencies."""


def spread(variances: Floats) -> float:
    """σ² of an attribute's frequencies in every direction, from the variance of each."""
    return max(float(variances.sum()) / (len(variances) - 1), LEAST)


def nearest(safe: Floats, probability: Floats | float) -> float:
    """The nearest of some probabilities."""
    return float(safe[np.argmin(np.abs(safe - probability))])


def safe_copies(attributes: int, size: int, first: float, second: float) -> Floats:
    """The copy probabilities with at most SLACK times the error of even fills at uniform answers, if one holds for all
    pairs of so many attributes with so many labels, and nothing is known of their likeness.

    `first` is the information of Phase I in every direction, `second` the number of people in Phase II times λ².
    """
    steps, common, contrast = copy_information(attributes, size)
    errors = 1 / (first + second * common) + (attributes - 1) / (first + second * contrast)
    return np.asarray(steps[errors <= SLACK * errors[steps == 1 / size]])


@lru_cache(maxsize=64)
def copy_information(attributes: int, size: int) -> tuple[Floats, Floats, Floats]:
    """Copy probabilities, and the information of one whole report whose pivot is kept with certainty: on a difference
    that all attributes share, and on one between attributes.

    At uniform answers it depends on how many attributes have each code. Let w be the posterior chance that an attribute
    is the pivot and W its sum over the attributes with a code. With k labels the information in all directions of a
    label is k · E[Σ w²], and on the shared one k² (E[Σ W²] − 1/k) / (k − 1) divided by the number of attributes.
    """
    patterns = list(_patterns(attributes, attributes, size))
    many = np.array([own + (0,) * (attributes - len(own)) for own in patterns])  # (pattern, code): how many have it
    reports = np.array([float(_reports(own, size)) for own in patterns])
    steps = np.unique([*np.linspace(0, 1, 41), 1 / size])
    copied = steps[:, None, None]
    fills = copied ** np.maximum(many - 1, 0) * ((1 - copied) / (size - 1)) ** (attributes - many) * (many > 0)
    total = np.sum(many * fills, axis=2, keepdims=True)
    posterior = np.divide(fills, total, out=np.zeros_like(fills), where=total > 0)
    chances = reports * total[..., 0] / (attributes * size)
    alone = np.sum(chances * np.sum(many * posterior**2, axis=2), axis=1)
    together = np.sum(chances * np.sum((many * posterior) ** 2, axis=2), axis=1)
    common = size**2 * (together - 1 / size) / (size - 1) / attributes
    return steps, common, np.maximum(size * alone - common, 0) / (attributes - 1)


def _patterns(attributes: int, largest: int, codes: int) -> Iterator[tuple[int, ...]]:
    """How many attributes have each code, the most frequent first: partitions into so many parts at most."""
    if attributes == 0:
        yield ()
    elif codes:
        for most in range(min(attributes, largest), 0, -1):
            for rest in _patterns(attributes - most, most, codes - 1):
                yield (most, *rest)


def _reports(pattern: tuple[int, ...], size: int) -> int:
    orders = factorial(sum(pattern)) // prod(map(factorial, pattern))
    same = prod(factorial(pattern.count(many)) for many in set(pattern))
    return orders * perm(size, len(pattern)) // same


MOST_MATCHED = 4_096
"""With more labels in a group that do not correspond one by one, fills are even."""


def learn_copies(history: History, group: Places, budget: Fraction, rule: Rule, people: int) -> PartPlan:
    """Copy probabilities by the rule, or probabilities of matches where labels do not correspond one by one."""
    plan = history[-1][0]
    sizes = plan.schema.sizes
    # What the rule takes to be safe is safe where all attributes are shown.
    some = plan.decoys is not None and plan.decoys < len(group) - 1
    large = len(group) > MOST_ATTRIBUTES or any(_large(budget, sizes[own]) for own in group)
    if rule == "robust" and (some or large):
        return asking(group, sizes, budget, UniformFill(), decoys=plan.decoys)
    fill = (_copies if label_by_label(plan.schema, group) else _matches)(history, group, budget, rule, people)
    # The paper's rules are for randomized response, whatever the number of labels.
    channels = None if isinstance(fill, UniformFill) else (RandomizedResponse(),) * len(group)
    return asking(group, sizes, budget, fill, decoys=plan.decoys, channels=channels)


def _large(budget: Fraction, size: int) -> bool:
    """Whether labels are so many that randomized response, of which the rules are, is not their best channel."""
    return not isinstance(best_channel(budget, size), RandomizedResponse)


def _copies(history: History, group: Places, budget: Fraction, rule: Rule, people: int) -> CopyFill:
    found = unbiased(history, [])
    frequencies, variances = ([own[place] for place in group] for own in (found.frequencies, found.variances))
    return CopyFill(copy_probabilities(frequencies, float(budget), people, rule, variances))


def _matches(history: History, group: Places, budget: Fraction, rule: Rule, people: int) -> AlignedFill | UniformFill:
    """For each pair and direction the probability of a match with the least error, or an even fill."""
    if rule in RULES_LABEL_BY_LABEL:
        raise LearningError(
            f"the rule '{rule}' is for questions whose answers correspond one by one; use robust or proposition"
        )
    schema = history[-1][0].schema
    pairs = {
        (one, two): classes
        for one, two in combinations(range(len(group)), 2)
        if (classes := alignment_of(schema, group[one], group[two])) is not None
    }
    if not pairs or sum(schema.sizes[own] for own in group) > MOST_MATCHED:
        return UniformFill()
    found = unbiased(history, [])
    frequencies = [found.frequencies[own] for own in group]
    spreads = [spread(found.variances[own]) for own in group]
    asked = [RandomizedResponse().channel(budget, schema.sizes[own]) for own in group]

    def match(pair: tuple[int, int], classes: Classes, pivot: int, other: int) -> float | None:
        private = asked[pivot].push(np.eye(asked[pivot].inputs))
        fills = [AlignedPair.of(pair, classes, (p, p)).channel(pivot) for p in (0.0, 1.0)]
        never, always = (fill.push(private) for fill in fills if fill is not None)
        scale = float(asked[other].scale or 0)
        noise = spreads[pivot] if rule == "robust" else 0.0
        best = PairError(frequencies[other], scale, people).best_match(frequencies[pivot], never, always, noise)
        if best is not None and rule == "robust":
            held = sum(1 for own in classes if own[other == pair[1]])
            best = nearest(safe_copies(len(group), held, 1 / spreads[other], people * scale**2), best)
        return None if best is None else nearest_probability(best)

    stated = ((pair, own, (match(pair, own, *pair), match(pair, own, *pair[::-1]))) for pair, own in pairs.items())
    matched = tuple(AlignedPair.of(pair, own, chances) for pair, own, chances in stated if chances != (None, None))
    return AlignedFill(matched) if matched else UniformFill()
