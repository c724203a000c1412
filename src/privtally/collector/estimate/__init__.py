"""estimate: (plan, counts) of one or two phases -> Estimate."""

from collections.abc import Sequence

import numpy as np

from privtally.collector.estimate.inverse import Floats
from privtally.collector.estimate.large import pool_large
from privtally.collector.estimate.likelihood import Whole, likelihood_of
from privtally.collector.estimate.phase import NEARLY_SINGULAR, PhaseEstimate, debias_as_randomized_response, invert
from privtally.collector.estimate.pooled import MOST_LABELS, pool
from privtally.collector.simplex import project_to_simplex
from privtally.documents.counts import Counts, check_counts
from privtally.documents.estimate import (
    AttributeEstimate,
    Estimate,
    PhaseUsed,
    Provenance,
    load_estimate,
)
from privtally.documents.plan import Plan
from privtally.errors import EstimateError
from privtally.mechanisms import Pivot
from privtally.names import METHODS, TWO_PHASE, Method
from privtally.version import SOFTWARE

__all__ = ["AttributeEstimate", "Estimate", "Phase", "estimate", "load_estimate"]

Phase = tuple[Plan, Counts]


def estimate(phases: Sequence[Phase], method: Method = "pooled") -> Estimate:
    """Frequencies of every attribute from the counts of one phase, or of both phases of a campaign."""
    phases = _in_order(phases)
    notes: list[str] = []
    if method == "paper":
        frequencies, variances, biased = _paper(phases, notes)
    elif method == "unbiased":
        frequencies, variances = _unbiased(phases, notes)
        biased = False
    elif method == "pooled":
        frequencies, variances = _pooled(phases, notes)
        biased = False
    else:
        raise EstimateError(f"the method must be one of {', '.join(METHODS)}")
    schema = phases[0][0].schema
    return Estimate(
        attributes={
            attribute.name: AttributeEstimate.of(attribute.labels, f, np.sqrt(v), intervals=not biased)
            for attribute, f, v in zip(schema.attributes, frequencies, variances, strict=True)
        },
        method=method,
        biased=biased,
        notes=tuple(notes),
        provenance=Provenance(
            campaign=phases[0][0].campaign,
            phases=tuple(
                PhaseUsed(plan.phase, plan.mechanism, plan.epsilon, counts.reports, plan.digest, counts.digest)
                for plan, counts in phases
            ),
            software=SOFTWARE,
        ),
    )


def _in_order(phases: Sequence[Phase]) -> list[Phase]:
    """The phases in order, refused if they do not belong together or are empty."""
    if not 1 <= len(phases) <= 2:
        raise EstimateError(f"an estimate takes the counts of one phase or of two, got {len(phases)}")
    for plan, counts in phases:
        check_counts(plan, counts)
        if not counts.reports:
            raise EstimateError(f"phase {plan.phase} has no reports; collect some or leave the phase out")
    ordered = sorted(phases, key=lambda phase: phase[0].phase)
    if len(ordered) == 2:
        first, second = (plan for plan, _ in ordered)
        if first.phase == second.phase:
            raise EstimateError(
                f"both plans are of phase {first.phase}; give one of each phase (counts of one plan add)"
            )
        if second.learned is not None and second.learned.plan != first.digest:
            raise EstimateError("the second phase was learned from another first phase; give the plans of one campaign")
        if (first.schema, first.epsilon, first.campaign) != (second.schema, second.epsilon, second.campaign):
            raise EstimateError("the plans differ in schema, epsilon or mechanism; give the plans of one campaign")
    return ordered


def _paper(phases: Sequence[Phase], notes: list[str]) -> tuple[list[Floats], list[Floats], bool]:
    """The paper's estimators, the phases weighted by their numbers of reports.

    Corr-RR's is Section 3.2's; Cond-RR, for which the paper gives none, takes the same one. RS+RFD's second phase is
    clipped to [0, 1] and divided by its sum, as the published numbers have it.
    """
    parts = []
    for plan, counts in phases:
        part = (debias_as_randomized_response if plan.mechanism in ("corr-rr", "cond-rr") else invert)(plan, counts)
        if plan.mechanism == "rs-rfd":
            clipped = [np.clip(f, 0, 1) for f in part.frequencies]
            if any((held != f).any() for held, f in zip(clipped, part.frequencies, strict=True)):
                notes.append("Phase 2 was clipped to [0, 1]; its standard errors are those before, an upper bound.")
            part = PhaseEstimate([f / f.sum() for f in clipped], part.variances, part.known)
        parts.append(part)
    total = sum(counts.reports for _, counts in phases)
    weights = [
        [counts.reports / total] * len(part.frequencies) for (_, counts), part in zip(phases, parts, strict=True)
    ]
    biased = any(plan.mechanism in TWO_PHASE for plan, _ in phases)
    return *_weigh(parts, weights), biased


