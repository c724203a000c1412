"""Deleted reports are in no file of the database; backups from before still have them."""

import asyncio
from functools import partial
from pathlib import Path

from privtally.service import operations
from privtally.store import open_store
from privtally.store.intake import accept
from privtally.store.session import Session, Store
from tests.service.traces import traces
from tests.store.people import answered, arrivals, new_campaign
from tests.store.postgres_server import data_folder, new_database, run_on

SEED = 7_301
"""Of no other test, whose reports with the same ids would be on the same server."""


async def closed_with_reports(store: Store) -> tuple[str, set[bytes]]:
    """A closed campaign, and the ids of its reports."""
    campaign = await new_campaign(store)
    rows = arrivals(campaign, answered(campaign.plans[0], 40, seed=SEED))
    await store.write(partial(accept, arrivals=rows))
    await operations.close(store, campaign.id)
    return campaign.id, {row.report.id for row in rows}


async def uncounted(session: Session) -> int:
    """How many rows have the codes of reports beside the reports themselves."""
    ((rows,),) = await session.fetch("SELECT count(*) FROM uncounted")
    return int(rows)


async def size_of_uncounted(session: Session) -> int:
    """The bytes of that table on PostgreSQL, those of deleted rows included."""
    ((size,),) = await session.fetch("SELECT pg_relation_size('uncounted')")
    return int(size)


def test_sqlite_keeps_nothing_of_deleted_reports(tmp_path: Path) -> None:
    def found(ids: set[bytes]) -> dict[str, int]:
        return {path.name: len(own) for path, own in traces(tmp_path.iterdir(), ids).items()}

    async def run() -> None:
        store = await open_store(f"sqlite:///{tmp_path}/store.db")
        campaign, ids = await closed_with_reports(store)
        await store.backup(tmp_path / "before.db")
        assert found(ids) == {"store.db": 40, "before.db": 40}
        assert await store.read(uncounted) == 0
        await operations.delete_reports(store, campaign, "Sleep")
        await store.backup(tmp_path / "after.db")
        assert found(ids) == {"before.db": 40}
        await store.close()

    asyncio.run(run())


def test_postgresql_tables_keep_nothing_of_deleted_reports(postgres: str) -> None:
    def found(ids: set[bytes]) -> set[bytes]:
        run_on(postgres, "CHECKPOINT")
        return set().union(*traces((data_folder(postgres) / "base").rglob("*"), ids).values())

    async def run() -> None:
        store = await open_store(new_database(postgres, "deleting"))
        campaign, ids = await closed_with_reports(store)
        assert found(ids) == ids
        assert await store.read(uncounted) == 0
        await operations.delete_reports(store, campaign, "Sleep")
        assert found(ids) == set()
        assert await store.read(size_of_uncounted) == 0
        await store.close()

    asyncio.run(run())
