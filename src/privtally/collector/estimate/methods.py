"""The methods of estimation: the paper's, unbiased, pooled; each gives the frequencies of the wanted rounds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from privtally.collector.estimate.attribute import Found
from privtally.collector.estimate.history import History
from privtally.collector.estimate.large import pool_large
from privtally.collector.estimate.local_level import Rounds
from privtally.collector.estimate.notes import about_conditions, about_limits
from privtally.collector.estimate.phase import (
    PhaseEstimate,
    as_randomized_response,
    debias_as_randomized_response,
    invert,
)
from privtally.collector.estimate.pooled import MOST_LABELS, Labels, Pooled, pool
from privtally.collector.estimate.returning import (
    allowing_for_returns,
    repeats,
    sampling_covariance,
    sampling_variances,
)
from privtally.collector.estimate.spread import phase_covariance, phase_covariance_between
from privtally.collector.estimate.stacked import PhaseLikelihood
from privtally.collector.simplex import project_to_simplex
from privtally.documents.counts import Counts
from privtally.errors import EstimateError
from privtally.exact.arrays import Floats
from privtally.mechanisms import Part
from privtally.names import Method


def _paper(history: History, notes: list[str]) -> Found:
    """The paper's estimators, the phases weighted by their numbers of reports.

    Where fills depend on the pivot it is Section 3.2's for Corr-RR, and the same for Cond-RR, for which the paper gives
    none. RS+RFD's second phase is clipped to [0, 1] and divided by its sum, as the published numbers have it.
    """
    found: list[PhaseEstimate] = []
    used: list[Sequence[Part]] = []
    for plan, counts in history:
        fills = [part.fill for part in plan.sampler.parts if part.fill is not None]
        if any(fill.conditional for fill in fills):
            phase = debias_as_randomized_response(plan, counts)
            used.append(as_randomized_response(plan))
        else:
            phase = invert(plan, counts)
            used.append(plan.sampler.parts)
        if plan.learned is not None and not any(fill.conditional for fill in fills):
            clipped = [np.clip(f, 0, 1) for f in phase.frequencies]
            if any((held != f).any() for held, f in zip(clipped, phase.frequencies, strict=True)):
                notes.append(
                    f"Phase {plan.phase} was clipped to [0, 1]; its standard errors are those before, an upper bound."
                )
            phase = PhaseEstimate([f / f.sum() for f in clipped], phase.variances, phase.known, phase.condition)
        found.append(_with_returns(phase, counts, repeats(history)))
    total = sum(counts.reports for _, counts in history)
    attributes = len(found[0].frequencies)
    weights = [[counts.reports / total] * attributes for _, counts in history]
    return _weigh(history, found, used, weights)


def unbiased(history: History, notes: list[str]) -> Found:
    """Each phase's exact operator undone, the phases weighted for each attribute by the inverse of their variances."""
    found = [_with_returns(invert(plan, counts), counts, repeats(history)) for plan, counts in history]
    precisions = np.array(
        [
            [1 / variance.sum() if known else 0.0 for variance, known in zip(phase.variances, phase.known, strict=True)]
            for phase in found
        ]
    )
    if not precisions.sum(axis=0).all():
        raise EstimateError(
            "these reports do not determine the shares of the answers (the operator is singular); "
            "give the first phase's plan and counts as well, or use the method 'paper'"
        )
    notes += about_conditions(history[0][0].schema.names, [plan.phase for plan, _ in history], found)
    weights = (precisions / precisions.sum(axis=0)).tolist()
    return _weigh(history, found, [plan.sampler.parts for plan, _ in history], weights)


