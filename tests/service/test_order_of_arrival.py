"""While a phase runs, a database shows in which order rows were written. When the phase ends, that is gone.

Somebody who can read SQLite's files, or PostgreSQL's system columns, sees which transaction wrote a row (xmin) and
where it lies (ctid).
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from random import Random

import pytest

from privtally.service import operations
from privtally.store import campaigns, open_store
from privtally.store.campaigns import Options
from privtally.store.intake import Arrival, accept
from privtally.store.session import Session, Store
from tests.store.people import answered, arrivals, new_campaign
from tests.store.postgres_server import new_database

PEOPLE = 40
End = Callable[[Store, str], Awaitable[object]]
ENDS: dict[str, End] = {
    "advance": lambda store, campaign: operations.advance(store, campaign, campaign),
    "close": operations.close,
}


async def arrived(store: Store) -> tuple[str, list[Arrival]]:
    """A campaign with tokens, and its reports, which arrived one by one in this order, each with its token."""
    campaign = await new_campaign(store, Options(tokens=True, people=900))
    chance = Random(6)
    tokens = [chance.randbytes(32) for _ in range(PEOPLE)]
    await store.write(partial(campaigns.add_tokens, campaign_id=campaign.id, hashes=tokens))
    rows = arrivals(campaign, answered(campaign.plans[0], PEOPLE), tokens)
    chance.shuffle(rows)
    for row in rows:
        assert await store.write(partial(accept, arrivals=[row])) == ["accepted"]
    return campaign.id, rows


async def uncounted(session: Session) -> list[bytes]:
    """The codes of reports that are not counted yet."""
    return [codes for (codes,) in await session.fetch("SELECT codes FROM uncounted")]


@pytest.fixture(params=ENDS)
def end(request: pytest.FixtureRequest) -> End:
    return ENDS[request.param]


def test_sqlite_files_show_the_order_of_arrival_until_the_phase_ends(tmp_path: Path, end: End) -> None:
    def content() -> bytes:
        return b"".join((tmp_path / name).read_bytes() for name in ("store.db", "store.db-wal"))

    async def run() -> None:
        store = await open_store(f"sqlite:///{tmp_path}/store.db")
        campaign, rows = await arrived(store)
        ids, hashes = [row.report.id for row in rows], [row.token or b"" for row in rows]
        assert sorted(ids, key=content().rfind, reverse=True) == ids  # a page is filled from its end
        assert all(content().count(own) > 1 for own in hashes)  # the log has every version of a page
        await end(store, campaign)
        for keys in (ids, hashes):
            assert sorted(keys, key=content().rfind, reverse=True) == sorted(keys)
            assert [content().count(own) for own in keys] == [1] * PEOPLE
        assert await store.read(uncounted) == []
        await store.close()

    asyncio.run(run())


def test_postgresql_joins_tokens_and_reports_until_the_phase_ends(
    postgres: str, request: pytest.FixtureRequest, end: End
) -> None:
    joined = "SELECT id, hash FROM reports JOIN tokens ON reports.xmin = tokens.xmin"
    in_place = "SELECT {1} FROM {0} ORDER BY ctid"

    async def seen(session: Session) -> tuple[set[tuple[bytes, bytes]], list[bytes], list[bytes]]:
        pairs = {(own, token) for own, token in await session.fetch(joined)}
        ids = [own for (own,) in await session.fetch(in_place.format("reports", "id"))]
        hashes = [own for (own,) in await session.fetch(in_place.format("tokens", "hash"))]
        return pairs, ids, hashes

    async def run() -> None:
        store = await open_store(new_database(postgres, f"order_{request.node.callspec.id}"))
        campaign, rows = await arrived(store)
        ids, hashes = [row.report.id for row in rows], [row.token for row in rows]
        last_first = list(dict.fromkeys(row.report.codes for row in reversed(rows)))
        own_pairs = set(zip(ids, hashes, strict=True))
        assert await store.read(seen) == (own_pairs, ids, hashes)  # who had a token sent that report
        assert await store.read(codes_by_age) == last_first
        size = await store.read(size_of_uncounted)
        await end(store, campaign)
        every_pair = {(own, token) for own in ids for token in hashes}
        pairs, ids_in_place, hashes_in_place = await store.read(seen)
        assert pairs in (set(), every_pair)
        assert (ids_in_place, hashes_in_place) == (sorted(ids), sorted(own for own in hashes if own))
        assert await store.read(uncounted) == []
        assert (size, await store.read(size_of_uncounted)) == (8_192, 0)  # no version of a row is left either
        await store.close()

    asyncio.run(run())


async def codes_by_age(session: Session) -> list[bytes]:
    found = await session.fetch("SELECT codes FROM uncounted ORDER BY xmin::text::bigint DESC")
    return [codes for (codes,) in found]


async def size_of_uncounted(session: Session) -> int:
    ((size,),) = await session.fetch("SELECT pg_relation_size('uncounted')")
    return int(size)
