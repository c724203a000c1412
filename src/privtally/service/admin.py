"""Who may do what: everything but taking part needs the administrator's token."""

from http import HTTPStatus
from typing import Any

from litestar.connection import ASGIConnection

from privtally.service.collector import Collector
from privtally.service.problems import ProblemError
from privtally.service.tokens import is_admin


async def require_admin(connection: ASGIConnection[Any, Any, Any, Any], _: Any) -> None:
    """Let only requests with the administrator's bearer token pass."""
    await check_admin(connection, connection.app.state.collector)


async def check_admin(connection: ASGIConnection[Any, Any, Any, Any], collector: Collector) -> None:
    """The same for a route that is open in some cases."""
    if not await is_from_admin(connection, collector):
        raise ProblemError(
            HTTPStatus.UNAUTHORIZED,
            "not-admin",
            "This needs the administrator's token, which the service showed when it first started.",
            {"WWW-Authenticate": "Bearer"},
        )


async def is_from_admin(connection: ASGIConnection[Any, Any, Any, Any], collector: Collector) -> bool:
    """Whether a request has the administrator's bearer token."""
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and await is_admin(collector.store, token.strip())
