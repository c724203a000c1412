"""When a phase ends, tokens and reports are rewritten, also by the next process if this one could not."""

import asyncio
from pathlib import Path

import pytest

pytest.importorskip("litestar", reason="needs the extra: pip install 'privtally[serve]'")

from privtally.errors import UnavailableError
from privtally.service import operations
from privtally.store import open_store
from tests.store.people import new_campaign
from tests.support import first_plan


def test_a_rewrite_that_failed_stays_due(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = []

    async def run() -> None:
        store = await open_store(f"sqlite:///{tmp_path}/store.db")
        campaign = await new_campaign(store)

        async def busy() -> None:
            raise UnavailableError("busy")

        async def rewrite() -> None:
            done.append("rewritten")

        monkeypatch.setattr(store, "rewrite", busy)
        await operations.close(store, campaign.id)
        monkeypatch.setattr(store, "rewrite", rewrite)
        for _ in range(2):
            await operations.rewrite_if_due(store)
        await store.close()

    asyncio.run(run())
    assert done == ["rewritten"]


def test_a_phase_that_ends_during_a_rewrite_makes_another_one_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewrites = []

    async def run() -> None:
        store = await open_store(f"sqlite:///{tmp_path}/store.db")
        one = await new_campaign(store)
        two = await new_campaign(store, plan=first_plan((2, 2), 1.0, "smp"))

        async def rewrite() -> None:
            rewrites.append("begun")
            if len(rewrites) == 1:
                await operations.close(store, two.id)
            elif len(rewrites) == 2:
                raise UnavailableError("busy")

        monkeypatch.setattr(store, "rewrite", rewrite)
        await operations.close(store, one.id)
        for _ in range(2):
            await operations.rewrite_if_due(store)
        await store.close()

    asyncio.run(run())
    assert len(rewrites) == 3
