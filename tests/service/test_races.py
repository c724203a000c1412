"""Several processes on one store: a phase follows once, and a closed campaign stays closed."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import pytest

from privtally.errors import CampaignError
from privtally.service import operations
from privtally.store import campaigns, open_store
from privtally.store.campaigns import Options
from privtally.store.intake import Intake, Outcome, accept
from privtally.store.session import Session, Store
from tests.store.people import answered, arrivals, new_campaign
from tests.store.postgres_server import new_database

pytestmark = pytest.mark.anyio
PROCESSES = 4


@pytest.fixture
async def stores(address: str) -> AsyncIterator[list[Store]]:
    opened = [await open_store(address) for _ in range(PROCESSES)]
    yield opened
    for store in opened:
        await store.close()


async def test_whoever_advances_first_decides_for_all(stores: list[Store]) -> None:
    campaign = await new_campaign(stores[0])
    rows = arrivals(campaign, answered(campaign.plans[0], 400))
    await stores[0].write(partial(accept, arrivals=rows[:300]))

    async def more(store: Store) -> None:
        for row in rows[300:]:  # so that those who advance may see different counts
            await store.write(partial(accept, arrivals=[row]))

    advancing = [operations.advance(store, campaign.id, campaign.id) for store in stores]
    *plans, _ = await asyncio.gather(*advancing, more(stores[1]))
    assert len({plan.digest for plan in plans if plan is not None}) == 1
    later = await operations.find(stores[0], campaign.id)
    assert len(later.plans) == 2
    assert await operations.totals(stores[0], later) == [400, 0]


async def test_whoever_refreshes_first_decides_for_all(stores: list[Store]) -> None:
    campaign = await new_campaign(stores[0])
    await stores[0].write(partial(accept, arrivals=arrivals(campaign, answered(campaign.plans[0], 50))))
    await stores[0].write(partial(campaigns.close, campaign_id=campaign.id))
    plans = await asyncio.gather(*(operations.refresh(store, campaign.id, campaign.id) for store in stores))
    assert {(plan.digest, plan.round) for plan in plans} == {(plans[0].digest, 2)}
    later = await operations.find(stores[0], campaign.id)
    assert (len(later.plans), later.open_plan) == (2, plans[0])


async def test_nothing_is_stored_after_a_campaign_closed(stores: list[Store]) -> None:
    campaign = await new_campaign(stores[0])
    rows = arrivals(campaign, answered(campaign.plans[0], 200))
    outcomes: list[str] = []

    async def send(store: Store, own: int) -> None:
        for row in rows[1 + own :: PROCESSES]:
            outcomes.extend(await store.write(partial(accept, arrivals=[row])))

    async def close(store: Store) -> int:
        await store.write(partial(accept, arrivals=rows[:1]))
        closed = await operations.close(store, campaign.id)
        return (await operations.totals(store, closed))[0]

    *_, total = await asyncio.gather(*(send(store, own) for own, store in enumerate(stores)), close(stores[-1]))
    assert set(outcomes) <= {"accepted", "repeated", "phase_closed"}
    assert await operations.totals(stores[0], campaign) == [total]
    with pytest.raises(CampaignError):
        await operations.advance(stores[0], campaign.id, campaign.id)


async def test_the_same_reports_through_several_processes_count_once(stores: list[Store]) -> None:
    campaign = await new_campaign(stores[0])
    rows = arrivals(campaign, answered(campaign.plans[0], 300))
    intakes = [Intake(store) for store in stores]
    tasks = [asyncio.create_task(intake.run()) for intake in intakes]
    sending = [intake.accept(rows[start : start + 30]) for start in range(0, 300, 30) for intake in intakes]
    outcomes = [outcome for own in await asyncio.gather(*sending) for outcome in own]
    assert outcomes.count("accepted") == 300
    assert outcomes.count("repeated") == 300 * (PROCESSES - 1)
    assert await operations.totals(stores[0], campaign) == [300]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_report_whose_token_another_process_spends_on_it_is_repeated(postgres: str) -> None:
    address = new_database(postgres, "one_token")
    stores = [await open_store(address) for _ in range(2)]
    campaign = await new_campaign(stores[0], Options(tokens=True))
    token = b"t" * 32
    await stores[0].write(partial(campaigns.add_tokens, campaign_id=campaign.id, hashes=[token]))
    rows = arrivals(campaign, answered(campaign.plans[0], 1), [token])
    others: list[asyncio.Task[list[Outcome]]] = []

    async def first(session: Session) -> list[Outcome]:
        outcomes = await accept(session, rows)
        others.append(asyncio.create_task(stores[1].write(partial(accept, arrivals=rows))))
        while not await session.fetch("SELECT 1 FROM pg_locks WHERE NOT granted"):
            await asyncio.sleep(0)
        return outcomes

    assert await stores[0].write(first) == ["accepted"]
    assert await others[0] == ["repeated"]
    for store in stores:
        await store.close()
