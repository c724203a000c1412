"""What both stores promise."""

from functools import partial
from typing import Any, cast

import pytest

from privtally.collector.learn import learn
from privtally.collector.tally import tally
from privtally.documents.campaign import State
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan, design
from privtally.errors import CampaignError, UnknownCampaignError
from privtally.lab.population import seeded
from privtally.store import campaigns, open_store
from privtally.store.campaigns import Options, StoredCampaign, counts_of, fold, reports_of
from privtally.store.intake import Arrival, Outcome, accept
from privtally.store.session import Session, Store
from tests.store.people import answered, arrivals, new_campaign
from tests.support import first_plan, schema_of

pytestmark = pytest.mark.anyio


async def accepted(store: Store, rows: list[Arrival]) -> list[Outcome]:
    return await store.write(partial(accept, arrivals=rows))


async def counts_in(store: Store, campaign: StoredCampaign) -> Counts:
    """The counts of the first phase."""
    return await store.read(partial(counts_of, number=campaign.plan_numbers[0], plan=campaign.plans[0]))


async def found(store: Store, campaign: StoredCampaign) -> StoredCampaign:
    return await store.read(partial(campaigns.find, campaign_id=campaign.id))


async def test_a_campaign_comes_back_as_it_was_stored(store: Store, address: str) -> None:
    campaign = await new_campaign(store, Options(people=50, published=True))
    assert await found(store, campaign) == campaign
    assert campaign.state is State.OPEN
    other = await open_store(address)
    assert await other.read(campaigns.every) == [campaign]
    await other.close()


async def test_a_campaign_is_found_by_the_beginning_of_its_id(store: Store) -> None:
    first, second = await new_campaign(store), await new_campaign(store, plan=first_plan((2, 2), 1.0, "smp"))
    for campaign in (first, second):
        for start in (campaign.id[:12], campaign.id):
            assert await store.read(partial(campaigns.find_by_prefix, start=start)) == campaign
    for start in ("", "%", "_", f"{first.id}0"):
        with pytest.raises(UnknownCampaignError):
            await store.read(partial(campaigns.find_by_prefix, start=start))


async def test_reports_count_once_and_counts_are_those_of_a_tally(store: Store) -> None:
    campaign = await new_campaign(store)
    reports = answered(campaign.plans[0], 300)
    rows = arrivals(campaign, reports)
    assert set(await accepted(store, rows[:200])) == {"accepted"}
    assert await accepted(store, rows[100:]) == ["repeated"] * 100 + ["accepted"] * 100
    assert await counts_in(store, campaign) == tally(campaign.plans[0], reports)


async def test_folding_changes_no_count(store: Store) -> None:
    campaign = await new_campaign(store)
    reports = answered(campaign.plans[0], 300)
    rows = arrivals(campaign, reports)
    for part in (rows[:100], rows[100:250], []):
        await accepted(store, part)
        await store.write(partial(fold, number=campaign.plan_numbers[0], plan=campaign.plans[0]))
    await accepted(store, rows[250:])
    assert await counts_in(store, campaign) == tally(campaign.plans[0], reports)
    assert await store.read(partial(reports_of, number=campaign.plan_numbers[0])) == 300


async def test_repetitions_in_one_group_need_no_more_statements(store: Store) -> None:
    campaign = await new_campaign(store, Options(tokens=True))
    tokens = [bytes([own]) * 32 for own in range(2)]
    await store.write(partial(campaigns.add_tokens, campaign_id=campaign.id, hashes=tokens))
    one, two = arrivals(campaign, answered(campaign.plans[0], 2), tokens)
    forged = one._replace(report=one.report._replace(codes=b"\x00" * len(one.report.codes)))
    assert forged != one
    same_token, unpaid = two._replace(token=tokens[0]), two._replace(token=None)
    group = [one, *[one] * 50, *[forged] * 50, *[same_token] * 50, *[unpaid] * 50, two]
    expected = ["repeated", "id_conflict", "token_spent", "token_missing"]
    calls: list[str] = []

    class Counted:
        def __init__(self, session: Session) -> None:
            self._session = session

        def __getattr__(self, name: str) -> Any:
            calls.append(name)
            return getattr(self._session, name)

    async def work(session: Session) -> list[Outcome]:
        return await accept(cast(Session, Counted(session)), group)

    outcomes = await store.write(work)
    assert outcomes == ["accepted", *(own for own in expected for _ in range(50)), "accepted"]
    assert len(calls) == len(set(calls)), calls
    assert (await counts_in(store, campaign)).reports == 2


async def test_a_closed_campaign_repeats_and_takes_nothing_new(store: Store) -> None:
    campaign = await new_campaign(store)
    one, two = arrivals(campaign, answered(campaign.plans[0], 2))
    await accepted(store, [one])
    closed = await store.write(partial(campaigns.close, campaign_id=campaign.id))
    assert closed.state is State.CLOSED
    assert await store.write(partial(campaigns.close, campaign_id=campaign.id)) == closed
    assert await accepted(store, [one, two]) == ["repeated", "phase_closed"]


