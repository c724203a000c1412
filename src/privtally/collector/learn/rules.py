"""learn: Phase I's counts -> the parameters of Phase II's plan. All of it is post-processing of private data."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, permutations

import msgspec
import numpy as np

from privtally.collector.estimate.inverse import Floats
from privtally.collector.estimate.likelihood import likelihood_of
from privtally.collector.estimate.phase import invert
from privtally.collector.joint import conditional_rows, pair_joint
from privtally.collector.learn.robust import choose
from privtally.collector.simplex import project_to_simplex
from privtally.documents.counts import Counts, check_counts
from privtally.documents.plan import Learned, Plan
from privtally.errors import LearningError
from privtally.exact.probability import nearest_distribution, nearest_probability
from privtally.mechanisms.channel import randomized_response
from privtally.mechanisms.pivot import Table
from privtally.names import MAX_PIVOT_GUESS, RULES, TWO_PHASE, Rule

USUAL_PHASE1_SHARE = 0.1
"""The share of people in Phase I that is assumed where the number of Phase II's people is not given."""


def learn(
    plan: Plan,
    counts: Counts,
    *,
    rule: Rule = "robust",
    phase2_users: int | None = None,
    max_pivot_guess: float = MAX_PIVOT_GUESS,
) -> Plan:
    """The second phase's plan of a campaign, from the first phase's plan and counts.

    The rules weigh bias against noise, so they depend on how many people Phase II will have; where `phase2_users` is
    not given, Phase I is taken to be a tenth of all. `max_pivot_guess` binds the rule `robust` alone: how often an
    observer who knows nothing of the answers may name a report's pivot.
    """
    if plan.phase != 1 or plan.campaign not in TWO_PHASE:
        raise LearningError(
            f"there is nothing to learn from phase {plan.phase} of {plan.campaign}; "
            f"give the first phase of {', '.join(TWO_PHASE)}"
        )
    if rule not in RULES:
        raise LearningError(f"the rule must be one of {', '.join(RULES)}")
    check_counts(plan, counts)
    if not counts.reports:
        raise LearningError("Phase I has no reports to learn from")
    if phase2_users is None:
        phase2_users = round(counts.reports * (1 / USUAL_PHASE1_SHARE - 1))
    if phase2_users < 1:
        raise LearningError(f"phase2_users must be at least 1, got {phase2_users}")

    if not 0 < max_pivot_guess <= 1:
        raise LearningError(f"max_pivot_guess must be above 0 and at most 1, got {max_pivot_guess}")

    priors = copies = tables = None
    pivot_guess: float | msgspec.UnsetType = msgspec.UNSET
    match plan.campaign:
        case "rs-rfd":
            priors = tuple(nearest_distribution(np.clip(f, 0, None)) for f in invert(plan, counts).frequencies)
        case "corr-rr":
            if rule == "robust":
                phase1 = likelihood_of(plan, counts)
                choice = choose(plan, phase1, counts.reports, phase2_users, max_pivot_guess)
                copies, pivot_guess = tuple(map(tuple, choice.copy_probability.tolist())), choice.pivot_guess
            else:
                copies = copy_probabilities(invert(plan, counts).frequencies, plan.epsilon, phase2_users, rule)
        case "cond-rr":
            tables = _tables(plan, counts)
    return Plan(
        schema=plan.schema,
        epsilon=plan.epsilon,
        campaign=plan.campaign,
        phase=2,
        mechanism=plan.campaign,
        priors=priors,
        copy_probability=copies,
        conditional_tables=tables,
        learned=Learned(
            plan=plan.digest,
            counts=counts.digest,
            reports=counts.reports,
            rule=rule if copies is not None else None,
            phase2_users=phase2_users if copies is not None else None,
            pivot_guess=pivot_guess,
        ),
    )


def copy_probabilities(
    frequencies: Sequence[Floats], epsilon: float, phase2_users: int, rule: Rule
) -> tuple[tuple[float, ...], ...]:
    """copy_probability[pivot][other] for every ordered pair; 1 on the diagonal."""
    scale = float(randomized_response(Fraction(epsilon), len(frequencies[0])).scale)
    choose = COPY_RULES[rule]
    copies = np.eye(len(frequencies))
    for pivot, other in permutations(range(len(frequencies)), 2):
        best = choose(frequencies[pivot], frequencies[other], scale, phase2_users)
        copies[pivot, other] = nearest_probability(float(best))
    return tuple(tuple(row) for row in copies.tolist())


def proposition(pivot: Floats, other: Floats, scale: float, users: int) -> Floats:
    """The paper's Proposition 1 with its endpoint comparison: the copy probability that minimises the mean squared
    error of `other` in the paper's estimator, for the pivot's and the other's frequencies (along the last axis) and
    Δ = `scale`.

    Where the pivot is exactly uniform, copying changes nothing, and the answer is 1/k.
    """
    size = pivot.shape[-1]
    q = (1 - scale) / size
    c0 = (other + (1 - pivot) / (size - 1)) / 2
    c1 = (size * pivot - 1) / (size - 1) / 2
    alpha = 1 - 1 / users
    beta = -2 * other + (1 - 2 * q) / (users * scale)
    quadratic = alpha * np.sum(c1**2, axis=-1)
    linear = np.sum(c1 * (2 * alpha * c0 + beta), axis=-1)
    # The error is quadratic · p² + linear · p + constant, and quadratic ≥ 0: comparing the ends is clipping the middle.
    middle = np.divide(-linear, 2 * quadratic, out=np.where(linear < 0, 1.0, 0.0), where=quadratic > 0)
    chosen: Floats = np.where((quadratic == 0) & (linear == 0), 1 / size, np.clip(middle, 0, 1))
    return chosen


def published(pivot: Floats, other: Floats, scale: float, users: int) -> Floats:
    """The formula behind the paper's published numbers: the one for two labels, used for any number of them.

    With two labels it is Proposition 1 for the opposite direction: published(a, b) = proposition(b, a). With more it is
    nearly always close to 1.
    """
    size = pivot.shape[-1]
    gap = 1 - pivot - other
    slope = 2 * other - 1
    start = (1 - scale) / size + scale / 2 * (gap + 2 * pivot)
    step = scale / 2 * slope
    noise = users * scale**2
    linear = np.sum(gap * slope / 2 + step * (1 - 2 * start) / noise, axis=-1)
    quadratic = np.sum(slope**2 / 4 - step**2 / noise, axis=-1)
    middle = np.divide(-linear, 2 * quadratic, out=np.full_like(linear, 1 / size), where=quadratic != 0)
    chosen: Floats = np.clip(middle, 0, 1)
    return chosen


COPY_RULES: Mapping[Rule, Callable[[Floats, Floats, float, int], Floats]] = {
    "proposition": proposition,
    "published": published,
}


def _tables(plan: Plan, counts: Counts) -> tuple[tuple[Table | None, ...], ...]:
    """A conditional table for every ordered pair; None on the diagonal."""
    attributes = range(len(plan.schema.attributes))
    marginals = [project_to_simplex(f) for f in invert(plan, counts).frequencies]
    tables: list[list[Table | None]] = [[None for _ in attributes] for _ in attributes]
    for one, two in combinations(attributes, 2):
        joint = pair_joint(plan, counts, one, two, marginals)
        tables[one][two] = tuple(map(nearest_distribution, conditional_rows(joint)))
        tables[two][one] = tuple(map(nearest_distribution, conditional_rows(joint.T)))
    return tuple(map(tuple, tables))
