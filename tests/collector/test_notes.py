"""What an estimate says about itself: what passing the limit costs, and which phases hardly tell attributes apart."""

from fractions import Fraction

import numpy as np
import pytest

from privtally.collector.estimate import estimate
from privtally.collector.estimate.inverse import zero_sum_basis
from privtally.collector.estimate.likelihood import OneWay, part_likelihood
from privtally.collector.estimate.notes import about_conditions, about_limits, cost_of_one_way
from privtally.collector.estimate.phase import PhaseEstimate
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.exact.probability import nearest_probability
from privtally.mechanisms import Part
from privtally.mechanisms.channel import randomized_response
from privtally.mechanisms.fills import AnyFill, CopyFill, SilentFill, UniformFill
from tests.collector.made_up import copies, copying_groups, simulated, two_pivots
from tests.support import counts_of, first_plan, later_plan, plan_of


def copying(attributes: int, probability: float) -> CopyFill:
    return copies(
        *(tuple(1.0 if own == other else probability for other in range(attributes)) for own in range(attributes))
    )


def part_of(size: int, attributes: int, fill: AnyFill, epsilon: int = 1) -> Part:
    return Part(tuple(range(attributes)), 1, (randomized_response(Fraction(epsilon), size),) * attributes, fill)


def test_reading_uniform_fills_one_by_one_costs_next_to_nothing() -> None:
    cost = cost_of_one_way(part_of(4, 3, UniformFill()))
    assert cost == pytest.approx(1, abs=0.01)


def test_reading_unlikely_copies_one_by_one_is_dear() -> None:
    cost = cost_of_one_way(part_of(4, 4, copying(4, nearest_probability(0.05)), epsilon=2))
    assert cost is not None
    assert cost > 2


def reported(plan: Plan, probability: float) -> Counts:
    """The counts of reports that are as frequent as expected where answers are uniform and copies have a probability.

    P(report) = mean over pivots of 1/k · Π over the others (p if it agrees with the pivot, else (1 − p)/(k − 1)).
    """
    sizes = plan.schema.sizes
    reports, size = np.array(list(np.ndindex(sizes))), sizes[0]
    law = np.zeros(len(reports))
    for pivot in range(len(sizes)):
        agree = np.delete(reports, pivot, axis=1) == reports[:, [pivot]]
        law += np.where(agree, probability, (1 - probability) / (size - 1)).prod(axis=1) / size / len(sizes)
    return counts_of(plan, np.round(1e12 * law).astype(np.int64).reshape(sizes))


@pytest.mark.parametrize("sizes", [(3,) * 4, (2,) * 5, (5,) * 2, (5,) * 4, (6,) * 4], ids=str)
def test_the_cost_is_that_of_the_two_likelihoods(sizes: tuple[int, ...]) -> None:
    """For some of these shapes the number of reports has a divisor in common with one near its golden section."""
    probability = 0.046875
    plan = later_plan(first_plan(sizes, 2.0, "corr-rr"), copying(len(sizes), probability))
    (part,) = plan.sampler.parts
    counts = reported(plan, probability)
    point, basis = np.concatenate([np.full(size, 1 / size) for size in sizes]), zero_sum_basis(sizes)
    whole, one_way = (
        np.trace(np.linalg.inv(basis.T @ likelihood.at(point)[1] @ basis))
        for likelihood in (part_likelihood(plan, counts, part), OneWay(plan, counts, part))
    )
    assert cost_of_one_way(part) == pytest.approx(np.sqrt(one_way / whole), rel=1e-3)


def test_where_there_is_nothing_to_compare_there_is_no_cost() -> None:
    assert cost_of_one_way(part_of(3, 3, SilentFill())) is None
    assert cost_of_one_way(part_of(3, 2, copying(2, 1.0))) is None
    assert cost_of_one_way(part_of(101, 3, UniformFill())) is None
    assert cost_of_one_way(two_pivots(UniformFill()).sampler.parts[0]) is None
    assert cost_of_one_way(first_plan((3,)).sampler.parts[0]) is None


def test_passing_the_limit_is_said_with_its_cost() -> None:
    plan = later_plan(first_plan((4,) * 4, 2.0, "corr-rr"), copying(4, nearest_probability(0.05)))
    (part,) = plan.sampler.parts
    answers = np.full((4,) * 4, 4.0**-4)
    kept, passed = (simulated(plan, answers, 2_000, np.random.default_rng(1), limit) for limit in (256, 20))
    cost = cost_of_one_way(part)
    (note,) = about_limits(plan, passed)
    assert f"{cost:.2g}" in note
    assert "20" in note
    assert not about_limits(plan, kept)
    assert note in estimate([(plan, passed)]).notes
    assert note not in estimate([(plan, kept)]).notes
    errors = [
        np.mean(np.square([own.standard_errors for own in estimate([(plan, counts)]).attributes.values()]))
        for counts in (kept, passed)
    ]
    assert errors[1] > errors[0]


def test_each_part_that_passes_the_limit_is_said_and_a_silent_one_without_a_cost() -> None:
    groups = copying_groups()
    counts = simulated(groups, np.full((3, 2, 3, 2), 1 / 36), 500, np.random.default_rng(1), limit=0)
    assert len(about_limits(groups, counts)) == 2
    silent = plan_of("smp", (3, 3))
    counts = simulated(silent, np.full((3, 3), 1 / 9), 500, np.random.default_rng(1), limit=0)
    assert len(about_limits(silent, counts)) == 1
    alone = first_plan((3, 3))
    assert not about_limits(alone, simulated(alone, np.full((3, 3), 1 / 9), 500, np.random.default_rng(1), limit=0))


def test_conditions_name_the_phase_and_what_it_loses() -> None:
    def phase(known: tuple[bool, bool], condition: float) -> PhaseEstimate:
        return PhaseEstimate([], [], known, condition)

    fine, nearly, lost = phase((True, True), 3.0), phase((True, True), 345.0), phase((False, True), 1e16)
    assert not about_conditions(("a", "b"), (1, 2), (fine, fine))
    (note,) = about_conditions(("a", "b"), (1, 7), (fine, nearly))
    assert "7" in note
    assert "345" in note
    (note,) = about_conditions(("first", "second"), (1, 7), (fine, lost))
    assert "7" in note
    assert "first" in note
    assert "second" not in note
    assert len(about_conditions(("a", "b"), (1, 2), (nearly, lost))) == 2
