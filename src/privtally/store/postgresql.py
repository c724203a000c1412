"""PostgreSQL: whole groups of reports in single statements, and any number of processes on one database."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import asyncpg

from privtally.errors import StoreError, UnavailableError
from privtally.store.migrations import pending, steps
from privtally.store.session import Key, StoredReport, Work

T = TypeVar("T")

CONNECTIONS = 8
_SECONDS, _SECONDS_TO_REWRITE = 30, 3_600
_LOCK = 0x70726976  # any number that other programs on the database are unlikely to lock
_REWRITTEN = {"reports": "plan, id", "tokens": "campaign, hash", "uncounted": "plan, codes"}
"""The tables whose rows arrive one by one, with their keys."""
_AMONG = "(campaign, hash) IN (SELECT * FROM unnest($1::bigint[], $2::bytea[]))"
_PASSING = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.OperatorInterventionError,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
)
"""Faults of the machine and not of the program: the same work may succeed later."""

_REFUSALS: Mapping[type[BaseException], str] = {
    asyncpg.InsufficientPrivilegeError: (
        "the database's user may not create tables there; give it a schema of its own"
    ),
    asyncpg.DuplicateTableError: (
        "the database has tables of another program; give privtally a database or a schema of its own"
    ),
    asyncpg.ReadOnlySQLTransactionError: "the database can only be read; name one that can be written",
}
"""Why a database cannot be brought up to date."""


class PostgresqlSession:
    """A transaction on one connection."""

    for_share, for_update = " FOR SHARE", " FOR UPDATE"

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def fetch(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await self._connection.fetch(sql, *parameters)]

    async def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        await self._connection.executemany(sql, rows)

    async def known_reports(self, keys: Sequence[Key]) -> dict[Key, bytes]:
        rows = await self.fetch(
            "SELECT plan, id, codes FROM reports JOIN unnest($1::bigint[], $2::bytea[]) AS wanted (plan, id)"
            " USING (plan, id)",
            *_columns(keys, 2),
        )
        return {(plan, report_id): codes for plan, report_id, codes in rows}

    async def hold_tokens(self, keys: Sequence[Key]) -> dict[Key, bool]:
        rows = await self.fetch(
            f"SELECT campaign, hash, spent FROM tokens WHERE {_AMONG} ORDER BY campaign, hash FOR UPDATE",  # noqa: S608  # own names
            *_columns(keys, 2),
        )
        return {(campaign, token): bool(spent) for campaign, token, spent in rows}

    async def spend_tokens(self, keys: Sequence[Key]) -> None:
        await self.fetch(f"UPDATE tokens SET spent = 1 WHERE {_AMONG}", *_columns(keys, 2))  # noqa: S608  # own names

    async def insert_reports(self, reports: Sequence[StoredReport]) -> int:
        plans, ids, codes = _columns(reports, 3)
        tag = await self._connection.execute(
            "INSERT INTO reports SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bytea[]) ON CONFLICT DO NOTHING",
            plans,
            ids,
            codes,
        )
        await self._connection.execute(
            "INSERT INTO uncounted SELECT plan, codes, count(*)"
            " FROM unnest($1::bigint[], $2::bytea[]) AS new (plan, codes) GROUP BY plan, codes ORDER BY plan, codes"
            " ON CONFLICT (plan, codes) DO UPDATE SET times = uncounted.times + excluded.times",
            plans,
            codes,
        )
        return int(tag.rsplit(" ", 1)[1])


class PostgresqlStore:
    """A database that several processes may share."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    async def read(self, work: Work[T]) -> T:
        async with self._transaction(isolation="repeatable_read", readonly=True) as connection:
            # A state from before a TRUNCATE has no rows after it; LOCK waits for a rewrite before the state is fixed.
            await connection.execute(f"LOCK TABLE {', '.join(_REWRITTEN)} IN ACCESS SHARE MODE")
            return await work(PostgresqlSession(connection))

    async def write(self, work: Work[T]) -> T:
        async with self._transaction() as connection:
            return await work(PostgresqlSession(connection))

    async def rewrite(self) -> None:
        for table, key in _REWRITTEN.items():
            async with self._transaction() as connection:  # holds one lock at a time, so that nobody waits in a circle
                await connection.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
                # Copying gives all rows one transaction's number, which CLUSTER and VACUUM FULL would not.
                for statement in (
                    f"CREATE TEMP TABLE copy_of_{table} ON COMMIT DROP AS TABLE {table}",
                    f"TRUNCATE {table}",
                    f"INSERT INTO {table} SELECT * FROM copy_of_{table} ORDER BY {key}",  # noqa: S608  # own names
                ):
                    await connection.execute(statement, timeout=_SECONDS_TO_REWRITE)

    async def integrity(self) -> str:
        return "ok"  # PostgreSQL looks after its own pages

    async def backup(self, path: Path) -> None:
        raise StoreError(f"{path} was not written: pg_dump makes backups of PostgreSQL while it is in use")

    async def close(self) -> None:
        await self._pool.close()

    @asynccontextmanager
    async def _transaction(self, **options: Any) -> AsyncIterator[Any]:
        try:
            async with self._pool.acquire(timeout=_SECONDS) as connection, connection.transaction(**options):
                yield connection
        except _PASSING as fault:
            raise UnavailableError(f"the database cannot be used now: {type(fault).__name__}") from fault


async def open_postgresql(url: str) -> PostgresqlStore:
    """The store at an address, with its schema brought up to date."""
    try:
        pool = await asyncpg.create_pool(url, min_size=1, max_size=CONNECTIONS, command_timeout=_SECONDS)
    except (OSError, TimeoutError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as fault:
        raise StoreError(f"cannot reach the database: {type(fault).__name__}; is the address right?") from None
    try:
        async with pool.acquire() as connection:
            await migrate(connection)
    except BaseException as fault:
        await pool.close()
        if isinstance(fault, (*_PASSING, asyncpg.PostgresError)):
            unknown = f"cannot bring the database up to date ({type(fault).__name__}); its own log says why"
            raise StoreError(_REFUSALS.get(type(fault), unknown)) from None
        raise
    return PostgresqlStore(pool)


async def migrate(connection: Any, known: Sequence[str] | None = None) -> None:
    """Take the steps that the database has not taken yet, all of them or none, one process after the other."""
    known = steps("postgresql") if known is None else known
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        await connection.execute("CREATE TABLE IF NOT EXISTS privtally_version (version BIGINT NOT NULL)")
        version = await connection.fetchval("SELECT coalesce(max(version), 0) FROM privtally_version")
        for step in pending(version, known):
            await connection.execute(step)
        await connection.execute("DELETE FROM privtally_version")
        await connection.execute("INSERT INTO privtally_version VALUES ($1)", len(known))


def _columns(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    """Rows as columns, also where there is no row."""
    return [[row[column] for row in rows] for column in range(width)]
