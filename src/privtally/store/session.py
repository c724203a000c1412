"""What a store offers: transactions in which work is done.

Everything that is kept is written in SQL that SQLite and PostgreSQL share, as coroutines over a `Session`. Only what
must be fast for many rows at once has a method of its own, which each store writes in its own way.
"""

import logging
import traceback
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

T = TypeVar("T")

Key = tuple[int, bytes]
"""A plan's number and a report's id, or a campaign's number and a token's hash."""


class StoredReport(NamedTuple):
    """What is kept of a report: its plan's number, its id and its packed codes."""

    plan: int
    id: bytes
    codes: bytes


class Session(Protocol):
    """One transaction. Parameters stand as $1, $2 … in the SQL."""

    for_share: str
    """What makes a SELECT hold its rows against changes by others, until the transaction ends."""
    for_update: str
    """The same, against others that hold them as well."""

    async def fetch(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """The rows of a statement."""

    async def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of parameters."""

    async def known_reports(self, keys: Sequence[Key]) -> dict[Key, bytes]:
        """The packed codes of those reports that are stored already."""

    async def hold_tokens(self, keys: Sequence[Key]) -> dict[Key, bool]:
        """Whether each issued token was spent, held against changes by others until the transaction ends."""

    async def spend_tokens(self, keys: Sequence[Key]) -> None:
        """Mark tokens that are held as spent."""

    async def insert_reports(self, reports: Sequence[StoredReport]) -> int:
        """Insert reports, note them as uncounted, and say how many of their keys were new; if not all, start anew."""


Work = Callable[[Session], Awaitable[T]]


class Store(Protocol):
    """Transactions on a database that outlives the process."""

    async def read(self, work: Work[T]) -> T:
        """What a piece of work finds in one consistent state."""

    async def write(self, work: Work[T]) -> T:
        """Do a piece of work whole or not at all; its result comes once it is on disk."""

    async def rewrite(self) -> None:
        """Rewrite what arrives one by one in the order of its keys, so that nothing of the order of arrival remains."""

    async def integrity(self) -> str:
        """`ok`, or what is wrong with the database itself."""

    async def backup(self, path: Path) -> None:
        """Copy the database to a file while it is in use."""

    async def close(self) -> None:
        """End all connections."""


_LOG = logging.getLogger("privtally")


def log_defect(fault: BaseException) -> None:
    """Log the kind and the place of an error that nobody expected; its message may quote what somebody sent."""
    places = "".join(traceback.format_tb(fault.__traceback__))
    _LOG.error("defect", extra={"kind": type(fault).__name__, "places": places})
