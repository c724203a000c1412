"""How the frequencies of one attribute vary together: what ratios, means and quantiles of them need.

A `Spread` is about the labels that people chose, without "no answer". Their sum, the share of people who answered, is 1
where an attribute cannot be skipped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from privtally.collector.inverse import ByLabel, Inverse, Terms, inverse_of, terms_of
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.errors import EstimateError
from privtally.exact.types import Floats, Integers
from privtally.mechanisms.channels import Asked
from privtally.mechanisms.mechanism import Part


@dataclass(frozen=True)
class PhaseEstimate:
    """Frequencies and variances for each attribute, which of them are determined, the worst condition number, and the
    parts whose operators were undone.
    """

    frequencies: Sequence[Floats]
    variances: Sequence[Floats]
    known: Sequence[bool]
    condition: float
    parts: Sequence[Part] = ()


def as_randomized_response(plan: Plan) -> list[Part]:
    """The parts that a plan would have if every attribute had been randomised itself: undoing these is the paper's
    Phase II estimator, f = (c/n − q) / (p − q).
    """
    return [
        Part((own,), 1, (channel,))
        for part in plan.mechanism.parts
        for own, channel in zip(part.attributes, part.asked, strict=True)
    ]


def _terms_of_part(plan: Plan, counts: Counts, part: Part) -> Terms:
    """What the reports to a part with several hidden pivots say; refused if they were not kept whole."""
    subs = counts.parts.get(part.attributes)
    if subs is None:
        raise EstimateError(
            f"phase {plan.phase} has more than {counts.limit:,} different reports, "
            "too many where a report answers several questions; use smaller groups, or smp"
        )
    return terms_of(part, subs)


def observed(plan: Plan, counts: Counts, part: Part) -> tuple[list[Floats], list[Floats]]:
    """For each attribute of a part, among the reports that show it, the share with a code of each label's set, and the
    variances of these shares once their mean is taken off, since frequencies are made to sum to 1.
    """
    shares, variances = [], []
    for own, channel in zip(part.attributes, part.asked, strict=True):
        tally = counts.attributes[own][: channel.outputs]
        people = int(tally.sum())
        if not people:
            name = plan.schema.names[own]
            raise EstimateError(f"nobody answered question '{name}' in phase {plan.phase}; collect more")
        shares.append(channel.support(tally.astype(float)) / people)
        variances.append(report_variances(channel, smooth(tally)) / people)
    return shares, variances


def invert(plan: Plan, counts: Counts, parts: Sequence[Part] | None = None) -> PhaseEstimate:
    """Undo the exact operator of every part, the plan's unless others are given: unbiased wherever `known`."""
    parts = plan.mechanism.parts if parts is None else parts
    undone: dict[int, tuple[Floats, Floats, bool]] = {}
    condition = 1.0
    for part in parts:
        if not part.linear:
            terms = _terms_of_part(plan, counts, part)
            for place, attribute in enumerate(part.attributes):
                variances = terms.between((place,), (place,)).diagonal()
                undone[attribute] = terms.frequencies((place,)), variances, terms.known(place)
            condition = max(condition, terms.condition)
            continue
        shares, noise = observed(plan, counts, part)
        inverse = inverse_of(part)
        spreads = _variances(inverse, counts, part, noise)
        found = inverse.apply(shares)
        # Where a code belongs to the sets of several labels, frequencies sum to 1 only on average.
        found = [own + (1 - own.sum()) / len(own) for own in found]
        undone |= zip(part.attributes, zip(found, spreads, inverse.known, strict=True), strict=True)
        condition = max(condition, inverse.condition)
    columns = zip(*(undone[attribute] for attribute in range(plan.mechanism.width)), strict=True)
    frequencies, spreads, known = map(list, columns)
    return PhaseEstimate(frequencies, spreads, known, condition, parts)


