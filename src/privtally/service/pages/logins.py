"""Logins as they are stored, among the store's settings.

The store keeps the hash of a cookie, with the hash of the administrator's token that it was given for and the hour when
it ends: whoever reads the store cannot log in, and a new administrator's token ends all logins.
"""

import hashlib
import time

from privtally.service.tokens import ADMIN
from privtally.store.session import Session
from privtally.store.surveys import change_setting, setting

HOURS = 12
_PREFIX = "login."


def this_hour() -> int:
    """The hours since 1970."""
    return int(time.time()) // 3600


async def open_login(session: Session, cookie: str, hour: int) -> None:
    """Let a cookie in from now on; logins that have ended are forgotten."""
    for name, value in await session.fetch("SELECT name, value FROM settings WHERE name LIKE $1", f"{_PREFIX}%"):
        if not _lasts(value, hour):
            await session.fetch("DELETE FROM settings WHERE name = $1", name)
    await change_setting(session, _name(cookie), f"{await setting(session, ADMIN)} {hour + HOURS}")


async def is_open(session: Session, cookie: str, hour: int) -> bool:
    """Whether a cookie may come in."""
    value = await setting(session, _name(cookie)) or ""
    return _lasts(value, hour) and value.partition(" ")[0] == await setting(session, ADMIN)


async def end_login(session: Session, cookie: str) -> None:
    """Let a cookie in no longer."""
    await session.fetch("DELETE FROM settings WHERE name = $1", _name(cookie))


def _lasts(value: str, hour: int) -> bool:
    ends = value.partition(" ")[2]
    return ends.isdecimal() and hour < int(ends)


def _name(cookie: str) -> str:
    return _PREFIX + hashlib.sha256(cookie.encode()).hexdigest()
