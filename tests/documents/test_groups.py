"""Groups and several pivots in plans."""

from fractions import Fraction

import msgspec
import pytest

from privtally.documents.campaign import Campaign
from privtally.documents.plan import load_plan
from privtally.errors import PlanError, PrivtallyError
from privtally.mechanisms import NAMED, build
from privtally.mechanisms.fills import UniformFill
from privtally.names import MechanismName
from tests.support import fill_of, first_plan, later_plan

FOUR = (3, 2, 3, 2)
GROUPS = [["q2", "q0"], ["q1", "q3"]]


@pytest.mark.parametrize("mechanism", ["smp", "rs-fd"])
def test_each_group_is_a_part_with_an_equal_share(mechanism: MechanismName) -> None:
    plan = first_plan(FOUR, 2.0, mechanism, groups=GROUPS)
    assert plan.groups == ((2, 0), (1, 3)) == tuple(part.attributes for part in plan.parts)
    assert {type(part.fill) for part in plan.parts} == {type(None) if mechanism == "smp" else UniformFill}
    ratios = {float(part.ratio) for part in plan.sampler.parts}
    assert all(ratio == pytest.approx(2.718281828) for ratio in ratios)
    assert load_plan(plan.dump()) == plan


@pytest.mark.parametrize("mechanism", ["rs-rfd", "corr-rr", "cond-rr"])
def test_a_mechanism_that_learns_states_its_groups_from_the_start(mechanism: MechanismName) -> None:
    plan = first_plan(FOUR, 2.0, mechanism, groups=GROUPS)
    assert plan.groups == ((2, 0), (1, 3))
    assert plan.parts == first_plan(FOUR, 2.0).parts
    assert load_plan(plan.dump()).groups == plan.groups


def test_one_group_is_no_groups() -> None:
    assert first_plan(FOUR, 2.0, "smp", groups=[["q0", "q1", "q2", "q3"]]) == first_plan(FOUR, 2.0, "smp")


def test_every_attribute_alone_is_the_mechanism_spl() -> None:
    alone = first_plan(FOUR, 2.0, "smp", groups=[["q0"], ["q1"], ["q2"], ["q3"]])
    assert alone.parts == first_plan(FOUR, 2.0).parts


@pytest.mark.parametrize(
    ("groups", "word"),
    [
        ([["q0", "q1"], ["q1", "q2", "q3"]], "'q1'"),
        ([["q0", "q0", "q1"], ["q2", "q3"]], "'q0'"),
        ([["q0", "q1"], ["q2"]], "'q3'"),
        ([["q0", "q1"], ["q2", "q3", "x"]], "'x'"),
        ([["q0", "q1", "q2", "q3"], []], "at least one"),
    ],
)
def test_groups_that_do_not_divide_the_attributes_are_refused(groups: list[list[str]], word: str) -> None:
    with pytest.raises(PlanError, match=word):
        first_plan(FOUR, 2.0, "smp", groups=groups)


def test_groups_that_a_mechanism_does_not_take_are_refused() -> None:
    with pytest.raises(PlanError, match="spl"):
        first_plan(FOUR, 2.0, "spl", groups=GROUPS)
    with pytest.raises(PlanError, match="group"):
        first_plan(FOUR, 2.0, "cond-rr", groups=[["q0"], ["q1"], ["q2"], ["q3"]])


def test_a_budget_too_small_for_the_weights_is_refused() -> None:
    """Below the least epsilon of a plan, where only thousands of groups would bring a share of it."""
    sizes, groups = (60_000,) * 4, ((0, 1), (2, 3))
    for budget, fits in ((Fraction(1, 10**6), True), (Fraction(1, 10**13), False)):
        parts = NAMED["smp"].first(sizes, budget, groups, 1)
        if fits:
            build(parts, sizes, budget)
        else:
            with pytest.raises(PlanError, match="64-bit"):
                build(parts, sizes, budget)


def test_groups_in_a_plan_must_be_its_parts_or_all_alone() -> None:
    plan = first_plan(FOUR, 2.0, "smp", groups=GROUPS)
    for groups in (((0, 1), (2, 3)), ((0, 1, 2, 3),), ((2, 0), (1,)), ((2, 0), (1, 3, 3)), ((2, 0), (1, 3), ())):
        with pytest.raises(PlanError, match="groups"):
            msgspec.structs.replace(plan, groups=groups)


