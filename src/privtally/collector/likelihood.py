"""The likelihood of whole reports: the default estimate, and what the reports say without it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product
from math import comb, log

import numpy as np
from numpy.typing import NDArray

from privtally.collector.inverse import block_diagonal, ends, project_to_simplex, units_of, zero_sum_basis
from privtally.documents.counts import Counts
from privtally.exact.types import Floats, Integers
from privtally.mechanisms.channels import Asked, Channel
from privtally.mechanisms.mechanism import Part

Labels = Sequence[tuple[str, ...]]

OWN, SHARED = 0.5, 1.0
"""Pseudo-answers for each label: as many of its own, and as many spread as the mean of attributes with its labels."""
PULLED = 0.02
"""How far into the simplex the information is taken: at its edge it would have no end."""
STEPS = 3
"""How often the point of the information is renewed."""
MOST_STEPS, CLOSE_ENOUGH = 300, 1e-7
"""Expectation maximisation ends once no frequency moves by more than this."""
LEAST = 1e-12
UNDETERMINED = 1e-9
"""A direction with less than this part of the largest information is not determined by the reports."""
MOST_ENUMERATED = 1 << 17
"""Where there are no more different sub-reports than this, the information is the exact mean over all of them."""
DENSE = 16
"""Up to so many codes for each that is shown, a product of whole matrices is faster than a pass for every two shown."""
ENOUGH = 50
"""Otherwise it is that of the reports seen, if there are this many different ones for each frequency: fewer would make
intervals too narrow, or leave directions open that the reports do determine."""


@dataclass(frozen=True)
class Weighed:
    """Sub-reports by what they show: places among the private codes of all attributes, laid end to end, and weights."""

    places: Integers
    weights: Floats
    shown: Integers
    """A number for each set of attributes that is shown."""
    anyway: Floats | float = 0.0
    """The part of each probability that no frequency changes."""
    log_scale: Floats | float = 0.0
    """The logarithm of what every weight of a sub-report was divided by: with many attributes all would be 0."""

    @classmethod
    def of(cls, part: Part, codes: Integers) -> "Weighed":
        attributes = np.nonzero(codes < np.array(part.answers))[1].reshape(len(codes), part.shown)
        own = np.take_along_axis(codes, attributes, axis=1)
        places = np.cumsum([0, *part.answers[:-1]])[attributes] + own
        # Weights are those of decoys divided by those of even ones, of which all but the pivot's are shown.
        weights = np.array(part.answers, dtype=float)[attributes]
        even = np.log(weights).sum(axis=1)
        chance = -log(len(part.branches)) - log(comb(len(part.attributes) - part.pivots, part.decoys))
        if part.fill is not None and not part.fill.conditional:
            rows = [part.decoy_law(own) * answers for own, answers in enumerate(part.answers)]
            weights *= _products_of_others(np.concatenate(rows)[places])
        elif part.fill is not None:
            for one, two in permutations(range(part.shown), 2):
                filled = _filled(part, attributes[:, [one, two]], own[:, [one, two]])
                weights[:, one] *= filled * np.array(part.answers)[attributes[:, two]]
        radix = len(part.attributes) ** np.arange(part.shown, dtype=object)
        numbers = (attributes * radix).sum(axis=1) if part.silent else np.zeros(len(codes), dtype=np.int64)
        return cls(places, weights, numbers, log_scale=chance - even)

    def only(self, chosen: NDArray[np.bool_]) -> "Weighed":
        """Some of the sub-reports."""
        scale = self.log_scale if isinstance(self.log_scale, float) else self.log_scale[chosen]
        return Weighed(self.places[chosen], self.weights[chosen], self.shown[chosen], log_scale=scale)

    def relative(self, private: Floats) -> Floats:
        """The probability of each sub-report divided by its scale, from the frequencies of private codes."""
        chances: Floats = self.anyway + (self.weights * private[self.places]).sum(axis=1)
        return chances

    def probability(self, private: Floats) -> Floats:
        """The probability of each sub-report."""
        chances: Floats = self.relative(private) * np.exp(self.log_scale)
        return chances

    def gradient(self, private: Floats, times: Floats | Integers) -> Floats:
        """Σ times · ∂log P."""
        shares = self.weights * (times / self.relative(private))[:, None]
        return np.bincount(self.places.ravel(), shares.ravel(), len(private)).astype(float)

    def information(self, private: Floats, times: Floats | Integers) -> Floats:
        """Σ times · ∂log P ∂log Pᵀ."""
        codes, shares = len(private), self.weights / self.relative(private)[:, None]
        total = np.zeros((codes, codes))
        if codes > DENSE * self.places.shape[1]:
            for one, two in product(range(self.places.shape[1]), repeat=2):
                cells = self.places[:, one] * codes + self.places[:, two]
                seen = np.bincount(cells, times * shares[:, one] * shares[:, two], codes * codes)
                total += seen.reshape(codes, codes)
            return total
        rows = max(MOST_ENUMERATED // codes, 1)
        for start in range(0, len(shares), rows):
            some = slice(start, start + rows)
            scores = np.zeros((len(shares[some]), codes))
            np.put_along_axis(scores, self.places[some], shares[some], axis=1)
            total += (scores.T * times[some]) @ scores
        return total


def _products_of_others(values: Floats) -> Floats:
    """For each value of a row the product of all others."""
    before = np.cumprod(np.column_stack([np.ones(len(values)), values[:, :-1]]), axis=1)
    behind = np.cumprod(np.column_stack([np.ones(len(values)), values[:, :0:-1]]), axis=1)[:, ::-1]
    products: Floats = np.asarray(before * behind, dtype=float)
    return products


def _filled(part: Part, pairs: Integers, codes: Integers) -> Floats:
    """The probability of a decoy's code given the pivot's private code; both attributes and codes (report, both)."""
    probabilities = np.ones(len(pairs))
    number = pairs @ (len(part.attributes), 1)
    for pair in np.unique(number):
        pivot, other = divmod(int(pair), len(part.attributes))
        rows = np.flatnonzero(number == pair)
        filling = part.filling((pivot,), other)
        given, filled = codes[rows].T
        if filling.scale is None:
            probabilities[rows] = filling.push(np.eye(part.answers[pivot]))[given, filled]
            continue
        probabilities[rows] = anyway_of(filling)[filled] + float(filling.scale) * (given == filled)
    return probabilities


def anyway_of(filling: Channel) -> Floats:
    """The probability of each code whatever the pivot's is, where a fill of scale λ has λ more for the same code."""
    codes = filling.outputs
    return filling.push(np.full(codes, 1 / codes)) - float(filling.scale or 0) / codes


