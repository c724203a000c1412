"""What pages keep in a store, on SQLite and on PostgreSQL."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("jinja2", reason="needs the extra: pip install 'privtally[serve]'")

from privtally.service.operations import new_admin_token
from privtally.service.pages.login import HOURS, end_login, is_open, open_login
from privtally.store import open_store
from privtally.store.session import Session, Store
from tests.store.postgres_server import new_database

Run = Callable[[Callable[[Store], Awaitable[None]]], None]


@pytest.fixture(params=["sqlite", "postgresql"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    """Does something with an empty store."""
    address = f"sqlite:///{tmp_path}/store.db"
    if request.param == "postgresql":
        address = new_database(request.getfixturevalue("postgres"), f"pages_{request.node.name.partition('[')[0]}")

    async def with_store(work: Callable[[Store], Awaitable[None]]) -> None:
        store = await open_store(address)
        await work(store)
        await store.close()

    return lambda work: asyncio.run(with_store(work))


def test_a_login_lasts_until_its_hour_its_end_or_a_new_token(run: Run) -> None:
    async def work(store: Store) -> None:
        async def lets_in(cookie: str, hour: int) -> bool:
            return await store.read(partial(is_open, cookie=cookie, hour=hour))

        await new_admin_token(store)
        assert not await lets_in("one", 100)
        await store.write(partial(open_login, cookie="one", hour=100))
        assert [await lets_in("one", hour) for hour in (100, 99 + HOURS, 100 + HOURS)] == [True, True, False]
        assert not await lets_in("two", 100)
        await store.write(partial(open_login, cookie="two", hour=100 + HOURS))
        assert not await lets_in("one", 100)  # forgotten
        await store.write(partial(end_login, cookie="two"))
        assert not await lets_in("two", 100 + HOURS)
        await store.write(partial(open_login, cookie="three", hour=100))
        await new_admin_token(store)
        assert not await lets_in("three", 100)

    run(work)


def test_the_store_holds_no_cookie(run: Run) -> None:
    async def everything(session: Session) -> str:
        return str(await session.fetch("SELECT name, value FROM settings"))

    async def work(store: Store) -> None:
        token = await new_admin_token(store)
        await store.write(partial(open_login, cookie="a cookie", hour=1))
        kept = await store.read(everything)
        assert "login." in kept
        assert "a cookie" not in kept
        assert token not in kept

    run(work)
