"""A full disk and a database that is gone for a while: refusals, no false success, and it works again."""

from functools import partial

import pytest

from privtally.errors import UnavailableError
from privtally.store import open_store
from privtally.store.intake import accept
from privtally.store.session import Session
from tests.store.people import answered, arrivals, new_campaign
from tests.store.postgres_server import new_database, run_on

pytestmark = pytest.mark.anyio


async def test_connections_that_are_cut_are_made_again(postgres: str) -> None:
    store = await open_store(new_database(postgres, "cut"))
    campaign = await new_campaign(store)
    rows = arrivals(campaign, answered(campaign.plans[0], 20))
    await store.write(partial(accept, arrivals=rows[:10]))

    async def cut_within(session: Session) -> None:
        await accept(session, rows[10:])
        run_on(postgres, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        await session.fetch("SELECT 1")

    with pytest.raises(UnavailableError):
        await store.write(cut_within)
    outcomes = await store.write(partial(accept, arrivals=rows))
    assert outcomes == ["repeated"] * 10 + ["accepted"] * 10
    await store.close()
