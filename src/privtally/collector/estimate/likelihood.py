"""What a phase's reports say about the frequencies, near a given point: a gradient and an information matrix.

The probability of a sub-report of a part with one pivot is linear in the true frequencies, so that the likelihood has
one maximum and is close to a parabola around it. A whole sub-report says more than its attributes one by one: which of
its values agree says which attribute was probably the pivot.

Frequencies are laid end to end, attribute after attribute; only differences in which each attribute sums to 0 matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privtally.collector.estimate.inverse import block_diagonal, inverse_of, operator_of
from privtally.collector.estimate.phase import covariance, observed
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.exact.arrays import Floats, Integers
from privtally.mechanisms import Part

Score = tuple[Floats, Floats]
"""The gradient of the log-likelihood, and the information (minus its second derivative, on average or as seen)."""

MAX_ENUMERATED = 4096
"""Where there are no more different sub-reports than this, the information is the exact mean over all of them."""

MOST_CODES = 1_500
"""With more codes in a part its attributes are read one by one: matrices over all codes would be too large."""

_CHUNK = 1 << 13


class Likelihood(Protocol):
    """The reports of one phase, or of one part of it."""

    def at(self, frequencies: Floats) -> Score:
        """The log-likelihood's gradient and information at these frequencies."""
        ...


class WholeReports:
    """Sub-reports of a part with one pivot: P(report) = Σ over pivots (its private code) · (the rest given that)."""

    def __init__(self, part: Part, codes: Integers, times: Integers) -> None:
        seen = Weighed.of(part, codes)
        possible = seen.possible
        self._seen = seen.only(possible)
        self._times = times[possible]
        self.impossible = int(times.sum() - self._times.sum())
        """How many of the reports have probability 0 whatever the answers."""
        self._push = push_matrix(part)
        self._every = every_report(part) if part.distinct <= MAX_ENUMERATED else None
        # Which attribute is asked says nothing about the answers, so that the information is the mean given how often
        # each was asked, where reports say so.
        self._asked = np.bincount(self._seen.asked, self._times, len(part.branches) if part.silent else 1)

    def at(self, frequencies: Floats) -> Score:
        private = self._push @ frequencies
        gradient, information = self._seen.moments(private, self._times)
        if self._every is not None:
            expected = self._every.probability(private) * (self._asked * len(self._asked))[self._every.asked]
            information = self._every.moments(private, expected)[1]
        return self._push.T @ gradient, self._push.T @ information @ self._push


@dataclass(frozen=True)
class Weighed:
    """Sub-reports as places among the private frequencies laid end to end, and P(pivot) · P(rest | pivot's code).

    `asked` numbers what a silent report says it was asked; it is 0 where reports do not say.
    """

    places: Integers
    weights: Floats
    asked: Integers

    @classmethod
    def of(cls, part: Part, codes: Integers) -> "Weighed":
        starts = np.cumsum([0, *part.answers[:-1]])
        answered = codes < np.array(part.answers)
        weights = answered / len(part.branches)
        asked = np.argmax(answered, axis=1) if part.silent else np.zeros(len(codes), dtype=np.int64)
        if part.fill is not None and not part.silent:
            for (pivot,) in part.branches:
                for other in part.others((pivot,)):
                    weights[:, pivot] *= _filled(part, pivot, other, codes)
        return cls(np.where(answered, codes, 0) + starts, weights, asked)

    @property
    def possible(self) -> NDArray[np.bool_]:
        """Which sub-reports can occur."""
        return np.asarray(self.weights.any(axis=1))

    def only(self, chosen: NDArray[np.bool_] | slice) -> "Weighed":
        """Some of the sub-reports."""
        return Weighed(self.places[chosen], self.weights[chosen], self.asked[chosen])

    def probability(self, private: Floats) -> Floats:
        """The probability of each sub-report."""
        chances: Floats = (self.weights * private[self.places]).sum(axis=1)
        return chances

    def moments(self, private: Floats, times: Floats | Integers) -> Score:
        """Σ times · ∂log P, and Σ times · ∂log P ∂log Pᵀ."""
        gradient = np.zeros(len(private))
        information = np.zeros((len(private), len(private)))
        for start in range(0, len(self.places), _CHUNK):
            piece = self.only(slice(start, start + _CHUNK))
            seen = times[start : start + _CHUNK]
            shares = piece.weights / piece.probability(private)[:, None]
            gradient += np.bincount(piece.places.ravel(), (shares * seen[:, None]).ravel(), len(private))
            rows = np.zeros((len(seen), len(private)))
            np.put_along_axis(rows, piece.places, shares * np.sqrt(seen)[:, None], axis=1)
            information += rows.T @ rows
        return gradient, information


def _filled(part: Part, pivot: int, other: int, codes: Integers) -> Floats:
    """The probability of the other attribute's code in each sub-report, given the pivot's private code."""
    filling = part.filling((pivot,), other)
    if filling.scale is None:
        table = filling.push(np.eye(part.answers[pivot]))
        return np.asarray(table[codes[:, pivot], codes[:, other]])
    # λ more for the pivot's own code, and otherwise the same for every pivot's code.
    scale, size = float(filling.scale), part.answers[pivot]
    anyway = filling.push(np.full(size, 1 / size)) - scale / size
    return np.asarray(anyway[codes[:, other]] + scale * (codes[:, pivot] == codes[:, other]))


@lru_cache(maxsize=64)
def every_report(part: Part) -> Weighed:
    """Every sub-report that can occur, and no other: those of probability 0 say nothing."""
    reports = Weighed.of(part, np.array(list(part.reports())))
    return reports.only(reports.possible)


def push_matrix(part: Part) -> Floats:
    """The matrix from true frequencies to those of private codes, attributes laid end to end."""
    return block_diagonal([channel.push(np.eye(channel.inputs)).T for channel in part.asked])


class OneWay:
    """The attributes of a part's reports one by one: observed frequencies with a normal error."""

    def __init__(self, plan: Plan, counts: Counts, part: Part) -> None:
        self._operator = operator_of(part)
        self._observed = np.concatenate([own.shares for own in observed(plan, counts, part)])
        self._precision = np.linalg.pinv(covariance(counts, [part]), rcond=1e-9, hermitian=True)
        self.impossible = 0

    def at(self, frequencies: Floats) -> Score:
        weighted = self._operator.T @ self._precision
        return weighted @ (self._observed - self._operator @ frequencies), weighted @ self._operator


def part_likelihood(plan: Plan, counts: Counts, part: Part) -> WholeReports | OneWay:
    """The most that the counts of a part can say."""
    if sum(part.answers) > MOST_CODES:
        return OneWay(plan, counts, part)
    if part.pivots == 1 and len(part.attributes) == 1:
        tally = counts.attributes[part.attributes[0]]
        return WholeReports(part, np.arange(len(tally))[:, None], tally)
    subs = counts.parts.get(part.attributes)
    if part.pivots > 1 or subs is None:
        inverse_of(part)  # refuses a part whose reports say nothing about one attribute by itself
        return OneWay(plan, counts, part)
    observed(plan, counts, part)  # refuses an attribute that nobody answered
    return WholeReports(part, subs.codes, subs.times)


def columns(sizes: Sequence[int], attributes: Sequence[int]) -> Integers:
    """Where some attributes' frequencies stand among those of all, laid end to end."""
    starts = np.cumsum([0, *sizes])
    return np.concatenate([np.arange(starts[own], starts[own + 1]) for own in attributes])