@lru_cache(maxsize=64)
def every_report(part: Part) -> Weighed:
    """Every sub-report that can occur, and no other: those of probability 0 say nothing."""
    reports = Weighed.of(part, np.array(list(part.reports())))
    return reports.only(np.asarray(reports.weights.any(axis=1)))


def _push(channels: Sequence[Asked], frequencies: Floats) -> Floats:
    """The frequencies of private codes."""
    own = np.split(frequencies, ends([channel.inputs for channel in channels]))
    return np.concatenate([channel.push(each) for channel, each in zip(channels, own, strict=True)])


def _pull(channels: Sequence[Asked], gradient: Floats) -> Floats:
    """A gradient by frequencies from one by the frequencies of private codes: the transpose of `_push`."""
    own = np.split(gradient, ends([channel.outputs for channel in channels]))
    return np.concatenate(
        [
            (channel.other * each.sum() + (channel.same - channel.other) * channel.support(each)) / channel.total
            for channel, each in zip(channels, own, strict=True)
        ]
    )


class WholeReports:
    """Sub-reports of a part with one pivot.

    `impossible` is how many of them have probability 0 whatever the answers; they are left out.
    """

    def __init__(self, part: Part, codes: Integers, times: Integers) -> None:
        seen = Weighed.of(part, codes)
        possible = np.asarray(seen.weights.any(axis=1))
        self._part, self._seen, self._times = part, seen.only(possible), times[possible]
        self.impossible = int(times.sum() - self._times.sum())

    def gradient(self, frequencies: Floats) -> Floats:
        """The gradient of the log-likelihood; a frequency times its component is how many of its people were asked."""
        return _pull(self._part.asked, self._seen.gradient(_push(self._part.asked, frequencies), self._times))

    def information(self, frequencies: Floats) -> Floats:
        """The Fisher information."""
        private = _push(self._part.asked, frequencies)
        if self._part.distinct <= MOST_ENUMERATED:
            every = every_report(self._part)
            information = every.information(private, every.probability(private) * self._expected(every))
        else:
            information = self._seen.information(private, self._times)
        push = block_diagonal([channel.push(np.eye(channel.inputs)) for channel in self._part.asked])
        return np.asarray(push @ information @ push.T)

    @property
    def informative(self) -> bool:
        """Whether the information is exact, or known well enough from the reports seen."""
        few = self._part.distinct <= MOST_ENUMERATED
        return few or len(self._times) >= ENOUGH * sum(self._part.sizes)

    def _expected(self, every: Weighed) -> Floats:
        """How many reports show what each sub-report shows, divided by the probability of showing that.

        What is shown says nothing about the answers, so that the information is the mean given how often it was shown.
        """
        sets, number = np.unique(np.concatenate([every.shown, self._seen.shown]), return_inverse=True)
        many = np.bincount(number[len(every.shown) :], self._times, len(sets)).astype(float)
        return many[number[: len(every.shown)]] * comb(len(self._part.attributes), self._part.shown)


