"""What one phase alone says: its counts carried back through its mechanism.

The variances treat the people who took part as a random sample of the population that the frequencies describe, and
come from the counts themselves: reports are independent, so the covariance of their mean is that of one report divided
by their number. They take the plan as given, learned parameters included. One imaginary report, spread evenly, keeps
every variance above zero in small samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from privtally.collector.estimate.inverse import ByLabel, ByTable, Floats, inverse_of
from privtally.documents.counts import Counts, Tally
from privtally.documents.plan import Plan
from privtally.errors import EstimateError
from privtally.mechanisms import Sample, Split

NEARLY_SINGULAR = 1e2
"""A condition number from which on people should be told."""


@dataclass(frozen=True)
class PhaseEstimate:
    """Frequencies and variances for each attribute, which of them are determined, and the operator's condition."""

    frequencies: Sequence[Floats]
    variances: Sequence[Floats]
    known: Sequence[bool]
    condition: float = 1.0


def invert(plan: Plan, counts: Counts) -> PhaseEstimate:
    """Undo the exact operator of the plan's mechanism: unbiased wherever `known`."""
    tallies = answers(plan, counts)
    inverse = inverse_of(plan.sampler)
    frequencies = inverse.apply([tally / tally.sum() for tally in tallies])
    if isinstance(inverse, ByTable):
        flat = np.einsum("ij,jk,ik->i", inverse.matrix, covariance(counts), inverse.matrix, optimize=True)
        variances = np.split(flat, inverse.bounds)
    else:
        variances = _variances(inverse, counts, tallies)
    return PhaseEstimate(frequencies, variances, inverse.known, inverse.condition)


def debias_as_randomized_response(plan: Plan, counts: Counts) -> PhaseEstimate:
    """The paper's Phase II estimator, as if every attribute had been randomised itself: f = (c/n − q) / (p − q)."""
    inverse = inverse_of(Split(plan.sampler.channels))
    assert isinstance(inverse, ByLabel)
    frequencies = inverse.apply([tally / tally.sum() for tally in counts.attributes])
    return PhaseEstimate(frequencies, _variances(inverse, counts, counts.attributes), inverse.known)


def answers(plan: Plan, counts: Counts) -> Sequence[Tally]:
    """How often each label was answered; with SMP, among those who were asked."""
    tallies = [tally[:-1] for tally in counts.attributes] if isinstance(plan.sampler, Sample) else counts.attributes
    for attribute, tally in zip(plan.schema.attributes, tallies, strict=True):
        if not tally.sum():
            raise EstimateError(f"nobody answered attribute '{attribute.name}' in phase {plan.phase}; collect more")
    return tallies


def _variances(inverse: ByLabel, counts: Counts, tallies: Sequence[Tally]) -> list[Floats]:
    attributes = range(len(tallies))
    weights = inverse.weights
    variances = [np.zeros(len(tally)) for tally in tallies]
    spreads = [_spread(tally) for tally in tallies]
    for one in attributes:
        for own in np.flatnonzero(weights[:, one]):
            variances[own] += weights[own, one] ** 2 * spreads[one]
    for one, two in combinations(attributes, 2):
        both = np.flatnonzero(weights[:, one] * weights[:, two])
        if both.size:
            shared, is_bound = _shared_spread(counts, one, two, spreads)
            for own in both:
                weight = 2 * weights[own, one] * weights[own, two]
                variances[own] += (abs(weight) if is_bound else weight) * shared
    return variances


def _shared_spread(counts: Counts, one: int, two: int, spreads: Sequence[Floats]) -> tuple[Floats, bool]:
    """The covariance of two attributes' frequencies of the same label; a bound on its size if nothing keeps it."""
    agreements = counts.agreements(one, two)
    if agreements is None:
        return np.sqrt(spreads[one] * spreads[two]), True
    both = (agreements + 1 / len(agreements) ** 2) / (counts.reports + 1)
    return (both - _smooth(counts.attributes[one]) * _smooth(counts.attributes[two])) / counts.reports, False


def covariance(counts: Counts) -> Floats:
    """The covariance of all reported frequencies, attributes laid end to end; 0 between two whose table is not kept."""
    smooth = [_smooth(tally) for tally in counts.attributes]
    together = np.block(
        [
            [np.diag(smooth[one]) if one == two else _smooth_pair(counts, one, two) for two in range(len(smooth))]
            for one in range(len(smooth))
        ]
    )
    flat = np.concatenate(smooth)
    covariance: Floats = (together - np.outer(flat, flat)) / counts.reports
    return covariance


def _smooth_pair(counts: Counts, one: int, two: int) -> Floats:
    table = counts.pair_tables.get((min(one, two), max(one, two)))
    if table is None:
        return np.outer(_smooth(counts.attributes[one]), _smooth(counts.attributes[two]))
    smooth: Floats = (table + 1 / table.size) / (counts.reports + 1)
    return smooth if one < two else smooth.T


def _smooth(tally: Tally) -> Floats:
    """Reported frequencies with one imaginary report, spread evenly."""
    smooth: Floats = (tally + 1 / len(tally)) / (tally.sum() + 1)
    return smooth


def _spread(tally: Tally) -> Floats:
    """The variance of each reported frequency."""
    smooth = _smooth(tally)
    spread: Floats = smooth * (1 - smooth) / tally.sum()
    return spread
