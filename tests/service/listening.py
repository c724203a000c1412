"""The application over an empty SQLite store, and an HTTP server for one in a thread of this process."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn
from litestar import Litestar

from privtally.lab.advise import recommend
from privtally.service.app import create_app
from privtally.service.operations import new_admin_token
from privtally.service.pages import add_pages
from privtally.service.pages.rendering import Setup
from privtally.store import open_store
from privtally.store.session import Store


class Made(NamedTuple):
    """An application with its store and its administrator's token."""

    app: Litestar
    store: Store
    token: str


@contextmanager
def application(folder: Path, *, pages: bool = True) -> Iterator[Made]:
    """An application over an empty store in a folder, with pages and somebody who gives advice, or with neither."""
    store = asyncio.run(open_store(f"sqlite:///{folder}/store.db"))
    app = create_app(store, recommend if pages else None)
    if pages:
        add_pages(app, Setup(recommend))
    try:
        yield Made(app, store, asyncio.run(new_admin_token(store)))
    finally:
        asyncio.run(store.close())


@contextmanager
def listening(app: Any) -> Iterator[str]:
    """The address where an application is served."""
    place = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # replies go out at once
    place.bind(("127.0.0.1", 0))
    place.listen()
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [place]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{place.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
