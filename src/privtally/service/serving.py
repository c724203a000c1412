"""Running the service until it is told to stop, and what it logs: events as JSON, never an address."""

import logging
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

import msgspec
import uvicorn

from privtally.errors import ServiceError
from privtally.service.app import create_app
from privtally.service.pages import Setup, add_pages
from privtally.service.tokens import first_admin_token, new_admin_token
from privtally.store import open_store

_BACKLOG = 2_048
_SECONDS_TO_FINISH = 20
_USUAL = frozenset(vars(logging.makeLogRecord({})))


class Started(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where the service listens, and the administrator's token if it is new."""

    url: str
    admin_token: str | None = None


class JsonLines(logging.Formatter):
    """One JSON object a line: level, event, and the facts that came with it."""

    def format(self, record: logging.LogRecord) -> str:
        facts = {name: value for name, value in vars(record).items() if name not in _USUAL and name != "color_message"}
        line = {"level": record.levelname.lower(), "event": record.getMessage(), **facts}
        return msgspec.json.encode(line, enc_hook=str).decode()


class PoliteServer(uvicorn.Server):
    """A server for which a signal to stop is the usual end, not passed on; interrupted twice, it hurries."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002  # as the signal module calls it
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


async def serve(
    address: str, host: str, port: int, tell: Callable[[Started], Any], setup: Setup, *, new_token: bool = False
) -> None:
    """Serve the store at an address, with pages, until the process is told to stop; requests under way are finished."""
    _log_json_lines()
    _allow_many_connections()
    store = await open_store(address)
    try:
        listening = _listen(host, port)
        token = await new_admin_token(store) if new_token else await first_admin_token(store)
        name = f"[{host}]" if ":" in host else host
        tell(Started(f"http://{name}:{listening.getsockname()[1]}", token))
        app = create_app(store, setup.advise)
        add_pages(app, setup)
        config = uvicorn.Config(
            app,
            access_log=False,
            log_config=None,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=_SECONDS_TO_FINISH,
        )
        await PoliteServer(config).serve(sockets=[listening])
    finally:
        await store.close()


def _allow_many_connections() -> None:
    """Open as many files as the system allows: every connection is one, and 1,024, the usual number, are few."""
    with suppress(ImportError, OSError, ValueError):  # where there is no such limit, or none that can be changed
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens; that it names TCP makes asyncio send replies at once instead of 40 ms later."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(_BACKLOG)
        return listening
    except (OSError, OverflowError) as fault:
        listening.close()
        why = fault.strerror if isinstance(fault, OSError) else "no such port"
        raise ServiceError(f"cannot listen on {host}, port {port} ({why}); choose another --port or --host") from None


def _log_json_lines() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    for name in ("privtally", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name == "privtally" else logging.WARNING)