def _unbiased(phases: Sequence[Phase], notes: list[str]) -> tuple[list[Floats], list[Floats]]:
    """Each phase's exact operator undone, the phases weighted for each attribute by the inverse of their variances."""
    parts = [invert(plan, counts) for plan, counts in phases]
    precisions = np.array(
        [
            [1 / variance.sum() if known else 0.0 for variance, known in zip(part.variances, part.known, strict=True)]
            for part in parts
        ]
    )
    if not precisions.sum(axis=0).all():
        raise EstimateError(
            "these reports cannot tell the attributes apart (the operator is singular); "
            "give Phase I's plan and counts as well, or use the method 'paper'"
        )
    names = phases[0][0].schema.names
    for (plan, _), part in zip(phases, parts, strict=True):
        lost = [name for name, known in zip(names, part.known, strict=True) if not known]
        if lost:
            notes.append(
                f"Phase {plan.phase} cannot tell {', '.join(lost)} apart from the others (its operator is singular); "
                "those frequencies rest on Phase 1 alone."
            )
        elif part.condition > NEARLY_SINGULAR:
            rest = "; the frequencies rest mostly on Phase 1" if len(phases) > 1 else "; its standard errors are large"
            notes.append(
                f"Phase {plan.phase} hardly tells the attributes apart (its operator is nearly singular, condition "
                f"{part.condition:.0f}){rest}."
            )
    return _weigh(parts, (precisions / precisions.sum(axis=0)).tolist())


def _pooled(phases: Sequence[Phase], notes: list[str]) -> tuple[list[Floats], list[Floats]]:
    """All phases' likelihoods under one prior, projected to the simplex."""
    schema = phases[0][0].schema
    for plan, counts in phases:
        if isinstance(plan.sampler, Pivot) and counts.whole is None:
            notes.append(
                f"Phase {plan.phase} has more different reports than are kept whole; "
                f"the estimate rests on their {'pairwise tables' if counts.pairs is not None else 'one-way counts'}."
            )
    labels = [attribute.labels for attribute in schema.attributes]
    if sum(schema.sizes) > MOST_LABELS:
        notes.append(
            f"With more than {MOST_LABELS:,} labels in all, the estimate starts from each attribute's unbiased one."
        )
        means, variances = pool_large(*_unbiased(phases, notes), labels)
        return list(map(project_to_simplex, means)), variances
    likelihoods = [likelihood_of(plan, counts) for plan, counts in phases]
    for (plan, _), likelihood in zip(phases, likelihoods, strict=True):
        if isinstance(likelihood, Whole) and likelihood.impossible:
            notes.append(
                f"{likelihood.impossible:,} reports to phase {plan.phase} cannot come from its plan and were left out."
            )
    found = pool(likelihoods, labels)
    if not found.determined:
        notes.append("These reports do not tell all attributes apart; where they do not, the estimate is the prior's.")
    bounds = np.cumsum(schema.sizes)[:-1]
    return [project_to_simplex(f) for f in np.split(found.mean, bounds)], np.split(found.variance, bounds)


def _weigh(parts: Sequence[PhaseEstimate], weights: Sequence[Sequence[float]]) -> tuple[list[Floats], list[Floats]]:
    """The weighted mean of the parts and its variance, attribute by attribute; weights[part][attribute]."""
    attributes = range(len(parts[0].frequencies))
    pairs = list(zip(parts, weights, strict=True))
    frequencies = [
        sum((weight[own] * part.frequencies[own] for part, weight in pairs), np.array(0.0)) for own in attributes
    ]
    variances = [
        sum((weight[own] ** 2 * part.variances[own] for part, weight in pairs), np.array(0.0)) for own in attributes
    ]
    return frequencies, variances
