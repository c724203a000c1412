"""A campaign's order of plans, and which plans belong together."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from privtally.collector.estimate import estimate
from privtally.collector.learn import learn
from privtally.collector.tally import count
from privtally.documents.campaign import Campaign, State, check_one_campaign
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan, design, load_plan
from privtally.errors import CampaignError, EstimateError, PrivtallyError
from privtally.lab.seed import seeded
from privtally.participant.respond import respond_many
from privtally.schema import Records, Schema
from tests.support import Scripted, fill_of, first_plan, later_plan, schema_of

SIZES = (3, 3)
FIRST = first_plan(SIZES, 1.0, "corr-rr", answers=4)


def second_of(first: Plan) -> Plan:
    fill = fill_of("corr-rr", SIZES)
    assert fill is not None
    return later_plan(first, fill)


def counts_of(plan: Plan, seed: int) -> Counts:
    people = np.random.default_rng(seed).integers(0, 3, (400, 2), dtype=np.uint8)
    return count(plan, respond_many(plan, Records(plan.schema, people), seeded(seed)).codes)


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


@pytest.mark.parametrize("mechanism", ["rs-rfd", "corr-rr", "cond-rr"])
def test_campaigns_of_four_plans(mechanism: Any) -> None:
    """Each later plan is learned from the counts of all before it; everything counts in the estimate."""
    first = first_plan(SIZES, 1.0, mechanism, answers=2)
    campaign, history = Campaign.draft(first).open(), [(first, counts_of(first, 0))]
    for phase in (2, 3, 4):
        plan = load_plan(learn(history, people=400).dump())
        assert plan.learned is not None
        assert (plan.phase, plan.campaign_id, plan.answers) == (phase, first.digest, 2)
        assert [source.plan for source in plan.learned.history] == [earlier.digest for earlier, _ in history]
        assert [source.counts for source in plan.learned.history] == [counts.digest for _, counts in history]
        assert plan.learned.reports == 400 * (phase - 1)
        campaign = campaign.close().follow(plan)
        history.append((plan, counts_of(plan, phase)))
    assert [plan.phase for plan in campaign.close().plans] == [1, 2, 3, 4]
    assert check_one_campaign([plan for plan, _ in history[::-1]], CampaignError) == list(campaign.plans)
    result = estimate(history[::-1])
    assert [phase.plan for phase in result.provenance.phases] == [plan.digest for plan in campaign.plans]
    assert result.provenance.campaign == first.digest


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
    "another mechanism": changed(mechanism="cond-rr"),
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
