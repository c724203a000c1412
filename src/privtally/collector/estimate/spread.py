"""How the frequencies of one attribute vary together: what ratios, means and quantiles of them need.

A `Spread` is about the labels that people chose, without "no answer". Their sum, the share of people who answered, is 1
where an attribute cannot be skipped.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from privtally.collector.estimate.inverse import ByLabel, Inverse, inverse_of
from privtally.collector.estimate.phase import centred, covariance
from privtally.collector.estimate.several import terms_of
from privtally.documents.counts import Counts
from privtally.exact.arrays import Floats
from privtally.mechanisms import Part

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


def phase_covariance(counts: Counts, parts: Sequence[Part], own: int) -> Floats | None:
    """The covariance of an attribute's unbiased frequencies from one phase; None where it would be too large.

    Where no table of two attributes is kept, it is a matrix that is never smaller than the covariance.
    """
    part = next(part for part in parts if own in part.attributes)
    place = part.attributes.index(own)
    if not part.linear:
        return _of_several(counts, part, own, own)
    if part.sizes[place] > MOST_CODES:
        return None
    back = _way_back(inverse_of(part), place)
    if max(part.answers[one] for one in back) > MOST_CODES:
        return None
    used = [Part((part.attributes[one],), 1, (part.asked[one],)) for one in back]
    pairs = [(min(one, two), max(one, two)) for one in _owners(used) for two in _owners(used) if one != two]
    if not pairs or set(pairs) <= set(counts.pair_tables):
        matrix = np.hstack(list(back.values()))
        found = matrix @ covariance(counts, used) @ matrix.T
    else:
        alone = [
            matrix @ covariance(counts, [each]) @ matrix.T for each, matrix in zip(used, back.values(), strict=True)
        ]
        sizes = np.sqrt([each.trace() for each in alone])
        found = sum((sizes.sum() / size * each for size, each in zip(sizes, alone, strict=True)), np.zeros(()))
    return centred(found)  # frequencies are made to sum to 1


def phase_covariance_between(counts: Counts, parts: Sequence[Part], one: int, two: int) -> Floats | None:
    """The covariance of two attributes' unbiased frequencies from one phase; None where it would be too large."""
    owners = [next(part for part in parts if own in part.attributes) for own in (one, two)]
    if not all(part.linear for part in owners):
        return _of_several(counts, owners[0], one, two) if owners[0] is owners[1] else None
    ways = []
    for own, part in zip((one, two), owners, strict=True):
        back = _way_back(inverse_of(part), part.attributes.index(own))
        if max(max(part.answers[place], part.sizes[place]) for place in back) > MOST_CODES:
            return None
        ways.append(({part.attributes[place]: part.asked[place] for place in back}, np.hstack(list(back.values()))))
    (first, to_first), (second, to_second) = ways
    used = [Part((own,), 1, (channel,)) for channels in (first, second) for own, channel in channels.items()]
    whole = covariance(counts, used)[: to_first.shape[1], to_first.shape[1] :]
    return centred(to_first @ whole @ to_second.T)


def _of_several(counts: Counts, part: Part, one: int, two: int) -> Floats | None:
    """The same for two attributes of a part with several hidden pivots."""
    subs = counts.parts[part.attributes]
    places = part.attributes.index(one), part.attributes.index(two)
    return None if subs is None else terms_of(part, subs).between(places[:1], places[1:])


def _owners(parts: Sequence[Part]) -> list[int]:
    return [part.attributes[0] for part in parts]


def _way_back(inverse: Inverse, own: int) -> Mapping[int, Floats]:
    """The matrices from observed shares to an attribute's frequencies, for each attribute that they depend on."""
    if isinstance(inverse, ByLabel):
        size = len(inverse.start[own])
        return {int(one): inverse.weights[own, one] * np.eye(size) for one in np.flatnonzero(inverse.weights[own])}
    return {one: matrix for one, matrix in enumerate(inverse.back(own)) if matrix.any()}
