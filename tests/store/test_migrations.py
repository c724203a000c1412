"""A database takes its steps once and together; one that nobody here knows is refused."""

from pathlib import Path

import apsw
import asyncpg
import pytest

from privtally.errors import StoreError
from privtally.store import open_store, postgresql, sqlite
from tests.store.postgres_server import new_database, run_on

pytestmark = pytest.mark.anyio

STEPS = ("CREATE TABLE one (x BIGINT)", "CREATE TABLE two (x BIGINT); CREATE TABLE three (x BIGINT)")
FAILS = (*STEPS, "CREATE TABLE four (x BIGINT); CREATE TABLE one (x BIGINT)")


def test_sqlite_takes_each_step_once(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "store.db"))
    tables = "SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_schema ORDER BY rowid)"
    for known, version, expected in ((STEPS[:1], 1, "one"), (STEPS, 2, "one two three"), (STEPS, 2, "one two three")):
        sqlite.migrate(connection, tmp_path, known)
        assert connection.pragma("user_version") == version
        assert connection.execute(tables).get == expected
    with pytest.raises(apsw.SQLError):
        sqlite.migrate(connection, tmp_path, FAILS)
    assert connection.execute(tables).get == "one two three"
    with pytest.raises(StoreError):
        sqlite.migrate(connection, tmp_path, STEPS[:1])


async def test_postgresql_takes_each_step_once(postgres: str) -> None:
    connection = await asyncpg.connect(postgres)
    await connection.execute("CREATE SCHEMA steps; SET search_path TO steps")
    tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'steps'"
    for known, expected in ((STEPS[:1], 2), (STEPS, 4), (STEPS, 4)):
        await postgresql.migrate(connection, known)
        assert await connection.fetchval(tables) == expected
    with pytest.raises(asyncpg.PostgresError):
        await postgresql.migrate(connection, FAILS)
    assert await connection.fetchval(tables) == 4
    with pytest.raises(StoreError):
        await postgresql.migrate(connection, STEPS[:1])
    await connection.close()


async def test_databases_of_others_are_refused(tmp_path: Path, postgres: str) -> None:
    file = tmp_path / "other.db"
    connection = apsw.Connection(str(file))
    connection.execute("CREATE TABLE notes (text)")
    connection.close()
    text = tmp_path / "text.db"
    text.write_text("no database " * 100)
    for path in (file, text, tmp_path, tmp_path / "nowhere" / "store.db"):
        with pytest.raises(StoreError):
            await open_store(f"sqlite:///{path}")
    newer = new_database(postgres, "newer")
    run_on(newer, "CREATE TABLE privtally_version AS SELECT 99::bigint AS version")
    for address in (newer, "postgresql://nobody@127.0.0.1:1/none", "mysql://here", "sqlite://", "sqlite:///"):
        with pytest.raises(StoreError):
            await open_store(address)


async def test_a_database_that_cannot_be_set_up_is_refused_with_the_reason(postgres: str) -> None:
    foreign, readable, odd = (new_database(postgres, name) for name in ("foreign_tables", "readable", "odd"))
    run_on(foreign, "CREATE TABLE settings (own INT)")
    run_on(odd, "CREATE TABLE privtally_version (own INT)")
    for address, reason in (
        (foreign, "another program"),
        (f"{readable}&default_transaction_read_only=on", "only be read"),
        (odd, "UndefinedColumnError"),
    ):
        with pytest.raises(StoreError, match=reason):
            await open_store(address)
