"""Logging in: the administrator's token is exchanged for a cookie.

The cookie is random. The store keeps its hash, with the hash of the token that opened the session and the hour when it
ends: whoever reads the store cannot log in, and a new administrator's token ends all sessions.
"""

import hashlib
import secrets
import time
from http import HTTPStatus
from typing import Any

from litestar import Response, get, post
from litestar.connection import ASGIConnection
from litestar.datastructures import Cookie
from litestar.enums import MediaType

from privtally.errors import PrivtallyError
from privtally.service.collector import Collector, TheCollector
from privtally.service.pages.rendering import page, to
from privtally.service.pages.setup import AnyRequest, Setup, TheSetup
from privtally.service.tokens import is_admin
from privtally.store.session import Session
from privtally.store.surveys import change_setting, setting

COOKIE = "privtally_session"
HOURS = 12
ADMIN_SETTING = "admin_token"
_PREFIX = "session."


class LoginNeededError(PrivtallyError):
    """A page is for the administrator."""


class ForeignFormError(PrivtallyError):
    """A form was sent from a page of somebody else."""


async def require_session(connection: ASGIConnection[Any, Any, Any, Any], _: Any) -> None:
    """Let only the administrator pass, and only from the service's own pages."""
    collector: Collector = connection.app.state.collector
    cookie = connection.cookies.get(COOKIE, "")
    if not cookie or not await _is_open(collector, cookie):
        raise LoginNeededError("log in with the administrator's token")


async def require_own_form(request: AnyRequest) -> None:
    """Refuse a form from another origin. Browsers name the origin of every form that they post."""
    setup: Setup = request.app.state.pages
    if request.method == "POST" and not setup.is_own(request, request.headers.get("origin", "")):
        raise ForeignFormError("this form was not sent from a page of this service")


@get("/login")
async def login_page(request: AnyRequest) -> Response[str]:
    """A form for the administrator's token."""
    return page(request, "login.html", wrong=False)


@post("/login")
async def login(request: AnyRequest, collector: TheCollector, setup: TheSetup) -> Response[Any]:
    """Open a session."""
    token = str((await request.form()).get("token", "")).strip()
    if not await is_admin(collector.store, token):
        return page(request, "login.html", HTTPStatus.FORBIDDEN, wrong=True)
    cookie = secrets.token_urlsafe(32)
    await collector.store.write(lambda session: _open(session, cookie))
    own = Cookie(COOKIE, value=cookie, path="/", httponly=True, samesite="strict", secure=setup.over_tls(request))
    return to("/", [own])


@post("/logout", guards=[require_session])
async def logout(request: AnyRequest, collector: TheCollector) -> Response[Any]:
    """End the session."""
    name = _name(request.cookies[COOKIE])

    async def forget(session: Session) -> None:
        await session.fetch("DELETE FROM settings WHERE name = $1", name)

    await collector.store.write(forget)
    response: Response[Any] = to("/login")
    response.delete_cookie(COOKIE, path="/")
    return response


def ask_to_log_in(request: AnyRequest, _: Exception) -> Response[Any]:
    """Lead to the login, also from a part of a page that refreshes itself."""
    if request.headers.get("hx-request"):
        return Response("", media_type=MediaType.HTML, headers={"HX-Redirect": "/login"})
    return to("/login")


async def _is_open(collector: Collector, cookie: str) -> bool:
    async def work(session: Session) -> bool:
        value = await setting(session, _name(cookie)) or ""
        opened_with, _, _ = value.partition(" ")
        return _lasts(value) and opened_with == await setting(session, ADMIN_SETTING)

    return await collector.store.read(work)


async def _open(session: Session, cookie: str) -> None:
    for name, value in await session.fetch("SELECT name, value FROM settings WHERE name LIKE $1", f"{_PREFIX}%"):
        if not _lasts(value):
            await session.fetch("DELETE FROM settings WHERE name = $1", name)
    ends = int(time.time()) // 3600 + HOURS
    await change_setting(session, _name(cookie), f"{await setting(session, ADMIN_SETTING)} {ends}")


def _lasts(value: str) -> bool:
    """Whether a session's hour has not come."""
    ends = value.partition(" ")[2]
    return ends.isdecimal() and time.time() < 3600 * int(ends)


def _name(cookie: str) -> str:
    return _PREFIX + hashlib.sha256(cookie.encode()).hexdigest()
