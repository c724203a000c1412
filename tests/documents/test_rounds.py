"""Rounds as data: what a refreshed plan is, which rounds follow each other, and what is refused."""

from typing import Any

import msgspec
import pytest

from privtally.documents.campaign import Campaign, check_one_campaign, refresh
from privtally.documents.plan import Plan, load_plan
from privtally.errors import CampaignError, PlanError
from privtally.mechanisms import NAMED
from privtally.names import MECHANISMS, MechanismName
from tests.support import fill_of, first_plan, later_plan

SIZES = (3, 3)


def with_second(first: Plan) -> list[Plan]:
    """The plans of a first round."""
    fill = fill_of(first.mechanism, SIZES)
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


FIRST, SECOND = with_second(first_plan(SIZES, 1.0, "corr-rr"))
AGAIN = refresh([FIRST, SECOND])


@pytest.mark.parametrize(
    ("plan", "fields"),
    [
        (FIRST, {"round": 2}),
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
        [FIRST, msgspec.structs.replace(SECOND, round=2)],
        [FIRST, SECOND, AGAIN, msgspec.structs.replace(SECOND, phase=4)],
        [FIRST, msgspec.structs.replace(AGAIN, phase=2, round=2), msgspec.structs.replace(AGAIN, round=2)],
        [FIRST, SECOND, msgspec.structs.replace(AGAIN, round=3)],
        [FIRST, SECOND, msgspec.structs.replace(AGAIN, parts=SECOND.parts)],
        [AGAIN, msgspec.structs.replace(AGAIN, phase=4, round=3, parts=SECOND.parts)],
    ],
    ids=["learned but starts", "backwards", "started twice", "skipped", "other parts", "other parts, first missing"],
)
def test_rounds_that_do_not_follow_are_refused(plans: list[Plan]) -> None:
    with pytest.raises(CampaignError):
        check_one_campaign(plans, CampaignError)


@pytest.mark.parametrize("plans", [[], [SECOND], [AGAIN], [FIRST, first_plan(SIZES, 2.0, "corr-rr")]])
def test_a_refresh_needs_the_first_plan_and_one_campaign(plans: list[Plan]) -> None:
    with pytest.raises(CampaignError):
        refresh(plans)
