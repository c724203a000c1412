"""Matches for Phase II that allow for the uncertainty that Phase I leaves, where labels do not correspond one by one.

All aligned pairs lean alike: a lean of 0 takes every class with the same probability, 1 the class that matches, −1 any
class but that one. The error of the pooled estimate follows from the information in both phases at uniform answers; the
mean of its logarithm is taken over the variances that Phase I leaves plausible, as in `robust`. Then each pair in turn
may lean another way. Even fills are a candidate for all pairs together, and for each.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from privtally.collector.estimate.likelihood import Likelihood
from privtally.collector.estimate.pooled import Labels, Model
from privtally.collector.estimate.prior import Prior
from privtally.collector.learn.reports import information_at_uniform
from privtally.collector.learn.robust import INDIFFERENT, NO_ERROR, ROUNDING, SLACK, UNKNOWN
from privtally.collector.learn.secrecy import Secrecy
from privtally.exact.arrays import Floats
from privtally.exact.probability import nearest_probability
from privtally.mechanisms.aligned import AlignedPair
from privtally.mechanisms.alignment import Classes
from privtally.mechanisms.channel import Asked
from privtally.mechanisms.fills import AlignedFill, UniformFill

LEANS = np.linspace(-1, 1, 21)
"""Leans of all pairs to choose from, besides even fills."""
PAIR_LEANS = (-1.0, -0.5, 0.5, 1.0)
"""Leans to choose from for one pair."""
PLAUSIBLE = 1e-3
"""Pairs of variances with less than this part of the largest weight are left out."""

Alignments = Mapping[tuple[int, int], Classes]
"""The classes of pairs of a group's attributes, by their places in it."""
Matches = Mapping[tuple[int, int], tuple[float | None, float | None]]
"""The probabilities of a match for each pair when the first, and when the second, is the pivot; None: an even fill."""


def aligned_fill(alignments: Alignments, matches: Matches) -> AlignedFill | UniformFill:
    """The fill with these probabilities, pairs that are left out having even fills."""
    stated = [(pair, own) for pair, own in sorted(matches.items()) if own != (None, None)]
    pairs = tuple(AlignedPair.of(pair, alignments[pair], own) for pair, own in stated)
    return AlignedFill(pairs) if pairs else UniformFill()


def leaning(alignments: Alignments, asked: Sequence[Asked], lean: float) -> Matches:
    """All pairs leaning alike; a pivot whose private code is no label fills evenly."""

    def match(pair: tuple[int, int], side: int) -> float | None:
        if asked[pair[side]].inside > 1:
            return None
        even = 1 / sum(1 for own in alignments[pair] if own[1 - side])
        return nearest_probability(even + lean * (1 - even if lean > 0 else even))

    return {pair: (match(pair, 0), match(pair, 1)) for pair in alignments}


@dataclass(frozen=True)
class Candidate:
    """Fills, the mean logarithm of their error, and how often they let an observer name the pivot."""

    matches: Matches
    expected: float
    pivot_guess: float


class Judge:
    """The error to expect of fills for a group with these alignments and labels, after the likelihoods of earlier
    phases; the secrecy that is wanted says what is asked, of how many people, and how often the pivot may be named.
    """

    def __init__(self, secrecy: Secrecy, alignments: Alignments, labels: Labels, earlier: Sequence[Likelihood]) -> None:
        self._secrecy, self._alignments, self._people = secrecy, alignments, secrecy.wanted.people
        self._model = model = Model(labels)
        self._weights = np.concatenate([np.full(len(own), 1 / len(own)) for own in labels]) / len(labels)
        scores = [likelihood.at(model.uniform) for likelihood in earlier]
        gradient, self._first = (np.sum(each, axis=0) for each in zip(*scores, strict=True))
        evenly = secrecy.part(UniformFill())
        even = information_at_uniform(evenly)
        # The prior is that for the information of all phases, the next one with even fills.
        prior = model.prior_for(self._first + self._people * even)
        weights = model.posterior(prior, gradient, self._first).weights
        held = weights >= PLAUSIBLE * weights.max()
        self._prior = Prior(prior.shared[held], prior.own[held], weights[held] / weights[held].sum())
        self._most_unlike = SLACK * float(self._errors(UNKNOWN, even)[0])
        self._even_guess = secrecy.guess(evenly)

    def best(self, candidates: Iterable[Matches]) -> Candidate:
        """The candidate with the least error that keeps the pivot secret and is not much worse than even fills for
        unlike attributes; of those that are nearly as good the one that names the pivot least.
        """
        safe = [own for own in map(self._judged, candidates) if own is not None]
        part = self._secrecy.part(UniformFill())
        most = ROUNDING * self._secrecy.allowed(part, min(own.pivot_guess for own in safe), self._even_guess)
        found = [own for own in safe if own.pivot_guess <= most]
        least = min(own.expected for own in found)
        return min((own for own in found if own.expected <= least + INDIFFERENT), key=lambda own: own.pivot_guess)

    def _judged(self, matches: Matches) -> Candidate | None:
        part = self._secrecy.part(aligned_fill(self._alignments, matches))
        information = information_at_uniform(part)
        if float(self._errors(UNKNOWN, information)[0]) > self._most_unlike:
            return None
        expected = np.log(self._errors(self._prior, information)) @ self._prior.weights
        return Candidate(matches, float(expected), self._secrecy.guess(part))

    def _errors(self, prior: Prior, information: Floats) -> Floats:
        """The mean squared error of the pooled estimate for each pair of variances, if it knew them."""
        basis = self._model.basis
        both = basis.T @ (self._first + self._people * information) @ basis
        weights = basis.T @ (self._weights[:, None] * basis)
        spreads = (prior.own[:, None] + prior.shared[:, None] * self._model.shares) * self._model.units
        errors = []
        for deviations in np.sqrt(spreads):
            precision = deviations[:, None] * both * deviations + np.eye(len(both))
            inverse = np.linalg.inv(precision) * deviations[:, None] * deviations
            errors.append(np.sum(weights * inverse))
        return np.maximum(errors, NO_ERROR)


def choose_matches(
    secrecy: Secrecy, alignments: Alignments, labels: Labels, earlier: Sequence[Likelihood]
) -> tuple[AlignedFill | UniformFill, float]:
    """The fills with the least expected error, and how often the pivot is named, or a bound on that."""
    asked = secrecy.part(UniformFill()).asked
    judge = Judge(secrecy, alignments, labels, earlier)
    best = judge.best([{}, *(leaning(alignments, asked, lean) for lean in LEANS)])
    alone = [leaning(alignments, asked, lean) for lean in PAIR_LEANS]
    for pair in alignments:
        even = {pair: (None, None)}
        others = [{**best.matches, **even}, *({**best.matches, pair: own[pair]} for own in alone)]
        best = judge.best([best.matches, *others])
    return aligned_fill(alignments, best.matches), best.pivot_guess
