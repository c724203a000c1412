import numpy as np
import pytest

from privtally.collector.learn.rules import learn
from privtally.documents.campaign import Campaign, State
from privtally.documents.counts import count
from privtally.documents.plan import Plan
from privtally.errors import CampaignError
from tests.support import schema_of

SCHEMA = schema_of((3, 3))


def learned(campaign: Campaign) -> Plan:
    first = campaign.plans[0]
    return learn(first, count(first, np.random.default_rng(0).integers(0, 3, (50, 2), dtype=np.uint8)))


def test_two_phases_from_draft_to_closed() -> None:
    draft = Campaign.draft(SCHEMA, 1.0, "corr-rr")
    assert (draft.state, draft.open_plan) == (State.DRAFT, None)
    opened = draft.open_phase_1()
    assert (opened.state, opened.open_plan) == (State.PHASE_1_OPEN, draft.plans[0])
    closed = opened.close_phase_1()
    assert (closed.state, closed.open_plan) == (State.PHASE_1_CLOSED, None)
    plan = learned(closed)
    again = closed.open_phase_2(plan)
    assert (again.state, again.open_plan) == (State.PHASE_2_OPEN, plan)
    assert again.close().state is State.CLOSED
    assert again.close().open_plan is None
    assert draft.state is State.DRAFT


def test_one_phase_closes_at_once() -> None:
    campaign = Campaign.draft(SCHEMA, 1.0, "smp").open_phase_1().close_phase_1()
    assert campaign.state is State.CLOSED
    with pytest.raises(CampaignError):
        campaign.close()


@pytest.mark.parametrize("step", ["close_phase_1", "close"])
def test_steps_out_of_order_are_refused(step: str) -> None:
    with pytest.raises(CampaignError, match="the campaign is in state 'draft'"):
        getattr(Campaign.draft(SCHEMA, 1.0, "corr-rr"), step)()


def test_a_phase_cannot_be_opened_twice() -> None:
    with pytest.raises(CampaignError, match="this step starts from 'draft'"):
        Campaign.draft(SCHEMA, 1.0, "spl").open_phase_1().open_phase_1()


def test_the_second_plan_must_follow_the_first() -> None:
    campaign = Campaign.draft(SCHEMA, 1.0, "corr-rr").open_phase_1().close_phase_1()
    other = Campaign.draft(SCHEMA, 2.0, "corr-rr")
    with pytest.raises(CampaignError, match="must be phase 2 of the first"):
        campaign.open_phase_2(learned(other))
    with pytest.raises(CampaignError, match="must be phase 2 of the first"):
        campaign.open_phase_2(campaign.plans[0])
    with pytest.raises(CampaignError, match="starts from 'phase 1 closed'"):
        Campaign.draft(SCHEMA, 1.0, "corr-rr").open_phase_2(learned(campaign))