class SingleQuestions:
    """The attributes of a part's reports one by one, where whole reports are too many to be kept.

    Each attribute counts as if it had reports of its own, so that the gradient is one of a composite likelihood, and
    there is no information of whole reports.
    """

    impossible = 0

    def __init__(self, part: Part, counts: Counts, places: Sequence[int] | None = None) -> None:
        """`places` are the attributes that are looked at; where fills depend on the pivot they must be all."""
        self._conditional = part.fill is not None and part.fill.conditional
        places = range(len(part.attributes)) if places is None else places
        self._asked = [part.asked[own] for own in places]
        self._times = np.concatenate([counts.attributes[part.attributes[own]][: part.answers[own]] for own in places])
        if self._conditional:  # the law of each code is linear in the frequencies of all attributes
            self._law = np.hstack(part.reported(units_of(part.sizes)))
            return
        rows, asked = np.arange(len(self._times))[:, None], float(part.asked_share)
        anyway = (1 - asked) * np.concatenate([part.decoy_law(own) for own in places])
        self._seen = Weighed(rows, np.full(rows.shape, asked), np.zeros(len(rows), dtype=np.int64), anyway)

    def gradient(self, frequencies: Floats) -> Floats:
        """The gradient of the sum of the log-likelihoods of all attributes."""
        if not self._conditional:
            return _pull(self._asked, self._seen.gradient(_push(self._asked, frequencies), self._times))
        gradient: Floats = self._law @ (self._times / np.maximum(frequencies @ self._law, LEAST))
        return gradient


def part_likelihood(counts: Counts, part: Part) -> WholeReports | SingleQuestions:
    """The most that the counts of a part with one pivot, or with fills that depend on nothing, can say."""
    if len(part.attributes) == 1:
        tally = counts.attributes[part.attributes[0]]
        return WholeReports(part, np.arange(len(tally))[:, None], tally)
    subs = counts.parts.get(part.attributes)
    if part.pivots > 1 or subs is None:
        return SingleQuestions(part, counts)
    return WholeReports(part, subs.codes, subs.times)


