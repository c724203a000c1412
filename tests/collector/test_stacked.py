"""A phase's information is true: its inverse is the covariance of estimates, across parts too.

Whitened by a phase's own information, the errors of one-step estimates have the covariance 1. Over 200 runs the
eigenvalues of a sample covariance of at most 6 directions lie around (1 ± √(6/200))², 0.68 … 1.38; the seed is fixed.
The same parts taken as if different people had answered them must fall outside.
"""

import numpy as np
import pytest

from privtally.collector.estimate.inverse import zero_sum_basis
from privtally.collector.estimate.likelihood import columns, part_likelihood
from privtally.collector.estimate.stacked import PhaseLikelihood
from privtally.collector.tally import count
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.mechanisms.fills import CopyFill, SilentFill
from tests.collector.made_up import (
    copies,
    copying_groups,
    group,
    made_up_law,
    marginals_of,
    plans_of_every_kind,
    simulated,
    two_groups,
)
from tests.support import first_plan, plan_with

RUNS = 200


def alike(sizes: tuple[int, ...], together: float = 0.9) -> np.ndarray:
    """Records whose attributes nearly all have the same code, counted modulo their sizes."""
    law = np.full(sizes, (1 - together) / np.prod(sizes))
    for code, share in enumerate((0.5, 0.3, 0.2)):
        law[tuple(code % size for size in sizes)] += together * share
    return law


def without_pairs(counts: Counts) -> Counts:
    return Counts(counts.plan, counts.reports, counts.attributes, counts.parts, {}, counts.limit)


def whitened_errors(plan: Plan, answers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each run the error of a step from the truth, in units of what the information says; then without pairs."""
    truth, basis = np.concatenate(marginals_of(answers)), zero_sum_basis(plan.schema.sizes)
    generator = np.random.default_rng(5)
    found: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for _ in range(RUNS):
        counts = simulated(plan, answers, 4_000, generator)
        for errors, kept in zip(found, (counts, without_pairs(counts)), strict=True):
            gradient, information = PhaseLikelihood(plan, kept).at(truth)
            # With I = L Lᵀ the step is I⁻¹ g, and Lᵀ times it is L⁻¹ g.
            root = np.linalg.cholesky(basis.T @ information @ basis)
            errors.append(np.linalg.solve(root, basis.T @ gradient))
    return np.array(found[0]), np.array(found[1])


def is_unit(errors: np.ndarray) -> bool:
    values = np.linalg.eigvalsh(np.cov(errors.T))
    return bool(values[0] > 0.6 and values[-1] < 1.5)


PLANS: dict[str, Plan] = {
    "spl": first_plan((2, 3, 2), 9.0),
    "copying groups": copying_groups(8.0),
    "silent groups": two_groups(SilentFill(), SilentFill(), (2, 3, 2, 2), 8.0),
    "unequal groups": plan_with(
        (group((1,), 1, None), group((0, 2), 1, copies((1.0, 0.5), (0.625, 1.0)))), (3, 2, 3), 8.0
    ),
}


@pytest.mark.parametrize("kind", PLANS)
def test_the_information_is_that_of_the_estimates(kind: str) -> None:
    plan = PLANS[kind]
    whole, apart = whitened_errors(plan, alike(plan.schema.sizes))
    assert is_unit(whole)
    assert not is_unit(apart)
    assert (np.abs(whole.mean(axis=0)) < 5 / np.sqrt(RUNS)).all()


def test_answers_that_do_not_go_together_need_no_correlation() -> None:
    whole, apart = whitened_errors(PLANS["spl"], alike((2, 3, 2), together=0.0))
    assert is_unit(whole)
    assert is_unit(apart)


@pytest.mark.parametrize("name", ["smp", "rs-fd", "rs-rfd", "corr-rr", "cond-rr", "two pivots, silent"])
def test_a_single_part_is_its_own_likelihood(name: str) -> None:
    plan = plans_of_every_kind()[name]
    (part,) = plan.sampler.parts
    answers = made_up_law(plan.schema.sizes)
    counts = simulated(plan, answers, 2_000, np.random.default_rng(1))
    truth = np.concatenate(marginals_of(answers))
    for one, two in zip(
        PhaseLikelihood(plan, counts).at(truth), part_likelihood(plan, counts, part).at(truth), strict=True
    ):
        np.testing.assert_array_equal(one, two)


def test_without_pairs_every_part_stands_for_itself() -> None:
    """Each part's gradient and information stand where its attributes do, and nothing between two parts."""
    plan, answers = PLANS["copying groups"], alike((3, 2, 3, 2))
    counts = without_pairs(simulated(plan, answers, 2_000, np.random.default_rng(1)))
    truth = np.concatenate(marginals_of(answers))
    gradient, information = PhaseLikelihood(plan, counts).at(truth)
    left = information.copy()
    for part in plan.sampler.parts:
        place = columns(plan.schema.sizes, part.attributes)
        own_gradient, own_information = part_likelihood(plan, counts, part).at(truth[place])
        np.testing.assert_array_equal(gradient[place], own_gradient)
        np.testing.assert_array_equal(information[np.ix_(place, place)], own_information)
        left[np.ix_(place, place)] = 0
    assert not left.any()


def test_with_few_reports_little_of_the_correlation_is_believed() -> None:
    """Off the parts' own blocks the information, for each report, grows with their number."""
    plan, answers = PLANS["spl"], alike((2, 3, 2))
    truth = np.concatenate(marginals_of(answers))
    sizes = []
    for people in (20, 400, 100_000):
        counts = simulated(plan, answers, people, np.random.default_rng(3))
        between = PhaseLikelihood(plan, counts).at(truth)[1][:2, 2:5] / people
        sizes.append(np.abs(between - between.mean(axis=1, keepdims=True)).max())
    assert sizes[0] < sizes[1] / 2 < sizes[1] < sizes[2]


def test_impossible_reports_of_all_parts_are_counted() -> None:
    never = CopyFill(((1.0, 0.0), (0.0, 1.0)))
    plan = two_groups(never, never, (2, 2, 2, 2))
    possible = simulated(plan, made_up_law((2, 2, 2, 2)), 50, np.random.default_rng(1))
    # Attributes 0 and 2 agree in three reports, 1 and 3 in one of these.
    more = count(plan, np.array([[0, 0, 0, 1], [1, 0, 1, 1], [1, 1, 1, 1]], dtype=np.uint8))
    assert PhaseLikelihood(plan, possible).impossible == 0
    assert PhaseLikelihood(plan, possible + more).impossible == 4