def _variances(inverse: Inverse, counts: Counts, part: Part, spreads: Sequence[Floats]) -> list[Floats]:
    """The variance of every frequency of a part, from those of the observed shares."""
    if not isinstance(inverse, ByLabel):
        places = list(zip(part.attributes, part.asked, strict=True))
        spread = covariance(counts, places, places)
        return [
            np.einsum("ij,jk,ik->i", back, spread, back, optimize=True)
            for back in (np.hstack(inverse.back(own)) for own in range(len(spreads)))
        ]
    weights = inverse.weights
    variances = [np.zeros(len(spread)) for spread in spreads]
    for one, spread in enumerate(spreads):
        for own in np.flatnonzero(weights[:, one]):
            variances[own] += weights[own, one] ** 2 * spread
    for one, two in combinations(range(len(spreads)), 2):
        both = np.flatnonzero(weights[:, one] * weights[:, two])
        if both.size:
            shared, is_bound = _shared_spread(counts, part, one, two, spreads)
            for own in both:
                weight = 2 * weights[own, one] * weights[own, two]
                variances[own] += (abs(weight) if is_bound else weight) * shared
    return variances


def _shared_spread(counts: Counts, part: Part, one: int, two: int, spreads: Sequence[Floats]) -> tuple[Floats, bool]:
    """The covariance of two attributes' frequencies of the same label; a bound on its size if nothing keeps it."""
    own, other = part.attributes[one], part.attributes[two]
    by_label = part.asked[one].inside == 1 and not part.silent
    if not by_label and (min(own, other), max(own, other)) in counts.pair_tables:
        return np.diag(centred(_covariance(counts, (own, part.asked[one]), (other, part.asked[two])))), False
    agreements = counts.agreements(own, other) if by_label else None
    if agreements is None:
        return np.sqrt(spreads[one] * spreads[two]), True
    both = (agreements + 1 / len(agreements) ** 2) / (counts.reports + 1)
    return (both - smooth(counts.attributes[own]) * smooth(counts.attributes[other])) / counts.reports, False


Place = tuple[int, Asked]
"""An attribute and its channel."""


def covariance(counts: Counts, rows: Sequence[Place], columns: Sequence[Place]) -> Floats:
    """The covariance of the observed shares of some attributes with those of others, both laid end to end.

    It is 0 between two attributes whose table is not kept. Where reports do not show all attributes, it is that of
    shares among the reports that show each.
    """
    return np.block([[_covariance(counts, one, two) for two in columns] for one in rows])


def _covariance(counts: Counts, one: Place, two: Place) -> Floats:
    tallies = [counts.attributes[own][: channel.outputs] for own, channel in (one, two)]
    if one[0] == two[0]:
        together, weight = np.diag(smooth(tallies[0])), 1 / tallies[0].sum()
    else:
        table = counts.pair_tables.get((min(one[0], two[0]), max(one[0], two[0])))
        if table is None:
            return np.zeros((one[1].inputs, two[1].inputs))
        table = (table if one[0] < two[0] else table.T)[: one[1].outputs, : two[1].outputs]
        together = (table + 1 / table.size) / (table.sum() + 1)
        weight = table.sum() / tallies[0].sum() / tallies[1].sum()
    # An attribute's shares are among all reports that show it; those that show both may differ.
    first, second = map(smooth, tallies)
    apart = np.outer(first, together.sum(axis=0) - second) + np.outer(together.sum(axis=1), second)
    spread: Floats = one[1].support(two[1].support(together - apart).T).T * weight
    return spread


def centred(spread: Floats) -> Floats:
    """A covariance matrix of shares once their means are taken off."""
    rows = spread - spread.mean(axis=0)
    both: Floats = rows - rows.mean(axis=1, keepdims=True)
    return both


def report_variances(channel: Asked, reported: Floats) -> Floats:
    """For each label the variance, in one report, of belonging to its set less the share of labels it belongs to."""
    held = channel.holder_counts() / channel.inputs
    shares = channel.support(reported)
    squares = shares - 2 * channel.support(reported * held) + reported @ held**2
    variances: Floats = squares - (shares - reported @ held) ** 2
    return variances


def smooth(tally: Integers) -> Floats:
    """Reported frequencies with one imaginary report, spread evenly."""
    smoothed: Floats = (tally + 1 / len(tally)) / (tally.sum() + 1)
    return smoothed


MOST_CODES = 2_048
"""An attribute with more labels or codes has no matrix of covariances."""


