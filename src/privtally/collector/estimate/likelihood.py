"""What a phase's reports say about the frequencies, near a given point: a slope and an information matrix.

The probability of a report is linear in the true frequencies, whatever the mechanism, so that the likelihood of all
reports has one maximum and is close to a parabola around it. A whole report says more than its attributes one by one:
which of its values agree says which attribute was probably the pivot.

Frequencies are laid end to end, attribute after attribute; only differences in which each attribute sums to 0 matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privtally.collector.estimate.inverse import Floats, zero_sum_basis
from privtally.collector.estimate.phase import answers, covariance
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.mechanisms import Pivot, Sample, Split, operator_matrix

Slope = tuple[Floats, Floats]
"""The gradient of the log-likelihood, and the information (minus its second derivative, on average or as seen)."""

MAX_ENUMERATED = 4096
"""Where there are no more different reports than this, the information is the exact mean over all of them."""

FEW_REPORTS = 10
"""With this many reports for each label, half of what pairwise tables say of SPL answers is believed."""

_CHUNK = 1 << 13


class Likelihood(Protocol):
    """The reports of one phase."""

    def at(self, frequencies: Floats) -> Slope:
        """The log-likelihood's slope and information at these frequencies."""
        ...


def likelihood_of(plan: Plan, counts: Counts) -> Likelihood:
    """The most that the counts of a phase can say."""
    sampler = plan.sampler
    scales = [float(channel.scale) for channel in sampler.channels]
    if isinstance(sampler, Sample) or (isinstance(sampler, Split) and not counts.pair_tables):
        return Answers(scales, answers(plan, counts))
    if isinstance(sampler, Split):
        return Together(scales, counts)
    assert isinstance(sampler, Pivot)
    if counts.whole is None:
        return OneWay(sampler, counts)
    return Whole(sampler, counts.whole.codes, counts.whole.times)


@dataclass(frozen=True)
class Answers:
    """Every attribute through its own randomized response, answered by people of its own: SMP."""

    scales: Sequence[float]
    tallies: Sequence[NDArray[np.int64]]

    def at(self, frequencies: Floats) -> Slope:
        scale = np.repeat(self.scales, [len(tally) for tally in self.tallies])
        size = np.repeat([len(tally) for tally in self.tallies], [len(tally) for tally in self.tallies])
        asked = np.repeat([tally.sum() for tally in self.tallies], [len(tally) for tally in self.tallies])
        reported = scale * frequencies + (1 - scale) / size
        return scale * np.concatenate(list(self.tallies)) / reported, np.diag(asked * scale**2 / reported)


class Together:
    """Every attribute through its own randomized response, answered by the same people: SPL.

    The answers of one person hang together, and so do their reports. How much is taken from the pairwise tables, in
    units of each attribute's own spread, and the less of it the fewer reports there are to tell.
    """

    def __init__(self, scales: Sequence[float], counts: Counts) -> None:
        self._scales = scales
        self._reports = counts.reports
        self._shares = [tally / counts.reports for tally in counts.attributes]
        self._inside = [zero_sum_basis([len(tally)]) for tally in counts.attributes]
        seen = covariance(counts) * counts.reports
        basis = block_diagonal(self._inside)
        seen = basis.T @ seen @ basis
        unit = block_diagonal(
            [np.linalg.inv(np.linalg.cholesky(seen[own, own])) for own in _slices([len(b.T) for b in self._inside])]
        )
        related = unit @ seen @ unit.T
        trust = counts.reports / (counts.reports + FEW_REPORTS * len(basis))
        self._precision = np.linalg.inv((1 - trust) * np.eye(len(related)) + trust * related)

    def at(self, frequencies: Floats) -> Slope:
        slopes, units = [], []
        parts = np.split(frequencies, np.cumsum([len(share) for share in self._shares])[:-1])
        for scale, part, share, inside in zip(self._scales, parts, self._shares, self._inside, strict=True):
            reported = scale * part + (1 - scale) / len(part)
            spread = inside.T @ (np.diag(reported) - np.outer(reported, reported)) @ inside
            unit = np.linalg.inv(np.linalg.cholesky(spread)) @ inside.T * scale
            units.append(unit)
            slopes.append(unit @ (share - reported) / scale)
        unit = block_diagonal(units)
        pull = self._reports * unit.T @ self._precision
        return pull @ np.concatenate(slopes), pull @ unit


