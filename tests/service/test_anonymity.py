"""Nothing about who sent a report is kept: not in the database, not in the logs, not in a backup."""

import asyncio
import threading
from pathlib import Path

import pytest

pytest.importorskip("litestar", reason="needs the extra: pip install 'privtally[serve]'")

from privtally.service import tokens
from privtally.store import open_store
from tests.scale import scaled
from tests.service.process import Process, serving
from tests.service.site import Site, reports_to

UPLOADS, CLIENTS = scaled(400, 10_000), 4
PLANTED = {"X-Forwarded-For": "203.0.113.77", "Forwarded": "for=198.51.100.23", "User-Agent": "Planted-Agent/9.87"}
SOUGHT = [b"203.0.113.77", b"198.51.100.23", b"Planted-Agent", b"127.0.0.1"]


def upload(process: Process, campaign: str, own_tokens: list[str], seed: int) -> None:
    with process.site() as site:
        plan = site.plan(campaign, **{"Privtally-Token": own_tokens[0]})
        for report, token in zip(reports_to(plan, len(own_tokens), seed), own_tokens, strict=True):
            done = site.send(campaign, report, **PLANTED, **{"Privtally-Token": token})
            assert done["accepted"] == 1


def start(site: Site) -> str:
    return str(site.create(mechanism="smp", options={"tokens": True})["id"])


def test_planted_addresses_agents_and_tokens_are_found_nowhere(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/store.db"

    async def issued(campaign: str) -> list[str]:
        store = await open_store(address)
        issued = await tokens.issue(store, campaign, UPLOADS)
        await store.close()
        return issued

    async def backed_up() -> None:
        store = await open_store(address)
        await store.backup(tmp_path / "backup.db")
        await store.close()

    with serving(address, tmp_path) as process:
        with process.site() as site:
            campaign = start(site)
        issued_tokens = asyncio.run(issued(campaign))
        parts = [issued_tokens[own::CLIENTS] for own in range(CLIENTS)]
        clients = [
            threading.Thread(target=upload, args=(process, campaign, part, seed)) for seed, part in enumerate(parts)
        ]
        for thread in clients:
            thread.start()
        for thread in clients:
            thread.join()
        with process.site() as site:
            assert site.counters(campaign) == [UPLOADS]
            site.post(campaign, b"{", "text/plain", 415, **PLANTED)
        asyncio.run(backed_up())
        found = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert {path.name for path in found} >= {"store.db", "store.db-wal", "service.log", "backup.db"}
    for path, content in found.items():
        for planted in SOUGHT:
            assert planted not in content, path.name
        for token in issued_tokens:
            assert token.encode() not in content, path.name
            assert bytes.fromhex(token) not in content, path.name
    assert tokens.hashed(issued_tokens[0]) in found[tmp_path / "backup.db"]  # the search would find what is there


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