@dataclass(frozen=True)
class Exact:
    """The covariance of the frequencies."""

    covariance: Floats

    @property
    def total(self) -> float:
        """The variance of the share of people who answered."""
        return float(self.covariance.sum())

    def shares(self, shares: Floats) -> tuple[Floats, Floats]:
        """For each label the variance of its frequency minus a share of the sum, and its covariance with the sum."""
        beside = self.covariance.sum(axis=1)
        variances = self.covariance.diagonal() - 2 * shares * beside + shares**2 * self.total
        return np.maximum(variances, 0), beside - shares * self.total

    def weighted(self, weights: Floats) -> tuple[Floats, Floats]:
        """The variance of a weighted sum of the frequencies, and its covariance with their sum."""
        beside = self.covariance @ weights
        return np.maximum(weights @ beside, 0), beside.sum()

    def cumulative(self, share: float) -> Floats:
        """The standard errors of cumulative frequencies minus a share of the sum."""
        together = self.covariance.cumsum(axis=0).cumsum(axis=1)
        variances = together.diagonal() - 2 * share * together[:, -1] + share**2 * self.total
        return np.sqrt(np.maximum(variances, 0))


@dataclass(frozen=True)
class Bounded:
    """Standard errors alone, and that of the sum: every variance is at most that of errors which agree perfectly."""

    errors: Floats
    total_error: float

    @property
    def total(self) -> float:
        return self.total_error**2

    def shares(self, shares: Floats) -> tuple[Floats, None]:
        return (self.errors + np.abs(shares) * self.total_error) ** 2, None

    def weighted(self, weights: Floats) -> tuple[Floats, None]:
        return np.square(np.abs(weights) @ self.errors), None

    def cumulative(self, share: float) -> Floats:
        below = self.errors.cumsum()
        bound: Floats = (1 - share) * below + share * (below[-1] - below)
        return bound


Spread = Exact | Bounded


def phase_covariance(counts: Counts, parts: Sequence[Part], one: int, two: int) -> Floats | None:
    """The covariance of the unbiased frequencies of two attributes, or of one, from one phase; None where it would be
    too large.

    Where no table of two attributes is kept, that of one attribute is a matrix that is never smaller.
    """
    owners = [next(part for part in parts if own in part.attributes) for own in (one, two)]
    places = [part.attributes.index(own) for own, part in zip((one, two), owners, strict=True)]
    if not all(part.linear for part in owners):
        subs = counts.parts.get(owners[0].attributes)
        if subs is None or owners[0] is not owners[1]:
            return None
        return terms_of(owners[0], subs).between((places[0],), (places[1],))
    ways = [_way_back(part, place) for part, place in zip(owners, places, strict=True)]
    if ways[0] is None or ways[1] is None:
        return None
    (first, to_first), (second, to_second) = ways[0], ways[1]
    used = [own for own, _ in first]
    if one != two or set(combinations(sorted(used), 2)) <= set(counts.pair_tables):
        found = np.hstack(to_first) @ covariance(counts, first, second) @ np.hstack(to_second).T
    else:
        alone = [
            matrix @ covariance(counts, [each], [each]) @ matrix.T for each, matrix in zip(first, to_first, strict=True)
        ]
        sizes = np.sqrt([each.trace() for each in alone])
        found = sum((sizes.sum() / size * each for size, each in zip(sizes, alone, strict=True)), np.zeros(()))
    return centred(found)  # frequencies are made to sum to 1


def _way_back(part: Part, own: int) -> tuple[list[Place], list[Floats]] | None:
    """The attributes that an attribute's frequencies depend on, and the matrices to it from their observed shares; None
    where these would be too large.
    """
    inverse = inverse_of(part)
    weights = inverse.weights[own] if isinstance(inverse, ByLabel) else [back.any() for back in inverse.back(own)]
    used = np.flatnonzero(weights).tolist()
    if any(max(part.sizes[each], part.answers[each]) > MOST_CODES for each in (own, *used)):
        return None
    back = inverse.back(own)
    return [(part.attributes[each], part.asked[each]) for each in used], [back[each] for each in used]
