"""The copy probabilities for Phase II that allow for the uncertainty that Phase I leaves.

Phase I gives a posterior weight to each pair of variances of the shared and the own component. For each pair and each
copy probability the error of the pooled estimate follows from the information in both phases. The choice minimises the
mean of its logarithm, so that pairs with large errors do not decide alone, among choices that are not much worse than
even fills for unlike attributes. Directed copies within small groups have at least the information of even fills in
every direction and are compared with the best of these.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from privtally.collector.estimate.inverse import block_diagonal
from privtally.collector.estimate.likelihood import Likelihood
from privtally.collector.estimate.pooled import MOST_LABELS, Labels, Model
from privtally.collector.estimate.prior import Prior
from privtally.collector.learn.information import (
    CopyInformation,
    DirectedInformation,
    copy_information,
    directed_copies,
    directed_information,
)
from privtally.documents.sub_reports import SUB_REPORT_LIMIT
from privtally.exact.arrays import Floats
from privtally.exact.probability import nearest_probability
from privtally.mechanisms.named import best_channel

CANDIDATES = np.unique(np.concatenate([np.linspace(0, 1, 41), [0.0125, 0.0375, 0.9875, 0.995]]))
"""Copy probabilities to choose from, besides that of even fills."""
SLACK = 1.04
"""With no prior knowledge the error may not exceed that of even fills by more than this factor."""
INDIFFERENT = 0.005
"""Of choices whose mean logarithms of the error differ by less than this, the one nearest to even fills is taken."""
MOST_UNLIKE = MOST_DIRECTED = 40
"""The most attributes that are analysed if their labels differ, and the most for directed copies."""
GROUPS = (2, 3)
"""The sizes of groups for directed copies."""
ROUNDING = 1 + 1e-9
"""Bounds on probabilities are kept up to the rounding of sums."""
NO_ERROR = 1e-300
"""The least error, so that its logarithm is finite."""
UNKNOWN = Prior(shared=np.zeros(1), own=np.full(1, 1e9), weights=np.ones(1))
"""No prior knowledge about any attribute."""


@dataclass(frozen=True)
class Choice:
    """copy_probability[pivot][other], and the probability that an observer of a report names its pivot."""

    copy_probability: Floats
    pivot_guess: float

    @classmethod
    def same_for_all(cls, probability: float, attributes: int, pivot_guess: float) -> "Choice":
        copies = np.full((attributes, attributes), probability)
        np.fill_diagonal(copies, 1.0)
        return cls(copies, min(pivot_guess, 1.0))


@dataclass(frozen=True)
class Bound:
    """How often the pivot may be named.

    `allowed` gives the most from the least that can be had and that of even fills, or refuses. `guess` is that of copy
    probabilities; None if the private codes are uniform to the observer, as they are where the information is known.
    """

    allowed: Callable[[float, float], float]
    guess: Callable[[Floats], float] | None = None


@dataclass(frozen=True)
class _Campaign:
    """What a choice depends on besides the reports of earlier phases.

    `first` is the information of earlier phases on each attribute, `second` the number of people in the next one times
    what a private code says of a label, next to a code that is kept with certainty; `whole` says whether whole reports
    will be kept.
    """

    labels: Labels
    first: float
    second: float
    whole: bool


def too_large(labels: Labels) -> bool:
    """Whether attributes have too many labels, or too many different ones, for copies to be weighed."""
    differ = len(set(labels)) > 1
    return sum(map(len, labels)) > MOST_LABELS or (differ and len(labels) > MOST_UNLIKE)


def choose(labels: Labels, budget: Fraction, earlier: Sequence[Likelihood], people: int, bound: Bound) -> Choice:
    """The choice for attributes with these labels and this budget and for this many people in the next phase, from the
    likelihoods of earlier phases; even fills where reports have too many patterns.
    """
    attributes, size = len(labels), len(labels[0])
    channel = best_channel(budget, size).channel(budget, size)
    codes = channel.outputs
    model = Model(labels)
    scores = [likelihood.at(model.uniform) for likelihood in earlier]
    gradient, known = (np.sum(each, axis=0) for each in zip(*scores, strict=True))
    campaign = _Campaign(
        labels=labels,
        first=float(np.trace(model.basis.T @ known @ model.basis)) / model.basis.shape[1],
        second=people * (channel.inside - channel.meet) * ((channel.same - channel.other) / channel.total) ** 2,
        whole=min(codes**attributes, people) <= SUB_REPORT_LIMIT,
    )
    even = nearest_probability(1 / codes)
    found = _common_copies(attributes, codes, whole=campaign.whole)
    if found is None:
        evenly = Choice.same_for_all(even, attributes, 1 / attributes)
        if bound.guess is not None:
            evenly = replace(evenly, pivot_guess=bound.guess(evenly.copy_probability))
        bound.allowed(evenly.pivot_guess, evenly.pivot_guess)
        return evenly
    candidates, information = found
    place_of_even = int(np.flatnonzero(candidates == even)[0])
    guesses = information.pivot_guess
    if bound.guess is not None:
        each = (Choice.same_for_all(p, attributes, 1.0).copy_probability for p in candidates.tolist())
        guesses = np.array(list(map(bound.guess, each)))
    # The prior is that for the information of all phases, the next one with even fills.
    both = campaign.first + campaign.second * float(information.contrast[place_of_even])
    prior = model.prior_for(np.diag(np.full(len(known), both)))
    weights = model.posterior(prior, gradient, known).weights
    errors = pooled_errors(prior, campaign.labels, campaign.first, campaign.second, information)
    expected = np.log(errors) @ weights
    # The estimate will not know the variances: Phase I, noisier than both phases, never excludes unlike attributes.
    unlike = pooled_errors(UNKNOWN, campaign.labels, campaign.first, campaign.second, information)[:, 0]
    safe = unlike <= SLACK * unlike[place_of_even]
    most_guess = ROUNDING * bound.allowed(float(guesses[safe].min()), float(guesses[place_of_even]))
    allowed = safe & (guesses <= most_guess)
    allowed &= expected <= np.min(expected[allowed]) + INDIFFERENT
    best = min(np.flatnonzero(allowed), key=lambda place: abs(candidates[place] - 1 / codes))
    common = Choice.same_for_all(float(candidates[best]), attributes, float(guesses[best]))
    options = [(float(expected[best]), common)]
    for most in GROUPS if 2 <= attributes <= MOST_DIRECTED else ():
        first, second = campaign.first, campaign.second
        directed = best_directed(
            attributes, codes, most, first, second, most_guess, whole=campaign.whole, guess=bound.guess
        )
        if directed is not None:
            choice, matrix = directed
            error = matrix_errors(prior, campaign.labels, campaign.first, campaign.second, matrix[None])[0]
            options.append((float(np.log(error) @ weights) + INDIFFERENT, choice))
    return min(options, key=lambda option: option[0])[1]


def best_directed(
    attributes: int,
    size: int,
    most: int,
    first: float,
    second: float,
    most_guess: float,
    *,
    whole: bool,
    guess: Callable[[Floats], float] | None = None,
) -> tuple[Choice, Floats] | None:
    """The directed copies with the least error under no prior knowledge, and their information matrix, among those with
    at least the information of even fills in every direction; None if all name the pivot too often.

    `guess` is that of `Bound`; it is asked about the choices with the least errors alone.
    """
    forward, backward, information = _directed_copies(attributes, size, most, whole=whole)
    kinds = {group.shape[-1]: group for group in information.groups}
    least = np.min([np.linalg.eigvalsh(group)[:, 0] for group in kinds.values()], axis=0)
    error = sum(
        np.trace(np.linalg.inv(first * np.eye(group.shape[-1]) + second * group), axis1=-2, axis2=-1)
        for group in information.groups
    )
    allowed = least * ROUNDING >= size / attributes**2
    if guess is None:
        allowed &= information.pivot_guess <= most_guess
    order = np.argsort(np.where(allowed, error, np.inf), kind="stable")[: int(allowed.sum())]
    for best in order[: len(CANDIDATES)].tolist():
        copies = directed_copies(forward[best], backward[best], nearest_probability(1 / size), attributes, most)
        found = float(information.pivot_guess[best]) if guess is None else guess(copies)
        if found <= most_guess:
            matrix = block_diagonal([group[best] for group in information.groups])
            return Choice(copies, min(found, 1.0)), matrix
    return None


@lru_cache(maxsize=16)
def _common_copies(attributes: int, size: int, *, whole: bool) -> tuple[Floats, CopyInformation] | None:
    """Copy probabilities for all pairs, that of even fills among them, and their information."""
    candidates = np.unique([nearest_probability(p) for p in (*CANDIDATES, 1 / size)])
    information = copy_information(candidates, attributes, size, whole=whole)
    return None if information is None else (candidates, information)


@lru_cache(maxsize=16)
def _directed_copies(
    attributes: int, size: int, most: int, *, whole: bool
) -> tuple[Floats, Floats, DirectedInformation]:
    """Copy probabilities forward and backward, and their information."""
    steps = np.array([nearest_probability(p) for p in CANDIDATES])
    forward, backward = (each.ravel() for each in np.meshgrid(steps, steps))
    forward, backward = forward[forward < backward], backward[forward < backward]
    return forward, backward, directed_information(forward, backward, attributes, size, most, whole=whole)


def pooled_errors(prior: Prior, labels: Labels, first: float, second: float, information: CopyInformation) -> Floats:
    """The pooled estimate's error (copy probability, pair of variances), if it knew the variances.

    `first` and `second` are those of `_Campaign`.
    """
    unit = len(labels[0]) * (len(labels[0]) + 1)
    own, shared = prior.own / unit, prior.shared / unit
    if len(set(labels)) == 1:
        total = own + len(labels) * shared
        errors: Floats = total / (1 + total * (first + second * information.common[:, None]))
        errors += (len(labels) - 1) * own / (1 + own * (first + second * information.contrast[:, None]))
        return np.asarray(np.maximum(errors, NO_ERROR))
    cross = (information.common - information.contrast) / len(labels)
    matrices = information.contrast[:, None, None] * np.eye(len(labels)) + cross[:, None, None]
    return matrix_errors(prior, labels, first, second, matrices)


def matrix_errors(prior: Prior, labels: Labels, first: float, second: float, information: Floats) -> Floats:
    """The same for these information matrices of one report, attribute by attribute."""
    unit = len(labels[0]) * (len(labels[0]) + 1)
    own, shared = prior.own / unit, prior.shared / unit
    same = np.eye(len(labels))
    groups = np.array([[float(one == two) for two in labels] for one in labels])
    before = own[:, None, None] * same + shared[:, None, None] * groups
    after = first * same + second * information
    left = np.linalg.solve(same + before @ after[:, None], np.broadcast_to(before, (len(after), *before.shape)))
    return np.asarray(np.maximum(np.trace(left, axis1=-2, axis2=-1), NO_ERROR))
