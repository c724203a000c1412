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
from privtally.collector.learn.reports import at_uniform
from privtally.collector.learn.robust import INDIFFERENT, NO_ERROR, ROUNDING, SLACK, UNKNOWN
from privtally.exact.arrays import Floats
from privtally.exact.probability import nearest_probability
from privtally.mechanisms import Part
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
    """The error to expect of fills for a group with these channels, alignments and labels, after the likelihoods of
    earlier phases, for so many people in the next one.
    """

    def __init__(
        self,
        asked: Sequence[Asked],
        alignments: Alignments,
        labels: Labels,
        earlier: Sequence[Likelihood],
        people: int,
    ) -> None:
        self._asked, self._alignments, self._people = tuple(asked), alignments, people
        self._model = model = Model(labels)
        self._weights = np.concatenate([np.full(len(own), 1 / len(own)) for own in labels]) / len(labels)
        scores = [likelihood.at(model.uniform) for likelihood in earlier]
        gradient, self._first = (np.sum(each, axis=0) for each in zip(*scores, strict=True))
        even = at_uniform(self._part({}))
        # The prior is that for the information of all phases, the next one with even fills.
        prior = model.prior_for(self._first + people * even.information)
        weights = model.posterior(prior, gradient, self._first).weights
        held = weights >= PLAUSIBLE * weights.max()
        self._prior = Prior(prior.shared[held], prior.own[held], weights[held] / weights[held].sum())
        self._least_guess = even.pivot_guess
        self._most_unlike = SLACK * float(self._errors(UNKNOWN, even.information)[0])

    def best(self, candidates: Iterable[Matches], max_pivot_guess: float) -> Candidate:
        """The candidate with the least error that keeps the pivot secret and is not much worse than even fills for
        unlike attributes; of those that are nearly as good the one that names the pivot least. Even fills are always
        allowed.
        """
        most = ROUNDING * max(max_pivot_guess, self._least_guess)
        found = [own for own in map(self._judged, candidates) if own is not None and own.pivot_guess <= most]
        least = min(own.expected for own in found)
        return min((own for own in found if own.expected <= least + INDIFFERENT), key=lambda own: own.pivot_guess)

    def _judged(self, matches: Matches) -> Candidate | None:
        report = at_uniform(self._part(matches))
        if float(self._errors(UNKNOWN, report.information)[0]) > self._most_unlike:
            return None
        expected = np.log(self._errors(self._prior, report.information)) @ self._prior.weights
        return Candidate(matches, float(expected), report.pivot_guess)

    def _part(self, matches: Matches) -> Part:
        fill = aligned_fill(self._alignments, matches)
        return Part(tuple(range(len(self._asked))), 1, self._asked, fill)

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
    asked: Sequence[Asked],
    alignments: Alignments,
    labels: Labels,
    earlier: Sequence[Likelihood],
    people: int,
    max_pivot_guess: float,
) -> tuple[AlignedFill | UniformFill, float]:
    """The fills with the least expected error, and how often the pivot is named, or a bound on that."""
    judge = Judge(asked, alignments, labels, earlier, people)
    best = judge.best([{}, *(leaning(alignments, asked, lean) for lean in LEANS)], max_pivot_guess)
    alone = [leaning(alignments, asked, lean) for lean in PAIR_LEANS]
    for pair in alignments:
        even = {pair: (None, None)}
        others = [{**best.matches, **even}, *({**best.matches, pair: own[pair]} for own in alone)]
        best = judge.best([best.matches, *others], max_pivot_guess)
    return aligned_fill(alignments, best.matches), min(best.pivot_guess, 1.0)
