"""The copy probability for Phase II that allows for what Phase I leaves uncertain.

Phase I says how credible each pair of variances is: how much attributes share, and how much each has of its own. For
each pair and each copy probability the error that the pooled estimate will have follows from the information in both
phases. The choice minimises the mean of its logarithm, so that no case counts for more because its errors are larger,
among those that are nowhere credible much worse than fills that bet on nothing. Like attributes ask for copies, unlike
ones for differences from the pivot, and where Phase I cannot tell, neither is bet on. Copies that run one way within
small groups, which serve both, are weighed against the best of those.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from privtally.collector.estimate.inverse import Floats
from privtally.collector.estimate.likelihood import Likelihood, block_diagonal
from privtally.collector.estimate.pooled import MOST_LABELS, Labels, Model
from privtally.collector.estimate.prior import Prior
from privtally.collector.learn.copying import Told, told
from privtally.collector.learn.directed import Directed, copy_matrix, told_one_way
from privtally.documents.counts import WHOLE_REPORT_LIMIT
from privtally.documents.plan import Plan
from privtally.exact.probability import nearest_probability
from privtally.mechanisms.channel import randomized_response

CANDIDATES = np.unique(np.concatenate([np.linspace(0, 1, 41), [0.0125, 0.0375, 0.9875, 0.995]]))
CREDIBLE = 0.01
"""Pairs of variances that explain Phase I less well than this, next to the one that does best, are given up."""
SLACK = 1.04
"""In no credible case may the error exceed that of even fills by more than this factor."""
INDIFFERENT = 0.005
"""Choices whose errors differ by less than this part are as good as each other; the one that bets or tells least of the
pivot is taken."""
MOST_UNLIKE = 40
"""Schemas with more attributes that do not all share their labels are not analysed."""
GROUPS, MOST_ONE_WAY = (2, 3), 40
"""The sizes of groups within which copies may run one way, and how many attributes at most there may be for that."""
ROUNDING = 1 + 1e-9
"""Bounds on a guess are kept up to the rounding of sums."""
NO_ERROR = 1e-300
"""Both variances can be 0; logarithms need more."""
UNLIKE = Prior(shared=np.zeros(1), own=np.full(1, 1e9), weights=np.ones(1))
"""Attributes about which nothing is known beforehand."""


@dataclass(frozen=True)
class Choice:
    """copy_probability[pivot][other], and how often an observer of a report names its pivot."""

    copy_probability: Floats
    pivot_guess: float

    @classmethod
    def same_for_all(cls, probability: float, attributes: int, pivot_guess: float) -> "Choice":
        copies = np.full((attributes, attributes), probability)
        np.fill_diagonal(copies, 1.0)
        return cls(copies, min(pivot_guess, 1.0))


def choose(plan: Plan, phase1: Likelihood, reports: int, phase2_users: int, max_pivot_guess: float) -> Choice:
    """The choice for so many people in Phase II, from what Phase I's reports, so many, say; 1/k, which bets on nothing,
    where the schema is too large.
    """
    attributes, size = len(plan.schema.attributes), plan.schema.sizes[0]
    labels = [attribute.labels for attribute in plan.schema.attributes]
    kept = min(size**attributes, phase2_users) <= WHOLE_REPORT_LIMIT
    too_large = attributes * size > MOST_LABELS or (len(set(labels)) > 1 and attributes > MOST_UNLIKE)
    candidates, tells = (None, None) if too_large else _bets(attributes, size, whole=kept)
    if candidates is None or tells is None:
        return Choice.same_for_all(nearest_probability(1 / size), attributes, 1 / attributes)
    model = Model(labels)
    slope, information = phase1.at(model.uniform)
    first = reports * float(plan.sampler.channels[0].scale) ** 2 * size
    second = phase2_users * float(randomized_response(Fraction(plan.epsilon), size).scale) ** 2
    even = first + second * tells.apart[-1]
    prior = model.prior_for(np.diag(np.full(len(information), even)))
    weights = model.posterior(prior, slope, information).weights
    errors = pooled_errors(prior, labels, first, second, tells)
    explained = weights / prior.weights
    credible = explained > CREDIBLE * explained.max()
    safe = (errors[:, credible] <= SLACK * errors[-1, credible]).all(axis=1)
    # The estimate will not know how unlike the attributes are: Phase I, noisier than both, never rules out enough.
    unlike = pooled_errors(UNLIKE, labels, first, second, tells)[:, 0]
    safe &= unlike <= SLACK * unlike[-1]
    # Even fills, the last candidate, come as near to 1/d as whole multiples of 2^-32 allow.
    secret = ROUNDING * max(max_pivot_guess, tells.pivot_guess[-1])
    expected = np.log(errors) @ weights
    good = safe & (tells.pivot_guess <= secret)
    good &= expected <= np.min(expected[good]) + INDIFFERENT
    best = min(np.flatnonzero(good), key=lambda place: abs(candidates[place] - 1 / size))
    bet = Choice.same_for_all(float(candidates[best]), attributes, float(tells.pivot_guess[best]))
    options = [(float(expected[best]), bet)]
    for most in GROUPS if 2 <= attributes <= MOST_ONE_WAY else ():
        found = one_way(attributes, size, most, first, second, secret, whole=kept)
        if found is not None:
            choice, information = found
            error = matrix_errors(prior, labels, first, second, information[None])[0]
            options.append((float(np.log(error) @ weights) + INDIFFERENT, choice))
    return min(options, key=lambda option: option[0])[1]


def one_way(
    attributes: int, size: int, most: int, first: float, second: float, secret: float, *, whole: bool
) -> tuple[Choice, Floats] | None:
    """Copies that run one way within groups, the best for attributes about which nothing is known, and what they tell;
    None if all would name the pivot too often.

    They tell at least as much as even fills do, whatever the direction, and so bet on nothing.
    """
    ahead, back, tells = _ways(attributes, size, most, whole=whole)
    kinds = {group.shape[-1]: group for group in tells.groups}
    least = np.min([np.linalg.eigvalsh(group)[:, 0] for group in kinds.values()], axis=0)
    left = sum(
        np.trace(np.linalg.inv(first * np.eye(group.shape[-1]) + second * group), axis1=-2, axis2=-1)
        for group in tells.groups
    )
    left = np.where((tells.pivot_guess <= secret) & (least * ROUNDING >= size / attributes**2), left, np.inf)
    best = int(np.argmin(left))
    if not np.isfinite(left[best]):
        return None
    copies = copy_matrix(ahead[best], back[best], nearest_probability(1 / size), attributes, most)
    information = block_diagonal([group[best] for group in tells.groups])
    return Choice(copies, min(float(tells.pivot_guess[best]), 1.0)), information


@lru_cache(maxsize=16)
def _bets(attributes: int, size: int, *, whole: bool) -> tuple[Floats, Told | None]:
    """Copy probabilities for all pairs, even fills last, and what each tells."""
    candidates = np.array([nearest_probability(p) for p in (*CANDIDATES, 1 / size)])
    return candidates, told(candidates, attributes, size, whole=whole)


@lru_cache(maxsize=16)
def _ways(attributes: int, size: int, most: int, *, whole: bool) -> tuple[Floats, Floats, Directed]:
    """Copy probabilities ahead and back, and what each pair of them tells."""
    steps = np.array([nearest_probability(p) for p in CANDIDATES])
    ahead, back = (each.ravel() for each in np.meshgrid(steps, steps))
    ahead, back = ahead[ahead < back], back[ahead < back]
    return ahead, back, told_one_way(ahead, back, attributes, size, most, whole=whole)


def pooled_errors(prior: Prior, labels: Labels, first: float, second: float, tells: Told) -> Floats:
    """The pooled estimate's error (copy probability, pair of variances), if it knew the variances.

    `first` is Phase I's information on each attribute, `second` what Phase II's people amount to in reports whose
    private pivot is kept with certainty.
    """
    unit = len(labels[0]) * (len(labels[0]) + 1)
    own, shared = prior.own / unit, prior.shared / unit
    if len(set(labels)) == 1:
        alike = own + len(labels) * shared
        errors: Floats = alike / (1 + alike * (first + second * tells.shared[:, None]))
        errors += (len(labels) - 1) * own / (1 + own * (first + second * tells.apart[:, None]))
        return np.asarray(np.maximum(errors, NO_ERROR))
    cross = (tells.shared - tells.apart) / len(labels)
    information = tells.apart[:, None, None] * np.eye(len(labels)) + cross[:, None, None]
    return matrix_errors(prior, labels, first, second, information)


def matrix_errors(prior: Prior, labels: Labels, first: float, second: float, information: Floats) -> Floats:
    """The same where a report tells what these matrices say, attribute by attribute."""
    unit = len(labels[0]) * (len(labels[0]) + 1)
    own, shared = prior.own / unit, prior.shared / unit
    same = np.eye(len(labels))
    groups = np.array([[float(one == two) for two in labels] for one in labels])
    before = own[:, None, None] * same + shared[:, None, None] * groups
    after = first * same + second * information
    left = np.linalg.solve(same + before @ after[:, None], np.broadcast_to(before, (len(after), *before.shape)))
    return np.asarray(np.maximum(np.trace(left, axis1=-2, axis2=-1), NO_ERROR))
