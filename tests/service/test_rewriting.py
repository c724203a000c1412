"""When a phase ends, tokens and reports are rewritten, also by the next process if this one could not."""

import pytest

from privtally.errors import UnavailableError
from privtally.service import operations
from privtally.store.session import Store
from tests.store.people import new_campaign
from tests.support import first_plan

pytestmark = pytest.mark.anyio


async def test_a_rewrite_that_failed_stays_due(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    done = []

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
    assert done == ["rewritten"]


async def test_a_phase_that_ends_during_a_rewrite_makes_another_one_due(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewrites = []

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
    assert len(rewrites) == 3
