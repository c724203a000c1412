"""Notes and alarms: counts that no honest participants could have sent, limits that were passed, conditions."""

import numpy as np
import pytest

from privtally.collector.diagnostics import about_conditions, about_fit, about_limits, code_bounds
from privtally.collector.estimate import estimate
from privtally.collector.spread import PhaseEstimate
from privtally.collector.tally import count
from privtally.documents.plan import Plan
from privtally.lab.population import seeded
from privtally.mechanisms.fills import CopyFill, UniformFill
from privtally.mechanisms.named import PartPlan, RandomizedResponse
from privtally.participant.respond import respond_many
from privtally.schema import Records
from tests.collector.made_up import copying_groups, copying_plan, same_copies, simulated
from tests.support import MECHANISMS, first_plan, plan_of, plan_with, records_of, table_fill

SIZES = (3, 3, 3)
GRR = RandomizedResponse()
HALF = ((1.0, 0.5, 0.25), (0.5, 1.0, 0.0), (0.75, 0.5, 1.0))


def plans() -> dict[str, Plan]:
    """Every named mechanism, groups, and two pivots."""
    all_three, grr = (0, 1, 2), (GRR,) * 3
    return {
        **{name: plan_of(name, SIZES, 2.0, seed=3) for name in MECHANISMS},
        "groups": plan_with((PartPlan((0, 2), 1, grr[:2], 1, UniformFill()), PartPlan((1,), 1, grr[:1])), SIZES, 2.0),
        "copies": plan_with((PartPlan(all_three, 1, grr, 2, CopyFill(HALF)),), SIZES, 2.0),
        "two asked": plan_with((PartPlan(all_three, 2, grr),), SIZES, 2.0),
        "two hidden": plan_with(
            (PartPlan(all_three, 2, grr, 1, table_fill(SIZES, 2, np.random.default_rng(1))),), SIZES, 2.0
        ),
    }


PLANS = plans()


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_bounds_hold_for_every_record_and_are_attained_with_one_pivot(plan: Plan) -> None:
    mechanism = plan.mechanism
    marginals = []
    for record in records_of(SIZES):
        table = [np.zeros(size) for size in mechanism.outputs]
        for report, chance in mechanism.law(record).items():
            for own, code in enumerate(report):
                table[own][code] += float(chance)
        marginals.append(table)
    for part in mechanism.parts:
        for own, (low, high) in zip(part.attributes, code_bounds(part), strict=True):
            seen = np.array([table[own] for table in marginals])
            assert (seen.max(axis=0) <= high + 1e-12).all()
            assert (seen.min(axis=0) >= low - 1e-12).all()
            if part.pivots == 1:
                np.testing.assert_allclose(seen.max(axis=0), high, atol=1e-12)
                np.testing.assert_allclose(seen.min(axis=0), low, atol=1e-12)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("records", ["all the same", "mixed"])
def test_honest_reports_raise_no_alarm_whatever_the_records(plan: Plan, records: str) -> None:
    """Each of these 20 fails by chance with at most 1e-6; the seed is fixed."""
    people = 20_000
    codes = np.zeros((people, 3)) if records == "all the same" else np.random.default_rng(5).integers(0, 3, (people, 3))
    reports = respond_many(plan, Records(plan.schema, codes.astype(np.uint8)), seeded(4)).codes
    assert about_fit([(plan, count(plan, reports))]) == []


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_made_up_reports_raise_an_alarm(plan: Plan) -> None:
    people = 5_000
    codes = np.random.default_rng(5).integers(0, 3, (people, 3)).astype(np.uint8)
    honest = respond_many(plan, Records(plan.schema, codes), seeded(4)).codes
    made_up = np.repeat(honest[:1], people * 2, axis=0)
    (note,) = about_fit([(plan, count(plan, np.concatenate([honest, made_up])))])
    assert str(plan.phase) in note


def test_the_estimate_carries_the_warning_and_leaves_nothing_out() -> None:
    plan = PLANS["spl"]
    counts = count(plan, np.ones((100_000, 3), dtype=np.uint8))
    found = estimate([(plan, counts)])
    assert any("WARNING" in note for note in found.notes)
    assert found.provenance.phases[0].reports == 100_000


@pytest.mark.parametrize("name", ["copies", "smp", "rs-fd", "cond-rr"])
def test_pairs_of_codes_of_one_part_raise_no_alarm_past_the_limit(name: str) -> None:
    """Two codes of one part are not independent given the record, so that their pairs have no simple bound."""
    plan = PLANS[name]
    records = Records(plan.schema, np.zeros((20_000, 3), dtype=np.uint8))
    counts = count(plan, respond_many(plan, records, seeded(4)).codes, limit=2)
    assert counts.pairs
    assert about_fit([(plan, counts)]) == []


def test_passing_the_limit_is_said() -> None:
    plan = copying_plan(same_copies(4, 0.05), 4, 2.0)
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
