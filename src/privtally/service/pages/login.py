"""Logging in: the administrator's token is exchanged for a cookie, and forms come from the service's own pages."""

import hashlib
import re
import secrets
import time
from functools import partial
from http import HTTPStatus
from typing import Any

from litestar import Response, get, post
from litestar.connection import ASGIConnection
from litestar.datastructures import Cookie
from litestar.enums import MediaType

from privtally.errors import PrivtallyError
from privtally.service.collector import Collector, TheCollector
from privtally.service.operations import ADMIN_SETTING, is_admin
from privtally.service.pages.rendering import PageRefusalError, Setup, TheSetup, page, to
from privtally.service.problems import AnyRequest, read_form
from privtally.store.campaigns import change_setting, setting
from privtally.store.session import Session

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
    await change_setting(session, _name(cookie), f"{await setting(session, ADMIN_SETTING)} {hour + HOURS}")


async def is_open(session: Session, cookie: str, hour: int) -> bool:
    """Whether a cookie may come in."""
    value = await setting(session, _name(cookie)) or ""
    return _lasts(value, hour) and value.partition(" ")[0] == await setting(session, ADMIN_SETTING)


async def end_login(session: Session, cookie: str) -> None:
    """Let a cookie in no longer."""
    await session.fetch("DELETE FROM settings WHERE name = $1", _name(cookie))


def _lasts(value: str, hour: int) -> bool:
    ends = value.partition(" ")[2]
    return ends.isdecimal() and hour < int(ends)


def _name(cookie: str) -> str:
    return _PREFIX + hashlib.sha256(cookie.encode()).hexdigest()


COOKIE = "privtally_session"
_PAGES = re.compile(r"/(new|c/[0-9A-Za-z]+(/[a-z]+)*)")
"""The pages that a login may lead back to: nothing else, and nothing elsewhere."""


class LoginNeededError(PrivtallyError):
    """A page is for the administrator."""


class ForeignFormError(PageRefusalError):
    """A form was sent from a page of somebody else."""


async def require_session(connection: ASGIConnection[Any, Any, Any, Any], _: Any) -> None:
    """Let only the administrator pass."""
    collector: Collector = connection.app.state.collector
    cookie = connection.cookies.get(COOKIE, "")
    if not cookie or not await collector.store.read(partial(is_open, cookie=cookie, hour=this_hour())):
        raise LoginNeededError("log in with the administrator's token")


async def require_own_form(request: AnyRequest) -> None:
    """Refuse a form from another origin. Browsers name the origin of every form that they post."""
    setup: Setup = request.app.state.pages
    if request.method == "POST" and not setup.is_own(request, request.headers.get("origin", "")):
        raise ForeignFormError("refused.foreign")


@get("/login")
async def login_page(request: AnyRequest) -> Response[str]:
    """A form for the administrator's token."""
    return page(request, "login.html", wrong=False, back=_own_page(request.query_params.get("back", "")))


@post("/login")
async def login(request: AnyRequest, collector: TheCollector, setup: TheSetup) -> Response[Any]:
    """Open a session."""
    form = await read_form(request)
    token, back = form.get("token", "").strip(), _own_page(form.get("back", ""))
    if not await is_admin(collector.store, token):
        return page(request, "login.html", HTTPStatus.FORBIDDEN, wrong=True, back=back)
    cookie = secrets.token_urlsafe(32)
    await collector.store.write(partial(open_login, cookie=cookie, hour=this_hour()))
    session = Cookie(COOKIE, value=cookie, path="/", httponly=True, samesite="strict", secure=setup.over_tls(request))
    return to(back or "/", [session])


@post("/logout", guards=[require_session])
async def logout(request: AnyRequest, collector: TheCollector) -> Response[Any]:
    """End the session."""
    await collector.store.write(partial(end_login, cookie=request.cookies[COOKIE]))
    response: Response[Any] = to("/login")
    response.delete_cookie(COOKIE, path="/")
    return response


def ask_to_log_in(request: AnyRequest, _: Exception) -> Response[Any]:
    """Lead to the login, also from a part of a page that refreshes itself."""
    if request.headers.get("hx-request"):
        return Response("", media_type=MediaType.HTML, headers={"HX-Redirect": "/login"})
    back = _own_page(request.url.path) if request.method == "GET" else ""
    return to(f"/login?back={back}" if back else "/login")


def _own_page(path: str) -> str:
    """A path if it is one of the pages, else nothing."""
    return path if _PAGES.fullmatch(path) else ""
