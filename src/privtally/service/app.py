"""The application: its routes over one store, with nothing about who asked in any log."""

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from types import FrameType
from typing import Any

import msgspec
import uvicorn
from litestar import Litestar, Response, get
from litestar.di import Provide
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from prometheus_client import CONTENT_TYPE_LATEST, disable_created_metrics, generate_latest

from privtally.errors import ServiceError
from privtally.service.api import CAMPAIGNS, require_admin
from privtally.service.collector import Collector, Estimates, TheCollector
from privtally.service.openapi import ADMIN, COMPONENTS, refusals
from privtally.service.operations import ADMIN_SETTING, Advise, first_admin_token, new_admin_token, rewrite_if_due
from privtally.service.pages import add_pages
from privtally.service.pages.rendering import Setup
from privtally.service.problems import name_all_methods, refuse
from privtally.store import open_store
from privtally.store.campaigns import setting
from privtally.store.intake import fold_all
from privtally.store.session import Store
from privtally.version import __version__

# A counter's time of creation would say when the first report of an outcome came.
disable_created_metrics()  # type: ignore[no-untyped-call]  # the library does not type it
_TEXT = CONTENT_TYPE_LATEST.partition("; charset")[0]  # the framework adds it


@get("/livez", summary="Whether the process runs", media_type="text/plain")
async def livez() -> str:
    """Always the same answer: the process is there."""
    return "alive\n"


@get("/readyz", responses=refusals(), summary="Whether the service can take reports", media_type="text/plain")
async def readyz(collector: TheCollector) -> str:
    """Answers while the store does and reports are stored; otherwise 503."""
    collector.intake.check()
    await collector.store.read(partial(setting, name=ADMIN_SETTING))
    return "ready\n"


@get(
    "/metrics",
    guards=[require_admin],
    security=ADMIN,
    media_type=_TEXT,
    responses=refusals(401),
    summary="Numbers for Prometheus",
)
async def metrics(collector: TheCollector) -> Response[bytes]:
    """Reports by what became of them, and how many wait."""
    return Response(generate_latest(collector.registry), media_type=_TEXT)


MOST_BYTES = 1 << 23
"""The largest request that is read."""


def create_app(store: Store, advise: Advise | None = None, estimates: Estimates | None = None) -> Litestar:
    """The service over a store, which the caller closes; without advice nobody can leave the mechanism to it."""
    collector = Collector(store, advise, estimates)

    @asynccontextmanager
    async def taking_reports(app: Litestar) -> AsyncIterator[None]:
        app.state.collector = collector
        await rewrite_if_due(store)
        await fold_all(store)
        task = asyncio.create_task(collector.intake.run())
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    return Litestar(
        [CAMPAIGNS, livez, readyz, metrics],
        dependencies={"collector": Provide(lambda: collector, sync_to_thread=False)},
        before_send=[name_all_methods],
        exception_handlers={Exception: refuse},
        lifespan=[taking_reports],
        logging_config=None,
        openapi_config=OpenAPIConfig(
            title="privtally",
            version=__version__,
            components=COMPONENTS,
            path="/schema",
            render_plugins=[JsonRenderPlugin(path=["/", "/openapi.json"])],
        ),
        request_max_body_size=MOST_BYTES,
        response_headers={"X-Content-Type-Options": "nosniff"},
    )


_BACKLOG = 2_048
SECONDS_TO_FINISH = 20
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
            timeout_graceful_shutdown=SECONDS_TO_FINISH,
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
