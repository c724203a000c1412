"""A campaign's order of plans, and which plans belong together."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from privtally.documents.campaign import Campaign, State, check_one_campaign, refresh
from privtally.documents.plan import Plan, design, load_plan
from privtally.errors import CampaignError, EstimateError, PlanError, PrivtallyError
from privtally.mechanisms.named import NAMED
from privtally.names import MECHANISMS, MechanismName
from privtally.schema import Schema
from tests.support import Scripted, fill_of, first_plan, later_plan, schema_of

SIZES = (3, 3)
FIRST = first_plan(SIZES, 1.0, "corr-rr", answers=4)


def second_of(first: Plan) -> Plan:
    fill = fill_of("corr-rr", SIZES)
    assert fill is not None
    return later_plan(first, fill)


def test_two_phases_from_draft_to_closed() -> None:
    draft = Campaign.draft(FIRST)
    assert (draft.state, draft.open_plan) == (State.DRAFT, None)
    opened = draft.open()
    assert (opened.state, opened.open_plan) == (State.OPEN, FIRST)
    closed = opened.close()
    assert (closed.state, closed.open_plan) == (State.CLOSED, None)
    plan = second_of(FIRST)
    again = closed.follow(plan)
    assert (again.state, again.open_plan, again.plans) == (State.OPEN, plan, (FIRST, plan))
    assert again.close().open_plan is None
    assert draft.state is State.DRAFT


STEPS: list[Callable[[Campaign], Campaign]] = [
    lambda draft: draft.close(),
    lambda draft: draft.open().open(),
    lambda draft: draft.open().close().close(),
    lambda draft: draft.open().close().open(),
    lambda draft: draft.follow(second_of(FIRST)),
    lambda draft: draft.open().follow(second_of(FIRST)),
]


@pytest.mark.parametrize("step", STEPS)
def test_steps_out_of_order_are_refused(step: Callable[[Campaign], Campaign]) -> None:
    with pytest.raises(CampaignError, match="state"):
        step(Campaign.draft(FIRST))


def test_a_campaign_starts_with_a_first_plan() -> None:
    with pytest.raises(CampaignError, match="phase 2"):
        Campaign.draft(second_of(FIRST))


def changed(**fields: Any) -> Plan:
    return msgspec.structs.replace(second_of(FIRST), **fields)


STRANGERS: dict[str, Plan] = {
    "another campaign with the same questions": second_of(design(schema_of(SIZES), 1.0, "corr-rr", answers=4)),
    "another epsilon": changed(epsilon=0.5),
    "another number of answers": changed(answers=5),
    "another schema": changed(schema=Schema.of({"q0": ["a", "b", "c"], "other": ["a", "b", "c"]})),
    "another mechanism": changed(name="cond-rr"),
    "another campaign's id": changed(campaign="0" * 64),
    "the first plan again": FIRST,
}


@pytest.mark.parametrize("stranger", STRANGERS.values(), ids=STRANGERS)
def test_a_plan_of_another_campaign_cannot_follow(stranger: Plan) -> None:
    campaign = Campaign.draft(FIRST).open().close()
    with pytest.raises(CampaignError):
        campaign.follow(stranger)
    for error in (EstimateError, CampaignError):
        with pytest.raises(error):
            check_one_campaign([stranger, FIRST], error)


def test_phases_follow_one_by_one() -> None:
    second = second_of(FIRST)
    third = second.next(second.parts, second.learned)  # type: ignore[arg-type]  # a later plan was learned
    campaign = Campaign.draft(FIRST).open().close()
    with pytest.raises(CampaignError, match="phase 3"):
        campaign.follow(third)
    with pytest.raises(CampaignError):
        campaign.follow(second).close().follow(second)
    assert campaign.follow(second).close().follow(third).open_plan == third


@pytest.mark.parametrize("error", [CampaignError, EstimateError])
def test_plans_may_come_in_any_order_and_with_gaps(error: type[PrivtallyError]) -> None:
    second = second_of(FIRST)
    third = second.next(second.parts, second.learned)  # type: ignore[arg-type]  # a later plan was learned
    assert check_one_campaign([third, FIRST], error) == [FIRST, third]
    assert check_one_campaign([third, second, FIRST], error) == [FIRST, second, third]


def test_the_same_survey_designed_twice_is_two_campaigns() -> None:
    schema = schema_of(SIZES)
    one, two = (design(schema, 1.0, "spl") for _ in range(2))
    assert one.digest != two.digest
    assert one.nonce != two.nonce
    scripted = [design(schema, 1.0, "spl", source=Scripted([1, 2])) for _ in range(2)]
    assert scripted[0] == scripted[1]
    assert scripted[0].digest == scripted[1].digest


def with_second(first: Plan) -> list[Plan]:
    """The plans of a first round."""
    fill = fill_of(first.name, SIZES)
    return [first] if fill is None else [first, later_plan(first, fill)]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_round_starts_as_the_campaign_did(mechanism: MechanismName) -> None:
    plans = with_second(first_plan(SIZES, 1.0, mechanism, answers=2))
    again = refresh(plans[::-1])
    assert (again.phase, again.round, again.parts) == (len(plans) + 1, 2, plans[0].parts)
    assert (again.campaign, again.nonce, again.learned) == (plans[0].digest, None, None)
    assert load_plan(again.dump()) == again
    third = refresh([*plans, again])
    assert (third.phase, third.round) == (len(plans) + 2, 3)
    assert check_one_campaign([third, *plans, again], CampaignError) == [*plans, again, third]
    assert check_one_campaign([third, plans[0]], CampaignError) == [plans[0], third]


def test_groups_ask_everything_alone_again_where_the_mechanism_learns() -> None:
    first = first_plan((3, 3, 3, 3), 1.0, "corr-rr", groups=[["q0", "q1"], ["q2", "q3"]])
    again = refresh([first])
    assert NAMED["corr-rr"].learns
    assert [part.attributes for part in again.parts] == [(0,), (1,), (2,), (3,)]


def test_plans_without_rounds_keep_their_digests() -> None:
    assert b'"round"' not in first_plan(SIZES).dump()
    assert b'"round":2' in refresh([first_plan(SIZES)]).dump()


def test_a_campaign_follows_its_rounds() -> None:
    first, second = with_second(first_plan(SIZES, 1.0, "corr-rr"))
    campaign = Campaign.draft(first).open().close().follow(second).close()
    again = campaign.follow(refresh(campaign.plans))
    assert again.open_plan is not None
    assert again.open_plan.round == 2


FIRST_ROUND, SECOND = with_second(first_plan(SIZES, 1.0, "corr-rr"))
AGAIN = refresh([FIRST_ROUND, SECOND])


@pytest.mark.parametrize(
    ("plan", "fields"),
    [
        (FIRST_ROUND, {"round": 2}),
        (SECOND, {"round": 0}),
        (SECOND, {"round": 3}),
        (SECOND, {"learned": None}),
        (AGAIN, {"round": 1}),
        (AGAIN, {"nonce": "0" * 32}),
        (AGAIN, {"campaign": None}),
    ],
)
def test_a_plan_that_no_round_can_have_does_not_load(plan: Plan, fields: dict[str, Any]) -> None:
    with pytest.raises(PlanError):
        msgspec.structs.replace(plan, **fields)


@pytest.mark.parametrize(
    "plans",
    [
        [FIRST_ROUND, msgspec.structs.replace(SECOND, round=2)],
        [FIRST_ROUND, SECOND, AGAIN, msgspec.structs.replace(SECOND, phase=4)],
        [FIRST_ROUND, msgspec.structs.replace(AGAIN, phase=2, round=2), msgspec.structs.replace(AGAIN, round=2)],
        [FIRST_ROUND, SECOND, msgspec.structs.replace(AGAIN, round=3)],
        [FIRST_ROUND, SECOND, msgspec.structs.replace(AGAIN, parts=SECOND.parts)],
        [AGAIN, msgspec.structs.replace(AGAIN, phase=4, round=3, parts=SECOND.parts)],
    ],
    ids=["learned but starts", "backwards", "started twice", "skipped", "other parts", "other parts, first missing"],
)
def test_rounds_that_do_not_follow_are_refused(plans: list[Plan]) -> None:
    with pytest.raises(CampaignError):
        check_one_campaign(plans, CampaignError)


@pytest.mark.parametrize("plans", [[], [SECOND], [AGAIN], [FIRST_ROUND, first_plan(SIZES, 2.0, "corr-rr")]])
def test_a_refresh_needs_the_first_plan_and_one_campaign(plans: list[Plan]) -> None:
    with pytest.raises(CampaignError):
        refresh(plans)