class Whole:
    """Whole reports of the pivot family: P(report) = Σ_pivot (its private value) · (the rest given that)."""

    def __init__(self, mechanism: Pivot, codes: NDArray[np.int64], times: NDArray[np.int64]) -> None:
        seen = _Reports.of(mechanism, codes)
        possible = seen.weights.any(axis=1)
        self._mechanism = mechanism
        self._seen = _Reports(seen.places[possible], seen.weights[possible])
        self._times = times[possible]
        self.impossible = int(times.sum() - self._times.sum())
        self._every = _every_report(mechanism) if prod(mechanism.outputs) <= MAX_ENUMERATED else None

    def at(self, frequencies: Floats) -> Slope:
        scale = np.repeat([float(channel.scale) for channel in self._mechanism.channels], self._mechanism.sizes)
        size = np.repeat(self._mechanism.sizes, self._mechanism.sizes)
        private = scale * frequencies + (1 - scale) / size
        slope, information = self._seen.moments(private, self._times)
        if self._every is not None:
            information = self._every.moments(private, None)[1] * self._times.sum()
        return scale * slope, scale[:, None] * information * scale


@dataclass(frozen=True)
class _Reports:
    """Reports as places among the private frequencies laid end to end, and P(pivot) · P(rest | pivot's value)."""

    places: NDArray[np.int64]
    weights: Floats

    @classmethod
    def of(cls, mechanism: Pivot, codes: NDArray[np.int64]) -> "_Reports":
        attributes = range(len(mechanism.channels))
        starts = np.cumsum([0, *mechanism.sizes[:-1]])
        weights = np.full(codes.shape, 1 / len(mechanism.channels))
        for pivot in attributes:
            for other in mechanism.others(pivot):
                table = mechanism.fills[pivot][other].push(np.eye(mechanism.sizes[pivot]))
                # Even fills, the most frequent ones, need no looking up.
                even = np.all(table == table[0, 0])
                weights[:, pivot] *= table[0, 0] if even else table[codes[:, pivot], codes[:, other]]
        return cls(codes + starts, weights)

    def moments(self, private: Floats, times: NDArray[np.int64] | None) -> Slope:
        """Σ times · ∂log P, and Σ times · ∂log P ∂log Pᵀ; times None means each report as often as it is expected."""
        slope = np.zeros(len(private))
        information = np.zeros((len(private), len(private)))
        for start in range(0, len(self.places), _CHUNK):
            places, weights = self.places[start : start + _CHUNK], self.weights[start : start + _CHUNK]
            probability = (weights * private[places]).sum(axis=1)
            seen = probability if times is None else times[start : start + _CHUNK]
            shares = weights / probability[:, None]
            slope += np.bincount(places.ravel(), (shares * seen[:, None]).ravel(), len(private))
            rows = np.zeros((len(places), len(private)))
            np.put_along_axis(rows, places, shares * np.sqrt(seen)[:, None], axis=1)
            information += rows.T @ rows
        return slope, information


@lru_cache(maxsize=16)
def _every_report(mechanism: Pivot) -> _Reports:
    """Every report that can occur, and no other: those of probability 0 say nothing."""
    reports = _Reports.of(mechanism, np.array(list(product(*map(range, mechanism.outputs)))))
    possible = reports.weights.any(axis=1)
    return _Reports(reports.places[possible], reports.weights[possible])


def block_diagonal(blocks: Sequence[Floats]) -> Floats:
    """The blocks along the diagonal, nothing elsewhere."""
    whole = np.zeros((sum(len(block) for block in blocks), sum(block.shape[1] for block in blocks)))
    for rows, columns, block in zip(
        _slices([len(block) for block in blocks]), _slices([block.shape[1] for block in blocks]), blocks, strict=True
    ):
        whole[rows, columns] = block
    return whole


def _slices(sizes: Sequence[int]) -> list[slice]:
    ends = np.cumsum(sizes).tolist()
    return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]


class OneWay:
    """The attributes of pivot reports one by one, where too many different reports were seen to keep them whole."""

    def __init__(self, mechanism: Pivot, counts: Counts) -> None:
        self._operator = operator_matrix(mechanism).T
        self._reported = np.concatenate(counts.attributes) / counts.reports
        self._precision = np.linalg.pinv(covariance(counts), rcond=1e-9, hermitian=True)

    def at(self, frequencies: Floats) -> Slope:
        pull = self._operator.T @ self._precision
        return pull @ (self._reported - self._operator @ frequencies), pull @ self._operator
