"""estimate: a campaign's history of (plan, counts) -> Estimate."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from privtally.collector.estimate.attribute import Found, attribute_estimate
from privtally.collector.estimate.fit import about_fit
from privtally.collector.estimate.large import pool_large
from privtally.collector.estimate.notes import about_conditions, about_limits
from privtally.collector.estimate.phase import (
    PhaseEstimate,
    as_randomized_response,
    debias_as_randomized_response,
    invert,
)
from privtally.collector.estimate.pooled import MOST_LABELS, pool
from privtally.collector.estimate.spread import phase_covariance, phase_covariance_between
from privtally.collector.estimate.stacked import PhaseLikelihood
from privtally.collector.simplex import project_to_simplex
from privtally.documents.campaign import check_one_campaign
from privtally.documents.counts import Counts, check_counts
from privtally.documents.estimate import Estimate, PhaseUsed, Provenance
from privtally.documents.plan import Plan
from privtally.errors import EstimateError
from privtally.exact.arrays import Floats
from privtally.mechanisms import Part
from privtally.names import METHODS, Method
from privtally.version import SOFTWARE

__all__ = ["History", "Phase", "estimate", "in_order", "one_way", "unbiased"]

Phase = tuple[Plan, Counts]
History = Sequence[Phase]
"""Phases of one campaign, each with its counts."""


def estimate(history: History, method: Method = "pooled") -> Estimate:
    """Frequencies of every attribute from the counts of one phase or of several phases of a campaign."""
    if method not in METHODS:
        raise EstimateError(f"the method must be one of {', '.join(METHODS)}")
    history = in_order(history)
    notes = about_fit(history)
    found = _METHODS[method](history, notes)
    first = history[0][0]
    biased = method == "paper" and any(plan.learned is not None for plan, _ in history)
    numbers = None if biased else _for_numbers(history, found, method, notes)
    attributes = {
        attribute.name: attribute_estimate(attribute, own, found, numbers, notes, intervals=not biased)
        for own, attribute in enumerate(first.schema.attributes)
    }
    return Estimate(
        attributes=attributes,
        method=method,
        biased=biased,
        notes=tuple(notes),
        provenance=Provenance(
            campaign=first.campaign_id,
            mechanism=first.mechanism,
            phases=tuple(
                PhaseUsed(plan.phase, plan.epsilon, counts.reports, plan.digest, counts.digest)
                for plan, counts in history
            ),
            software=SOFTWARE,
        ),
    )


def _for_numbers(history: History, found: Found, method: Method, notes: list[str]) -> Found | None:
    """Unbiased frequencies for means and quantiles, or None where no question asks for a number or there are none."""
    if all(attribute.numbers is None for attribute in history[0][0].schema.attributes):
        return None
    if method != "pooled":
        return found
    try:
        return unbiased(history, [])
    except EstimateError:
        notes.append("Means and quantiles need unbiased frequencies, which these reports do not give.")
        return None


def one_way(history: History, method: Method) -> Found:
    """The frequencies of every attribute by itself, with covariances."""
    return _METHODS[method](history, [])


def in_order(history: History) -> list[Phase]:
    """The phases in order, refused if they do not belong together or are empty."""
    if not history:
        raise EstimateError("an estimate needs the plan and counts of at least one phase")
    for plan, counts in history:
        check_counts(plan, counts)
        if not counts.reports:
            raise EstimateError(f"phase {plan.phase} has no reports; collect some or leave the phase out")
    check_one_campaign([plan for plan, _ in history], EstimateError)
    return sorted(history, key=lambda phase: phase[0].phase)


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
        found.append(phase)
    total = sum(counts.reports for _, counts in history)
    attributes = len(found[0].frequencies)
    weights = [[counts.reports / total] * attributes for _, counts in history]
    return _weigh(history, found, used, weights)


def unbiased(history: History, notes: list[str]) -> Found:
    """Each phase's exact operator undone, the phases weighted for each attribute by the inverse of their variances."""
    found = [invert(plan, counts) for plan, counts in history]
    precisions = np.array(
        [
            [1 / variance.sum() if known else 0.0 for variance, known in zip(phase.variances, phase.known, strict=True)]
            for phase in found
        ]
    )
    if not precisions.sum(axis=0).all():
        raise EstimateError(
            "these reports cannot tell the attributes apart (the operator is singular); "
            "give the first phase's plan and counts as well, or use the method 'paper'"
        )
    notes += about_conditions(history[0][0].schema.names, [plan.phase for plan, _ in history], found)
    weights = (precisions / precisions.sum(axis=0)).tolist()
    return _weigh(history, found, [plan.sampler.parts for plan, _ in history], weights)


def _pooled(history: History, notes: list[str]) -> Found:
    """All phases' likelihoods under one prior, projected to the simplex."""
    schema = history[0][0].schema
    for plan, counts in history:
        notes += about_limits(plan, counts)
    labels = [attribute.labels for attribute in schema.attributes]
    several = not all(part.linear for plan, _ in history for part in plan.sampler.parts)
    if several or sum(schema.sizes) > MOST_LABELS:
        reason = "several hidden pivots" if several else f"more than {MOST_LABELS:,} labels in all"
        notes.append(f"With {reason}, the estimate starts from each attribute's unbiased one.")
        start = unbiased(history, notes)
        means, variances = pool_large(start.frequencies, start.variances, labels)
        return Found(list(map(project_to_simplex, means)), variances, lambda _: None)
    likelihoods = [PhaseLikelihood(plan, counts) for plan, counts in history]
    for (plan, _), likelihood in zip(history, likelihoods, strict=True):
        if likelihood.impossible:
            notes.append(
                f"{likelihood.impossible:,} reports to phase {plan.phase} cannot come from its plan and were left out."
            )
    found = pool(likelihoods, labels)
    if not found.determined:
        notes.append("These reports do not tell all attributes apart; where they do not, the estimate is the prior's.")
    bounds = np.cumsum([0, *schema.sizes])
    places = [slice(start, end) for start, end in pairwise(bounds.tolist())]
    return Found(
        [project_to_simplex(found.mean[place]) for place in places],
        [found.variance[place] for place in places],
        lambda own: found.covariance[places[own], places[own]],
        lambda one, two: found.covariance[places[one], places[two]],
    )


_METHODS: Mapping[Method, Callable[[History, list[str]], Found]] = {
    "paper": _paper,
    "unbiased": unbiased,
    "pooled": _pooled,
}


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
        phases = [
            (weight[own] ** 2, phase_covariance(counts, parts, own))
            for (_, counts), parts, weight in zip(history, used, weights, strict=True)
            if weight[own]
        ]
        known = [square * matrix for square, matrix in phases if matrix is not None]
        return sum(known, np.array(0.0)) if len(known) == len(phases) else None

    def between(one: int, two: int) -> Floats | None:
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
