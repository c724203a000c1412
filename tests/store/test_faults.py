"""A full disk and a database that is gone for a while: refusals, no false success, and it works again."""

from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("apsw", reason="needs the extra: pip install 'privtally[serve]'")
pytest.importorskip("asyncpg", reason="needs the extra: pip install 'privtally[serve]'")

from privtally.errors import UnavailableError
from privtally.store import open_store
from privtally.store.accept import accept
from privtally.store.session import Session
from privtally.store.sqlite import SqliteStore
from privtally.store.tallies import reports_of
from tests.store.people import answered, arrivals, new_survey
from tests.store.postgres_server import new_database, run_on

pytestmark = pytest.mark.anyio


async def test_a_full_disk_refuses_and_works_again(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    survey = await new_survey(store)
    rows = arrivals(survey, answered(survey.plans[0], 4_000))
    store._writer.pragma("max_page_count", store._writer.pragma("page_count") + 10)
    acknowledged = 0
    with suppress(UnavailableError):
        for start in range(0, len(rows), 200):
            await store.write(partial(accept, arrivals=rows[start : start + 200]))
            acknowledged += 200
    assert 0 < acknowledged < len(rows)
    total = partial(reports_of, number=survey.plan_numbers[0])
    assert await store.read(total) == acknowledged
    store._writer.pragma("max_page_count", 1_000_000)
    outcomes = await store.write(partial(accept, arrivals=rows))
    assert outcomes.count("repeated") == acknowledged
    assert await store.read(total) == len(rows)
    await store.close()


async def test_connections_that_are_cut_are_made_again(postgres: str) -> None:
    store = await open_store(new_database(postgres, "cut"))
    survey = await new_survey(store)
    rows = arrivals(survey, answered(survey.plans[0], 20))
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