def _pooled(rounds: Sequence[History], wanted: Sequence[int], notes: list[str]) -> list[Found]:
    """All phases' likelihoods under one prior, those of other rounds as far as they still count, projected to the
    simplex.
    """
    history = [phase for phases in rounds for phase in phases]
    schema = history[0][0].schema
    for plan, counts in history:
        notes += about_limits(plan, counts)
    labels = [attribute.labels for attribute in schema.attributes]
    several = not all(part.linear for plan, _ in history for part in plan.sampler.parts)
    if several or sum(schema.sizes) > MOST_LABELS:
        reason = "several hidden pivots" if several else f"more than {MOST_LABELS:,} answers in all"
        text = f"With {reason}, the estimate starts from each question's unbiased one"
        notes.append(f"{text}, and each round is estimated alone." if len(rounds) > 1 else f"{text}.")
        return [_from_unbiased(rounds[number], labels, notes) for number in wanted]
    likelihoods = [PhaseLikelihood(plan, counts) for plan, counts in history]
    for (plan, _), likelihood in zip(history, likelihoods, strict=True):
        if likelihood.impossible:
            notes.append(
                f"{likelihood.impossible:,} reports to phase {plan.phase} cannot come from its plan and were left out."
            )
    allowed = allowing_for_returns(history, likelihoods, schema.sizes)
    if len(rounds) == 1:
        found = [pool(allowed, labels)]
    else:
        ends = np.cumsum([0, *map(len, rounds)]).tolist()
        parts = [slice(start, end) for start, end in pairwise(ends)]
        wider = [allowed[part] for part in parts] if repeats(history) else None
        tracked = Rounds([likelihoods[part] for part in parts], labels, wider)
        found = [tracked.estimate(number) for number in wanted]
    if not all(each.determined for each in found):
        notes.append("These reports do not tell all questions apart; where they do not, the estimate is the prior's.")
    return [_split(each, schema.sizes) for each in found]


def _from_unbiased(history: History, labels: Labels, notes: list[str]) -> Found:
    """The pooled estimate of a round with too many labels for matrices over all of them, or several hidden pivots."""
    start = unbiased(history, notes)
    means, variances = pool_large(start.frequencies, start.variances, labels)
    return Found(list(map(project_to_simplex, means)), variances, lambda _: None)


def _split(found: Pooled, sizes: Sequence[int]) -> Found:
    """A pooled estimate attribute by attribute, projected to the simplex."""
    bounds = np.cumsum([0, *sizes])
    places = [slice(start, end) for start, end in pairwise(bounds.tolist())]
    return Found(
        [project_to_simplex(found.mean[place]) for place in places],
        [found.variance[place] for place in places],
        lambda own: found.covariance[places[own], places[own]],
        lambda one, two: found.covariance[places[one], places[two]],
    )


def _alone(method: Callable[[History, list[str]], Found]) -> "InRounds":
    """A method that estimates every round from its own reports."""
    return lambda rounds, wanted, notes: [method(rounds[number], notes) for number in wanted]


InRounds = Callable[[Sequence[History], Sequence[int], list[str]], list[Found]]
"""The estimates of the wanted rounds, numbered from 0."""

IN_ROUNDS: Mapping[Method, InRounds] = {"paper": _alone(_paper), "unbiased": _alone(unbiased), "pooled": _pooled}


def _with_returns(phase: PhaseEstimate, counts: Counts, again: int) -> PhaseEstimate:
    """A phase's estimate, its variances allowing for people who answer so many other phases too."""
    variances = [
        variance + again / counts.reports * sampling_variances(own)
        for own, variance in zip(phase.frequencies, phase.variances, strict=True)
    ]
    return replace(phase, variances=variances)


def _weigh(
    history: History,
    found: Sequence[PhaseEstimate],
    used: Sequence[Sequence[Part]],
    weights: Sequence[Sequence[float]],
) -> Found:
    """The weighted mean of the phases and its variance, attribute by attribute; weights[phase][attribute].

    `used` are the parts whose operators were undone in each phase.
    """
    attributes = range(len(found[0].frequencies))
    pairs = list(zip(found, weights, strict=True))

    def covariance(own: int) -> Floats | None:
        again, total = repeats(history), np.zeros(())
        for (_, counts), parts, (phase, weight) in zip(history, used, pairs, strict=True):
            if weight[own]:
                spread = phase_covariance(counts, parts, own)
                if spread is None:
                    return None
                sampling = sampling_covariance(phase.frequencies[own]) if again else np.zeros(())
                total = total + weight[own] ** 2 * (spread + again / counts.reports * sampling)
        return total

    def between(one: int, two: int) -> Floats | None:
        if repeats(history):  # how the answers of people who come again go together is not known
            return None
        phases = [
            (weight[one] * weight[two], phase_covariance_between(counts, parts, one, two))
            for (_, counts), parts, weight in zip(history, used, weights, strict=True)
            if weight[one] and weight[two]
        ]
        known = [product * matrix for product, matrix in phases if matrix is not None]
        return sum(known, np.array(0.0)) if len(known) == len(phases) else None

    return Found(
        [sum((weight[own] * phase.frequencies[own] for phase, weight in pairs), np.array(0.0)) for own in attributes],
        [
            sum((weight[own] ** 2 * phase.variances[own] for phase, weight in pairs), np.array(0.0))
            for own in attributes
        ],
        covariance,
        between,
    )
