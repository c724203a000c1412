"""When a phase ends, tokens and reports are rewritten, also by the next process if this one could not."""

import asyncio
from pathlib import Path

import pytest

pytest.importorskip("litestar", reason="needs the extra: pip install 'privtally[serve]'")

from privtally.errors import UnavailableError
from privtally.service import operations
from privtally.store import open_store
from tests.store.people import new_survey


def test_a_rewrite_that_failed_stays_due(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = []

    async def run() -> None:
        store = await open_store(f"sqlite:///{tmp_path}/store.db")
        survey = await new_survey(store)

        async def busy() -> None:
            raise UnavailableError("busy")

        async def rewrite() -> None:
            done.append("rewritten")

        monkeypatch.setattr(store, "rewrite", busy)
        await operations.close(store, survey.id)
        monkeypatch.setattr(store, "rewrite", rewrite)
        for _ in range(2):
            await operations.rewrite_if_due(store)
        await store.close()

    asyncio.run(run())
    assert done == ["rewritten"]
