"""Nothing about who sent a report is kept: not in the database, not in the logs, not in a backup."""

import asyncio
import socket
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from privtally.service import operations
from privtally.store import open_store
from tests.scale import scaled
from tests.service.process import Process, serving
from tests.service.site import Site, reports_to
from tests.service.traces import found_in, traces
from tests.store.postgres_server import data_folder, new_database, pg_dump, run_on

UPLOADS, CLIENTS = scaled(400, 10_000), 4
PLANTED = {"X-Forwarded-For": "203.0.113.77", "Forwarded": "for=198.51.100.23", "User-Agent": "Planted-Agent/9.87"}
SOUGHT = [b"203.0.113.77", b"198.51.100.23", b"Planted-Agent", b"127.0.0.1"]


@dataclass
class Kept:
    """A store, everything that is kept of it in files, and how to back it up."""

    address: str
    folder: Path
    database: Path
    back_up: Callable[[Path], None]

    @property
    def backup(self) -> Path:
        return self.folder / "backup"

    def files(self) -> list[Path]:
        """The database with its log, the service's log and a new backup."""
        self.back_up(self.backup)
        database = [path for path in self.database.rglob("*") if path.suffix != ".conf"]
        return list({*database, *self.folder.iterdir()})


@pytest.fixture(params=["sqlite", "postgresql"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Kept:
    if request.param == "sqlite":
        address = f"sqlite:///{tmp_path}/store.db"

        async def copied(path: Path) -> None:
            store = await open_store(address)
            await store.backup(path)
            await store.close()

        return Kept(address, tmp_path, tmp_path, lambda path: asyncio.run(copied(path)))
    server = request.getfixturevalue("postgres")
    schema = request.node.name.split("[")[0]

    def dumped(path: Path) -> None:
        run_on(server, "CHECKPOINT")
        subprocess.run([pg_dump(), "--schema", schema, "--file", path, server], check=True)

    return Kept(new_database(server, schema), tmp_path, data_folder(server), dumped)


def upload(process: Process, campaign: str, own_tokens: list[str], seed: int) -> None:
    with process.site() as site:
        plan = site.plan(campaign, **{"Privtally-Token": own_tokens[0]})
        for report, token in zip(reports_to(plan, len(own_tokens), seed), own_tokens, strict=True):
            done = site.send(campaign, report, **PLANTED, **{"Privtally-Token": token})
            assert done["accepted"] == 1


def send_nonsense(site: Site, campaign: str, token: str) -> None:
    """Requests that are refused or that are none, for what is logged of them."""
    planted = {**PLANTED, "Privtally-Token": token}
    site.post(campaign, b"{", "text/plain", 415, **planted)
    site.ok(site.client.get(f"/{token}?from=203.0.113.77", headers=planted), 404)
    lines = [f"GET /{token} HTTP/1.1", *(f"{name}: {value}" for name, value in planted.items()), "no header"]
    with socket.create_connection((site.client.base_url.host, cast(int, site.client.base_url.port))) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 400")


async def issued(address: str, campaign: str) -> list[str]:
    store = await open_store(address)
    new = await operations.issue(store, campaign, UPLOADS)
    await store.close()
    return new


def test_planted_addresses_agents_and_tokens_are_found_nowhere(kept: Kept) -> None:
    with serving(kept.address, kept.folder) as process, process.site() as site:
        campaign = str(site.create(mechanism="smp", options={"tokens": True})["id"])
        own_tokens = asyncio.run(issued(kept.address, campaign))
        with ThreadPoolExecutor(CLIENTS) as clients:
            parts = [own_tokens[own::CLIENTS] for own in range(CLIENTS)]
            for done in [clients.submit(upload, process, campaign, part, own) for own, part in enumerate(parts)]:
                done.result()
        assert site.counters(campaign) == [UPLOADS]
        send_nonsense(site, campaign, own_tokens[0])
        assert process.log.stat().st_size > 0
        files = kept.files()
        spellings = [spelt for own in own_tokens for spelt in (own.encode(), bytes.fromhex(own))]
        assert traces(files, [*SOUGHT, *spellings]) == {}
        print(f"{UPLOADS} uploads, {len(files)} files, nothing found")  # noqa: T201  # a figure for the guide

        # The search finds what is there, the hashes of the tokens.
        hashes = {operations.hashed(own) for own in own_tokens}
        there = traces(files, [spelt for own in hashes for spelt in (own, own.hex().encode())])
        assert {own if own in hashes else bytes.fromhex(own.decode()) for own in there.pop(kept.backup)} == hashes
        assert hashes <= set().union(*there.values())


def test_what_is_written_is_found(kept: Kept) -> None:
    """The control: an address in a title is found in the database and its backup, one in the log in the log."""
    with serving(kept.address, kept.folder) as process, process.site() as site:
        site.create(title="of 192.0.2.55")
        assert process.log.stat().st_size == 0
        process.log.write_bytes(b"GET / from 192.0.2.66")
        there = traces(kept.files(), [b"192.0.2.55", b"192.0.2.66"])
    assert there.pop(process.log) == {b"192.0.2.66"}
    assert there.pop(kept.backup) == {b"192.0.2.55"}
    assert set.union(*there.values()) == {b"192.0.2.55"}


def test_the_search_finds_what_a_plain_one_finds() -> None:
    content = b"....abcdef..abcxyz..aabcd" + bytes(5) + b"wxyz"
    sought = [b"abcd", b"abcx", b"abcy", b"aabcd", b"wxyz", bytes(4), bytes(6), b"yz\0\0"]
    assert found_in(content, sought) == {own for own in sought if own in content}
    assert found_in(b"ab", sought) == set()


def test_no_column_could_hold_them(tmp_path: Path) -> None:
    async def columns() -> dict[str, set[str]]:
        store = await open_store(f"sqlite:///{tmp_path}/store.db")
        sql = "SELECT tables.name, columns.name FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns"
        rows = await store.read(lambda session: session.fetch(sql))
        await store.close()
        return {table: {own for name, own in rows if name == table} for table, _ in rows}

    found = asyncio.run(columns())
    assert found["reports"] == {"plan", "id", "codes"}
    assert found["tokens"] == {"campaign", "hash", "spent"}
    assert found["uncounted"] == {"plan", "codes", "times"}
