"""SQLite: one writer, read-only readers, and a commit that is on disk before it is reported."""

import asyncio
import os
import queue
import re
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar, cast

import apsw

from privtally.errors import StoreError, UnavailableError
from privtally.files import new_private_file
from privtally.store.migrations import pending, steps
from privtally.store.session import Key, Session, StoredReport, Work

T = TypeVar("T")

READERS = 2
_BUSY_MILLISECONDS = 5_000
_PRAGMAS = "PRAGMA synchronous={synchronous}; PRAGMA secure_delete=ON; PRAGMA foreign_keys=ON"
_PASSING = (apsw.BusyError, apsw.CantOpenError, apsw.FullError, apsw.IOError, apsw.LockedError, apsw.ReadOnlyError)
"""Faults of the machine and not of the program: the same work may succeed later."""

_ROWS = "WITH RECURSIVE one (row) AS (SELECT 0 UNION ALL SELECT row + 1 FROM one WHERE row + 1 < :rows)"
_ID, _CODES = "substr(:ids, 16 * row + 1, 16)", "substr(:codes, :width * row + 1, :width)"
_KNOWN = f"{_ROWS} SELECT id, codes FROM reports WHERE plan = :plan AND id IN (SELECT {_ID} FROM one)"  # noqa: S608  # own names
_INSERT = f"{_ROWS} INSERT INTO reports SELECT :plan, {_ID}, {_CODES} FROM one WHERE true ON CONFLICT DO NOTHING"  # noqa: S608  # own names
_NOTE = (
    f"{_ROWS} INSERT INTO uncounted SELECT :plan, {_CODES} AS packed, count(*) FROM one GROUP BY packed"  # noqa: S608  # own names
    " ON CONFLICT (plan, codes) DO UPDATE SET times = times + excluded.times"
)
"""Many rows in one statement, cut from blobs: a thread that runs one keeps no other thread of Python waiting."""

_Row = TypeVar("_Row", Key, StoredReport)