def test_later_plans_of_a_campaign_may_have_other_groups() -> None:
    """Budgets and parts follow from each plan alone; another schema would be refused."""
    first = first_plan(FOUR, 2.0, "cond-rr", groups=GROUPS)
    fill = fill_of("cond-rr", FOUR)
    assert fill is not None
    later = later_plan(first_plan(FOUR, 2.0, "cond-rr"), fill)
    assert later.groups is None
    other = msgspec.structs.replace(later, campaign=first.campaign_id)
    assert Campaign.draft(first).open().close().follow(other).plans == (first, other)
    with pytest.raises(PrivtallyError, match="epsilon"):
        Campaign.draft(first).open().close().follow(msgspec.structs.replace(other, epsilon=1.0))


@pytest.mark.parametrize("pivots", [1, 2, 3])
def test_pivots_share_the_budget(pivots: int) -> None:
    plan = first_plan((3, 4, 2, 5), 1.5, "smp", pivots=pivots)
    (part,) = plan.parts
    assert (part.pivots, part.fill, plan.groups) == (pivots, None, None)
    assert float(plan.sampler.parts[0].asked[0].ratio) == pytest.approx(2.718281828459045 ** (1.5 / pivots))
    assert float(plan.sampler.ratio) == pytest.approx(2.718281828459045**1.5)
    assert load_plan(plan.dump()) == plan


def test_as_many_pivots_as_attributes_ask_all_of_them() -> None:
    (part,) = first_plan((3, 4), 1.0, "smp", pivots=2).parts
    assert (part.pivots, part.fill) == (2, None)
    plan = first_plan(FOUR, 2.0, "smp", groups=[["q0", "q1", "q2"], ["q3"]])
    assert [part.fill for part in plan.parts] == [None, None]
    two = first_plan(FOUR, 2.0, "smp", groups=GROUPS, pivots=2)
    assert [(part.pivots, part.fill) for part in two.parts] == [(2, None), (2, None)]
    assert float(two.sampler.parts[0].asked[0].ratio) == pytest.approx(2.718281828459045**0.5)


@pytest.mark.parametrize("pivots", [0, -1, 4, True, 1.0])
def test_numbers_of_pivots_out_of_range_are_refused(pivots: int) -> None:
    with pytest.raises(PlanError, match="pivots"):
        first_plan((2,) * 6, 1.0, "smp", pivots=pivots)


def test_too_many_choices_of_pivots_are_refused() -> None:
    assert len(first_plan((2,) * 80, 3.0, "smp", pivots=3).sampler.parts[0].branches) == 82_160
    with pytest.raises(PlanError, match="3 of 90"):
        first_plan((2,) * 90, 3.0, "smp", pivots=3)
    halves = [[f"q{own}" for own in range(start, start + 45)] for start in (0, 45)]
    assert first_plan((2,) * 90, 3.0, "smp", groups=halves, pivots=3).groups is not None


def test_more_pivots_than_attributes_and_pivots_of_a_phase_that_asks_all_are_refused() -> None:
    with pytest.raises(PlanError, match="3 questions a report"):
        first_plan((2, 2), 1.0, "smp", pivots=3)
    with pytest.raises(PlanError, match="2 questions a report"):
        first_plan(FOUR, 1.0, "smp", groups=[["q0", "q1", "q2"], ["q3"]], pivots=2)
    for mechanism in ("spl", "rs-rfd", "corr-rr", "cond-rr"):
        with pytest.raises(PlanError, match="smp"):
            first_plan((2, 2, 2), 1.0, mechanism, pivots=2)


def test_parts_that_contradict_groups_are_refused() -> None:
    """A plan of smp that says it has groups, and asks every question of everybody."""
    grouped = first_plan((2,) * 4, 2.0, "smp", groups=[["q0", "q1"], ["q2", "q3"]])
    alone = first_plan((2,) * 4, 2.0)
    with pytest.raises(PlanError, match="groups"):
        msgspec.structs.replace(grouped, parts=alone.parts)
    learning = first_plan((2,) * 4, 2.0, "corr-rr", groups=[["q0", "q1"], ["q2", "q3"]])
    with pytest.raises(PlanError, match="groups"):
        msgspec.structs.replace(learning, parts=grouped.parts)
