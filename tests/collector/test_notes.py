"""What an estimate says about itself: reports that were not kept whole, phases that hardly tell attributes apart."""

import numpy as np

from privtally.collector.estimate import estimate
from privtally.collector.estimate.notes import about_conditions, about_limits
from privtally.collector.estimate.phase import PhaseEstimate
from privtally.exact.probability import nearest_probability
from privtally.mechanisms.fills import CopyFill
from tests.collector.made_up import copies, copying_groups, simulated
from tests.support import first_plan, later_plan, plan_of


def copying(attributes: int, probability: float) -> CopyFill:
    return copies(
        *(tuple(1.0 if own == other else probability for other in range(attributes)) for own in range(attributes))
    )


def test_passing_the_limit_is_said() -> None:
    plan = later_plan(first_plan((4,) * 4, 2.0, "corr-rr"), copying(4, nearest_probability(0.05)))
    answers = np.full((4,) * 4, 4.0**-4)
    kept, passed = (simulated(plan, answers, 2_000, np.random.default_rng(1), limit) for limit in (256, 20))
    (note,) = about_limits(plan, passed)
    assert "20" in note
    assert not about_limits(plan, kept)
    assert note in estimate([(plan, passed)]).notes
    assert note not in estimate([(plan, kept)]).notes
    errors = [
        np.mean(np.square([own.standard_errors for own in estimate([(plan, counts)]).attributes.values()]))
        for counts in (kept, passed)
    ]
    assert errors[1] > errors[0]


def test_each_part_that_passes_the_limit_is_said() -> None:
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
