"""Groups of reports: nothing is acknowledged before it is stored, and a full queue refuses."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from privtally.errors import UnavailableError
from privtally.store import intake as intakes
from privtally.store import open_store
from privtally.store.campaigns import counts_of
from privtally.store.intake import Intake, RacedError
from privtally.store.session import Store
from tests.store.people import answered, arrivals, new_campaign

pytestmark = pytest.mark.anyio


class Gated:
    """A store whose writes wait for a gate, and fail as often as told."""

    def __init__(self, store: Store) -> None:
        self.store, self.gate, self.writes = store, asyncio.Event(), 0
        self.faults: list[Exception] = []
        self.waiting = False
        self.read = store.read

    async def write(self, work: Any) -> Any:
        self.waiting = True
        await self.gate.wait()
        self.writes += 1
        if self.faults:
            raise self.faults.pop()
        return await self.store.write(work)


@asynccontextmanager
async def running(intake: Intake) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(intake.run())
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.fixture
async def gated(tmp_path: Path) -> AsyncIterator[Gated]:
    store = await open_store(f"sqlite:///{tmp_path}/store.db")
    yield Gated(store)
    await store.close()


async def test_what_waits_is_stored_together(gated: Gated) -> None:
    campaign = await new_campaign(gated.store)
    rows = arrivals(campaign, answered(campaign.plans[0], 40))
    intake = Intake(gated)  # type: ignore[arg-type]
    async with running(intake):
        waiting = [asyncio.create_task(intake.accept([row])) for row in rows + rows]
        await asyncio.sleep(0)
        assert not any(task.done() for task in waiting)
        while not gated.waiting:
            await asyncio.sleep(0)
        assert intake.waiting == 80
        gated.gate.set()
        outcomes = [(await task)[0] for task in waiting]
        assert intake.waiting == 0
    assert outcomes == ["accepted"] * 40 + ["repeated"] * 40
    assert gated.writes <= 2


async def test_a_full_queue_refuses_for_now(gated: Gated) -> None:
    campaign = await new_campaign(gated.store)
    rows = arrivals(campaign, answered(campaign.plans[0], 3))
    intake = Intake(gated, most_waiting=2)  # type: ignore[arg-type]
    first = asyncio.create_task(intake.accept(rows[:2]))
    await asyncio.sleep(0)
    with pytest.raises(UnavailableError):
        await intake.accept(rows[2:])
    gated.gate.set()
    async with running(intake):
        assert await first == ["accepted"] * 2
        assert await intake.accept(rows[2:]) == ["accepted"]


async def test_a_fault_fails_its_group_and_no_other(gated: Gated) -> None:
    campaign = await new_campaign(gated.store)
    rows = arrivals(campaign, answered(campaign.plans[0], 3))
    gated.faults = [OSError("disk")]
    gated.gate.set()
    intake = Intake(gated)  # type: ignore[arg-type]
    async with running(intake):
        with pytest.raises(OSError, match="disk"):
            await intake.accept(rows)
        assert intake.waiting == 0
        assert await intake.accept(rows) == ["accepted"] * 3


async def test_a_lost_race_is_run_again(gated: Gated) -> None:
    campaign = await new_campaign(gated.store)
    rows = arrivals(campaign, answered(campaign.plans[0], 3))
    gated.faults = [RacedError(), RacedError()]
    gated.gate.set()
    intake = Intake(gated)  # type: ignore[arg-type]
    async with running(intake):
        assert await intake.accept(rows) == ["accepted"] * 3


async def test_reports_are_folded_into_the_counts(gated: Gated, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intakes, "FOLD_AFTER", 10)
    campaign = await new_campaign(gated.store)
    rows = arrivals(campaign, answered(campaign.plans[0], 35))
    gated.gate.set()
    intake = Intake(gated)  # type: ignore[arg-type]
    async with running(intake):
        for start in range(0, 35, 5):
            await intake.accept(rows[start : start + 5])

    async def uncounted(session: Any) -> int:
        ((number,),) = await session.fetch("SELECT coalesce(sum(times), 0) FROM uncounted")
        return int(number)

    assert await gated.store.read(uncounted) <= 10
    counts = await gated.store.read(partial(counts_of, number=campaign.plan_numbers[0], plan=campaign.plans[0]))
    assert counts.reports == 35


async def test_a_defect_in_counting_is_logged_and_stops_nothing(
    gated: Gated, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(_: Store) -> None:
        raise LookupError("secret")

    monkeypatch.setattr(intakes, "FOLD_AFTER", 1)
    monkeypatch.setattr(intakes, "fold_all", broken)
    campaign = await new_campaign(gated.store)
    one, two = arrivals(campaign, answered(campaign.plans[0], 2))
    gated.gate.set()
    intake = Intake(gated)  # type: ignore[arg-type]
    async with running(intake) as task:
        assert await intake.accept([one]) == ["accepted"]
        assert not task.done()
        assert await intake.accept([two]) == ["accepted"]
    assert caplog.records[0].__dict__["kind"] == "LookupError"
    assert "secret" not in caplog.text


async def test_an_intake_that_has_ended_refuses(gated: Gated) -> None:
    campaign = await new_campaign(gated.store)
    intake = Intake(gated)  # type: ignore[arg-type]
    async with running(intake):
        await asyncio.sleep(0)
        intake.check()
    with pytest.raises(UnavailableError):
        await intake.accept(arrivals(campaign, answered(campaign.plans[0], 1)))
