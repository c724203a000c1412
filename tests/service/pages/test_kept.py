"""What pages keep in a store, on SQLite and on PostgreSQL."""

from functools import partial

import pytest

from privtally.service.operations import new_admin_token
from privtally.service.pages.login import HOURS, end_login, is_open, open_login
from privtally.store.session import Session, Store

pytestmark = pytest.mark.anyio


async def test_a_login_lasts_until_its_hour_its_end_or_a_new_token(store: Store) -> None:
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


async def test_the_store_holds_no_cookie(store: Store) -> None:
    async def everything(session: Session) -> str:
        return str(await session.fetch("SELECT name, value FROM settings"))

    token = await new_admin_token(store)
    await store.write(partial(open_login, cookie="a cookie", hour=1))
    kept = await store.read(everything)
    assert "login." in kept
    assert "a cookie" not in kept
    assert token not in kept
