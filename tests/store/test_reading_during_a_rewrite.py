"""Whoever reads while PostgreSQL's tables are rewritten waits, and then sees every row."""

import asyncio
from functools import partial

import asyncpg
import pytest

from privtally.store import open_store
from privtally.store.campaigns import Checked, check, pages
from privtally.store.intake import accept
from tests.store.people import answered, arrivals, new_campaign
from tests.store.postgres_server import new_database

pytestmark = pytest.mark.anyio
PEOPLE = 40
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


async def test_readers_see_every_report(postgres: str) -> None:
    address = new_database(postgres, "read_while_rewriting")
    store = await open_store(address)
    campaign = await new_campaign(store)
    await store.write(partial(accept, arrivals=arrivals(campaign, answered(campaign.plans[0], PEOPLE))))

    async def exported() -> int:
        return sum([len(page.codes) async for page in pages(store.read, campaign.plan_numbers[0], campaign.plans[0])])

    holding, watching = await asyncpg.connect(address), await asyncpg.connect(address)

    async def until_waiting(sessions: int) -> None:
        while await watching.fetchval(WAITING) < sessions:
            await asyncio.sleep(0)

    held = holding.transaction()
    await held.start()
    await holding.execute("LOCK TABLE reports IN ACCESS SHARE MODE")  # a reader that the rewrite waits for
    rewriting = asyncio.create_task(store.rewrite())
    await until_waiting(1)
    reading = [asyncio.create_task(exported()), asyncio.create_task(check(store))]
    await until_waiting(3)
    await held.rollback()
    assert await asyncio.gather(*reading) == [PEOPLE, Checked(campaigns=1, reports=PEOPLE, faults=[])]
    await rewriting
    for connection in (holding, watching):
        await connection.close()
    await store.close()
