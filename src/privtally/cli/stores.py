"""Work on a store from the command line."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, TypeVar

from typer import Option

from privtally.errors import ServiceError

if TYPE_CHECKING:
    from privtally.store.session import Store
    from privtally.store.surveys import Survey

T = TypeVar("T")

StoreOption = Annotated[
    str,
    Option(
        envvar="PRIVTALLY_STORE",
        metavar="ADDRESS",
        help="Where everything is kept: sqlite:///FILE or postgresql://USER@HOST/DATABASE.",
    ),
]
USUAL_STORE = "sqlite:///privtally.db"


@contextmanager
def needing_the_extra() -> Iterator[None]:
    """Say what to install where a part of the service is missing."""
    try:
        yield
    except ModuleNotFoundError as missing:
        raise ServiceError(
            f"the collector needs {missing.name}; install it with: pip install 'privtally[serve]'"
        ) from None


def on_store(address: str, work: Callable[["Store"], Awaitable[T]], *, create: bool = False) -> T:
    """Do a piece of work on the store at an address, beside a service that may be running on it."""
    with needing_the_extra():
        from privtally.store import open_store

        async def run() -> T:
            store = await open_store(address, create=create)
            try:
                return await work(store)
            finally:
                await store.close()

        return asyncio.run(run())


def on_campaign(address: str, start: str, step: Callable[["Store", "Survey"], Awaitable[T]]) -> T:
    """The same for the campaign whose id begins so."""

    async def work(store: "Store") -> T:
        from privtally.store.surveys import find_by_prefix

        return await step(store, await store.read(lambda session: find_by_prefix(session, start)))

    return on_store(address, work)