@dataclass(frozen=True)
class Reports:
    """The reports of some phases, part by part, as functions of the frequencies of all attributes."""

    labels: Labels
    parts: Sequence[tuple[tuple[int, ...], WholeReports | SingleQuestions]]
    """Each part's attributes and likelihood."""
    weights: Sequence[float] | None = None
    """How much each part counts, fully if not given."""

    @property
    def sizes(self) -> list[int]:
        """How many labels each attribute has."""
        return list(map(len, self.labels))

    def gradient(self, frequencies: Floats) -> Floats:
        """The gradient of the log-likelihood of all reports."""
        total = np.zeros(len(frequencies))
        weights = self.weights or [1.0] * len(self.parts)
        for weight, (places, likelihood) in zip(weights, self._placed(), strict=True):
            total[places] += weight * likelihood.gradient(frequencies[places])
        return total

    @property
    def informative(self) -> bool:
        """Whether all sub-reports are kept whole, and their information is known well."""
        return all(isinstance(likelihood, WholeReports) and likelihood.informative for _, likelihood in self.parts)

    @property
    def impossible(self) -> int:
        """How many sub-reports were left out, as no answers can give them."""
        return sum(likelihood.impossible for _, likelihood in self.parts)

    def information(self, frequencies: Floats) -> Floats:
        """The information of all reports, which must be kept whole."""
        total = np.zeros((len(frequencies), len(frequencies)))
        for places, likelihood in self._placed():
            assert isinstance(likelihood, WholeReports)
            total[np.ix_(places, places)] += likelihood.information(frequencies[places])
        return total

    def _placed(self) -> Iterator[tuple[Integers, WholeReports | SingleQuestions]]:
        starts = np.cumsum([0, *self.sizes])
        for attributes, likelihood in self.parts:
            yield np.concatenate([np.arange(starts[own], starts[own + 1]) for own in attributes]), likelihood


def estimate(reports: Reports) -> list[Floats]:
    """The frequencies of every attribute: expectation maximisation with pseudo-answers.

    Two steps are extrapolated by the ratio of their lengths (Varadhan and Roland, "Simple and globally convergent
    methods for accelerating the convergence of any EM algorithm", 2008): with little information steps are short.
    """
    point = np.concatenate([np.full(size, 1 / size) for size in reports.sizes])
    for _ in range(MOST_STEPS):
        one = _step(reports, point)
        two = _step(reports, one)
        first, second = one - point, two - 2 * one + point
        length = float(np.linalg.norm(second))
        reach = max(float(np.linalg.norm(first)) / length, 1.0) if length else 1.0
        moved = _step(reports, _normal(point + 2 * reach * first + reach**2 * second, reports.sizes))
        point, change = moved, np.abs(moved - point).max()
        if change < CLOSE_ENOUGH:
            break
    return np.split(point, ends(reports.sizes))


def _step(reports: Reports, point: Floats) -> Floats:
    """How many people have each answer, as far as the reports and the pseudo-answers say, divided by their number."""
    asked = np.split(point * reports.gradient(point), ends(reports.sizes))
    own = np.split(point, ends(reports.sizes))
    alike: dict[tuple[str, ...], list[Floats]] = {}
    for labels, each in zip(reports.labels, own, strict=True):
        alike.setdefault(labels, []).append(each)
    means = {labels: np.mean(each, axis=0) for labels, each in alike.items()}
    uniform = {labels: np.full(len(labels), 1 / len(labels)) for labels, each in alike.items() if len(each) == 1}
    more = [OWN + SHARED * len(labels) * (means | uniform)[labels] for labels in reports.labels]
    return _normal(np.concatenate(asked) + np.concatenate(more), reports.sizes)


def _normal(values: Floats, sizes: Sequence[int]) -> Floats:
    """Values above 0, each attribute divided by its sum."""
    own = np.split(np.maximum(values, LEAST), ends(sizes))
    return np.concatenate([each / each.sum() for each in own])


@dataclass(frozen=True)
class Alone:
    """What the reports alone say: frequencies that may be negative, their covariance, and which are determined."""

    frequencies: Floats
    covariance: Floats
    determined: NDArray[np.bool_]


def alone(reports: Reports, start: Sequence[Floats], steps: int = STEPS) -> Alone:
    """Fisher scoring without pseudo-answers; the information is that at a point inside the simplex."""
    inside = zero_sum_basis(reports.sizes)
    found = np.concatenate(list(start))
    for _ in range(steps):
        proper = map(project_to_simplex, np.split(found, ends(reports.sizes)))
        point = np.concatenate([(1 - PULLED) * own + PULLED / len(own) for own in proper])
        known, directions = np.linalg.eigh(inside.T @ reports.information(point) @ inside)
        determined = known > UNDETERMINED * max(known[-1], LEAST)
        root = inside @ (directions[:, determined] / np.sqrt(known[determined]))
        found = point + root @ (root.T @ reports.gradient(point))
    unknown = np.square(inside @ directions[:, ~determined]).sum(axis=1) > UNDETERMINED
    return Alone(found, root @ root.T, ~unknown)
