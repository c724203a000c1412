"""What one phase alone says: its counts carried back through its mechanism, part by part.

The variances treat the people who took part as a random sample of the population that the frequencies describe, and
come from the counts themselves: reports are independent, so the covariance of their mean is that of one report divided
by their number. They take the plan as given, learned parameters included. One imaginary report, spread evenly, keeps
every variance above zero in small samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from privtally.collector.estimate.inverse import ByLabel, Inverse, inverse_of
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.errors import EstimateError
from privtally.exact.arrays import Floats, Integers
from privtally.mechanisms import Part


@dataclass(frozen=True)
class PhaseEstimate:
    """Frequencies and variances for each attribute, which of them are determined, and the worst condition number."""

    frequencies: Sequence[Floats]
    variances: Sequence[Floats]
    known: Sequence[bool]
    condition: float


def invert(plan: Plan, counts: Counts) -> PhaseEstimate:
    """Undo the exact operator of every part: unbiased wherever `known`."""
    return _carried_back(plan, counts, plan.sampler.parts)


def debias_as_randomized_response(plan: Plan, counts: Counts) -> PhaseEstimate:
    """The paper's Phase II estimator, as if every attribute had been randomised itself: f = (c/n − q) / (p − q)."""
    alone = [
        Part((own,), 1, (channel,))
        for part in plan.sampler.parts
        for own, channel in zip(part.attributes, part.asked, strict=True)
    ]
    return _carried_back(plan, counts, alone)


def _carried_back(plan: Plan, counts: Counts, parts: Sequence[Part]) -> PhaseEstimate:
    frequencies: dict[int, Floats] = {}
    variances: dict[int, Floats] = {}
    known: dict[int, bool] = {}
    condition = 1.0
    for part in parts:
        tallies = answers(plan, counts, part)
        inverse = inverse_of(part)
        spreads = _variances(inverse, counts, part, tallies)
        found = inverse.apply([tally / tally.sum() for tally in tallies])
        for own, f, v, k in zip(part.attributes, found, spreads, inverse.known, strict=True):
            frequencies[own], variances[own], known[own] = f, v, k
        condition = max(condition, inverse.condition)
    order = range(plan.sampler.width)
    return PhaseEstimate(
        [frequencies[own] for own in order], [variances[own] for own in order], [known[own] for own in order], condition
    )


def answers(plan: Plan, counts: Counts, part: Part) -> list[Integers]:
    """How often each code of the part's attributes was answered, "not asked" left out."""
    tallies = [counts.attributes[own][:codes] for own, codes in zip(part.attributes, part.answers, strict=True)]
    for own, tally in zip(part.attributes, tallies, strict=True):
        if not tally.sum():
            name = plan.schema.names[own]
            raise EstimateError(f"nobody answered attribute '{name}' in phase {plan.phase}; collect more")
    return tallies


def _variances(inverse: Inverse, counts: Counts, part: Part, tallies: Sequence[Integers]) -> list[Floats]:
    """The variance of every frequency of a part."""
    if not isinstance(inverse, ByLabel):
        spread = covariance(counts, [part])
        return [
            np.einsum("ij,jk,ik->i", back, spread, back, optimize=True)
            for back in (np.hstack(inverse.back(own)) for own in range(len(tallies)))
        ]
    weights = inverse.weights
    spreads = [_spread(tally) for tally in tallies]
    variances = [np.zeros(len(tally)) for tally in tallies]
    for one, spread in enumerate(spreads):
        for own in np.flatnonzero(weights[:, one]):
            variances[own] += weights[own, one] ** 2 * spread
    for one, two in combinations(range(len(tallies)), 2):
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
    agreements = counts.agreements(own, other)
    if agreements is None:
        return np.sqrt(spreads[one] * spreads[two]), True
    both = (agreements + 1 / len(agreements) ** 2) / (counts.reports + 1)
    return (both - smooth(counts.attributes[own]) * smooth(counts.attributes[other])) / counts.reports, False


def covariance(counts: Counts, parts: Sequence[Part]) -> Floats:
    """The covariance of the observed frequencies of some parts' attributes, laid end to end.

    It is 0 between two attributes whose table is not kept. Where reports are silent about attributes, it is the
    covariance given how many people answered each.
    """
    places = [(own, codes) for part in parts for own, codes in zip(part.attributes, part.answers, strict=True)]
    return np.block([[_covariance(counts, one, two) for two in places] for one in places])


def _covariance(counts: Counts, one: tuple[int, int], two: tuple[int, int]) -> Floats:
    people = [counts.attributes[own][:codes].sum() for own, codes in (one, two)]
    if one == two:
        frequencies = smooth(counts.attributes[one[0]][: one[1]])
        own: Floats = (np.diag(frequencies) - np.outer(frequencies, frequencies)) / people[0]
        return own
    table = counts.pair_tables.get((min(one[0], two[0]), max(one[0], two[0])))
    if table is None:
        return np.zeros((one[1], two[1]))
    table = (table if one[0] < two[0] else table.T)[: one[1], : two[1]]
    together = (table + 1 / table.size) / (table.sum() + 1)
    # The frequencies among those who answered both: with any others, rows and columns would not sum to 0.
    apart = np.outer(together.sum(axis=1), together.sum(axis=0))
    spread: Floats = (together - apart) * (table.sum() / people[0] / people[1])
    return spread


def smooth(tally: Integers) -> Floats:
    """Reported frequencies with one imaginary report, spread evenly."""
    smoothed: Floats = (tally + 1 / len(tally)) / (tally.sum() + 1)
    return smoothed


def _spread(tally: Integers) -> Floats:
    """The variance of each reported frequency."""
    frequencies = smooth(tally)
    spread: Floats = frequencies * (1 - frequencies) / tally.sum()
    return spread