async def test_a_token_is_spent_once_and_asked_after_the_id(store: Store) -> None:
    campaign = await new_campaign(store, Options(tokens=True))
    tokens = [bytes([own]) * 32 for own in range(3)]
    await store.write(partial(campaigns.add_tokens, campaign_id=campaign.id, hashes=tokens[:2]))
    reports = answered(campaign.plans[0], 3)
    paid = arrivals(campaign, reports, tokens)
    unpaid = arrivals(campaign, reports)
    assert await accepted(store, [unpaid[0], paid[0], paid[2]]) == ["token_missing", "accepted", "token_missing"]
    stolen = paid[1]._replace(token=tokens[0])
    assert await accepted(store, [unpaid[0], stolen]) == ["repeated", "token_spent"]
    twice = paid[2]._replace(token=tokens[1])
    assert await accepted(store, [paid[1], twice]) == ["accepted", "token_spent"]
    assert (await counts_in(store, campaign)).reports == 2


async def test_a_refusal_does_not_concern_reports_that_are_stored(store: Store) -> None:
    campaign = await new_campaign(store)
    one, two = arrivals(campaign, answered(campaign.plans[0], 2))
    await accepted(store, [one])
    refused = [row._replace(refusal_if_new="wrong_plan") for row in (one, two)]
    assert await accepted(store, refused) == ["repeated", "wrong_plan"]


async def test_the_first_plan_that_is_published_wins(store: Store) -> None:
    campaign = await new_campaign(store)
    reports = answered(campaign.plans[0], 200)
    await accepted(store, arrivals(campaign, reports))
    history = [(campaign.plans[0], await counts_in(store, campaign))]
    one, two = learn(history, people=500), learn(history, people=900)
    for plan in (one, two):
        after: Plan = await store.write(partial(campaigns.publish, campaign_id=campaign.id, plan=plan, history=history))
        assert after.digest == one.digest
    later = await found(store, campaign)
    assert [plan.digest for plan in later.plans] == [campaign.id, one.digest]
    assert later.open_plan == one
    late = arrivals(later, answered(campaign.plans[0], 5, seed=9))
    assert await accepted(store, late) == ["accepted"] * 5


async def test_only_a_closed_campaign_is_deleted(store: Store) -> None:
    campaign = await new_campaign(store)
    other = await new_campaign(store, plan=first_plan((2, 2), 1.0, "smp"))
    for own in (campaign, other):
        await accepted(store, arrivals(own, answered(own.plans[0], 5)))
    with pytest.raises(CampaignError):
        await store.write(partial(campaigns.delete, campaign_id=campaign.id))
    await store.write(partial(campaigns.close, campaign_id=campaign.id))
    await store.write(partial(campaigns.delete, campaign_id=campaign.id))
    with pytest.raises(UnknownCampaignError):
        await found(store, campaign)
    assert await store.read(campaigns.every) == [other]
    late = arrivals(campaign, answered(campaign.plans[0], 2))
    assert await accepted(store, late) == ["phase_closed"] * 2
    assert (await counts_in(store, other)).reports == 5


async def test_work_that_fails_leaves_nothing(store: Store) -> None:
    campaign = await new_campaign(store)
    rows = arrivals(campaign, answered(campaign.plans[0], 5))

    async def fails(session: Session) -> None:
        await accept(session, rows)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await store.write(fails)
    assert (await counts_in(store, campaign)).reports == 0


async def test_rewriting_keeps_everything(store: Store) -> None:
    campaign = await new_campaign(store, Options(tokens=True))
    tokens = [bytes([own]) * 32 for own in range(20)]
    await store.write(partial(campaigns.add_tokens, campaign_id=campaign.id, hashes=tokens))
    rows = arrivals(campaign, answered(campaign.plans[0], 20), tokens)
    for row in rows:
        await accepted(store, [row])
    await store.rewrite()
    assert await accepted(store, rows) == ["repeated"] * 20
    assert (await counts_in(store, campaign)).reports == 20


async def test_settings_change(store: Store) -> None:
    assert await store.read(partial(campaigns.setting, name="admin")) is None
    for value in ("one", "two"):
        await store.write(partial(campaigns.change_setting, name="admin", value=value))
        assert await store.read(partial(campaigns.setting, name="admin")) == value


async def test_large_alphabets_survive_packing(store: Store) -> None:
    plan = first_plan((2, 700), 1.0, "smp")
    campaign = await new_campaign(store, plan=plan)
    reports = answered(plan, 50)
    await accepted(store, arrivals(campaign, reports))
    assert await counts_in(store, campaign) == tally(plan, reports)
    assert plan.schema == schema_of((2, 700))


async def test_the_plans_of_many_campaigns_are_read_once(store: Store) -> None:
    source = seeded(1)
    for _ in range(300):
        plan = design(schema_of((3, 3)), 1.0, "spl", source=source)
        await store.write(partial(campaigns.create, title="One of many", plan=plan, options=Options()))
    first, again = await store.read(campaigns.every), await store.read(campaigns.every)
    assert len(first) == 300
    assert all(one.plans[0] is two.plans[0] for one, two in zip(first, again, strict=True))