class SqliteSession:
    """A transaction on one connection. No method ever waits for the event loop, so that a thread can run them."""

    for_share = for_update = ""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    async def fetch(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        return list(self._connection.execute(_numbered(sql), parameters))

    async def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self._connection.executemany(_numbered(sql), [tuple(row) for row in rows])

    async def known_reports(self, keys: Sequence[Key]) -> dict[Key, bytes]:
        known: dict[Key, bytes] = {}
        for plan, rows in _by_plan(keys).items():
            ids = b"".join(report_id for _, report_id in rows)
            stored = self._connection.execute(_KNOWN, {"plan": plan, "ids": ids, "rows": len(rows)})
            known |= {(plan, report_id): codes for report_id, codes in stored}
        return known

    async def hold_tokens(self, keys: Sequence[Key]) -> dict[Key, bool]:
        sql = "SELECT spent FROM tokens WHERE campaign = ? AND hash = ?"
        return {key: bool(spent) for key in keys for (spent,) in self._connection.execute(sql, key)}

    async def spend_tokens(self, keys: Sequence[Key]) -> None:
        self._connection.executemany("UPDATE tokens SET spent = 1 WHERE campaign = ? AND hash = ?", keys)

    async def insert_reports(self, reports: Sequence[StoredReport]) -> int:
        inserted = 0
        for plan, rows in _by_plan(reports).items():
            codes = b"".join(report.codes for report in rows)
            given = {"plan": plan, "codes": codes, "width": len(codes) // len(rows), "rows": len(rows)}
            self._connection.execute(_INSERT, given | {"ids": b"".join(report.id for report in rows)})
            inserted += self._connection.changes()
            self._connection.execute(_NOTE, given)
        return inserted


class SqliteStore:
    """A database in one file. Only the writer's connection writes and checkpoints."""

    def __init__(self, path: Path, *, synchronous: str = "FULL", vfs: str | None = None) -> None:
        self._path, self._vfs = path, vfs
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="privtally-writer")
        self._reading = ThreadPoolExecutor(READERS, thread_name_prefix="privtally-reader")
        with _refusing(path), ExitStack() as opened:
            if not path.exists() and vfs is None:
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
            self._writer = self._connect(apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
            opened.callback(self._writer.close)
            self._writer.execute(_PRAGMAS.format(synchronous=synchronous))
            if self._writer.pragma("journal_mode", "WAL") != "wal":
                raise StoreError(f"{path} cannot keep a write-ahead log; put it on a disk of this machine")
            migrate(self._writer, path)
            self._readers: queue.SimpleQueue[apsw.Connection] = queue.SimpleQueue()
            for _ in range(READERS):
                reader = self._connect(apsw.SQLITE_OPEN_READONLY)
                opened.callback(reader.close)
                self._readers.put(reader)
            opened.pop_all()  # only a refusal closes them here

    def _connect(self, flags: int) -> apsw.Connection:
        connection = apsw.Connection(str(self._path), flags=flags, vfs=self._vfs)
        connection.set_busy_timeout(_BUSY_MILLISECONDS)
        return connection

    async def read(self, work: Work[T]) -> T:
        return await _in_thread(self._reading, partial(self._read, work))

    def _read(self, work: Work[T]) -> T:
        connection = self._readers.get()
        try:
            return _in_transaction(connection, work, "BEGIN")
        finally:
            self._readers.put(connection)

    async def write(self, work: Work[T]) -> T:
        return await _in_thread(self._writing, partial(_in_transaction, self._writer, work, "BEGIN IMMEDIATE"))

    async def rewrite(self) -> None:
        def rewritten() -> None:
            with _passing():
                self._writer.execute("VACUUM")
                self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

        await _in_thread(self._writing, rewritten)

    async def integrity(self) -> str:
        async def work(session: Session) -> str:
            ((state,), *_) = await session.fetch("PRAGMA integrity_check(1)")
            return str(state)

        return await self.read(work)

    async def backup(self, path: Path) -> None:
        def copied() -> None:
            reader = self._readers.get()
            try:
                with new_private_file(path) as draft:
                    reader.execute("VACUUM INTO ?", (str(draft),))
            except apsw.Error as fault:
                raise StoreError(f"cannot write the backup {path}: {fault}") from None
            finally:
                self._readers.put(reader)

        await _in_thread(self._reading, copied)

    async def close(self) -> None:
        for threads in (self._reading, self._writing):
            await asyncio.to_thread(threads.shutdown)
        for _ in range(READERS):
            self._readers.get().close()
        self._writer.close()


async def _in_thread(threads: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(threads, work)


def migrate(connection: apsw.Connection, path: Path, known: Sequence[str] | None = None) -> None:
    """Take the steps that the database has not taken yet, all of them or none."""
    known = steps("sqlite") if known is None else known
    with _immediate(connection):
        version = cast(int, connection.pragma("user_version"))
        if not version and connection.execute("SELECT count(*) FROM sqlite_schema").get:
            raise StoreError(f"{path} is a database of another program; name another file")
        for step in pending(version, known):
            connection.execute(step)
        connection.pragma("user_version", len(known))


def _in_transaction(connection: apsw.Connection, work: Work[T], begin: str) -> T:
    with _passing(), _immediate(connection, begin):
        return _finished(cast(Coroutine[Any, Any, T], work(SqliteSession(connection))))


def _finished(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration as end:
        return cast(T, end.value)
    work.close()
    raise RuntimeError("work on SQLite must not wait for anything but its session")


@contextmanager
def _immediate(connection: apsw.Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
    """A transaction; after any fault nothing of it remains, a fault of COMMIT included."""
    connection.execute(begin)
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


@contextmanager
def _passing() -> Iterator[None]:
    """Faults of the machine become a refusal for now."""
    try:
        yield
    except _PASSING as fault:
        raise UnavailableError(f"the database cannot be used now: {fault}") from fault


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Whatever keeps a database from being opened becomes a refusal that names it."""
    try:
        yield
    except (apsw.Error, OSError) as fault:
        why = fault.strerror if isinstance(fault, OSError) else fault
        raise StoreError(f"cannot open the database {path}: {why}") from None


def _by_plan(rows: Sequence[_Row]) -> dict[int, list[_Row]]:
    plans: dict[int, list[_Row]] = {}
    for row in rows:
        plans.setdefault(row[0], []).append(row)
    return plans


@cache
def _numbered(sql: str) -> str:
    """SQLite writes ?1 for what PostgreSQL writes $1."""
    return re.sub(r"\$(\d)", r"?\1", sql)
