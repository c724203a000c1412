"""Estimates are computed by one task a campaign, and for everybody now and then only, however many ask."""

import asyncio
import gc
import threading
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from privtally.collector.estimate import estimate
from privtally.documents.estimate import Estimate
from privtally.errors import EstimateError
from privtally.schema import Schema
from privtally.service import operations
from privtally.service.collector import MOST_AT_ONCE, MOST_KEPT, PAUSE, PAUSES, Estimates
from privtally.service.operations import NewCampaign
from privtally.store import open_store
from privtally.store.campaigns import StoredCampaign, pack
from privtally.store.intake import Arrival, accept
from privtally.store.session import Store, StoredReport, Work
from tests.service.site import Site, reports_to

pytestmark = pytest.mark.anyio
T = TypeVar("T")
CROWD = 50


class Estimator:
    """Estimates that are finished when the test says so, and take as long as it says."""

    def __init__(self) -> None:
        self.may_finish, self.started, self.fault = threading.Event(), threading.Semaphore(0), ""
        self.may_finish.set()
        self.now, self.took, self.times = 1_000.0, 0.0, 0

    def __call__(self, history: Any, method: Any, *, by_round: bool) -> Estimate:
        self.times += 1
        self.started.release()
        self.may_finish.wait()
        self.now += self.took
        if self.fault:
            raise LookupError(self.fault)
        return estimate(history, method, by_round=by_round)

    def clock(self) -> float:
        return self.now

    async def begun(self) -> None:
        """Wait until another estimate is being computed."""
        await asyncio.to_thread(self.started.acquire)


class CountedStore:
    """A store that counts how often it is read."""

    def __init__(self, store: Store) -> None:
        self.store, self.reads = store, 0

    async def read(self, work: Work[T]) -> T:
        self.reads += 1
        return await self.store.read(work)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


class Bench:
    """A store with its estimates, and what controls them."""

    def __init__(self, store: Store) -> None:
        self.store: Any = CountedStore(store)
        self.estimator = Estimator()
        self.ask_patiently(60)

    def ask_patiently(self, seconds: float) -> None:
        """Wait so long for a new estimate."""
        self.estimates = Estimates(self.store, self.estimator, self.estimator.clock, seconds)

    async def campaign(self, people: int = 20) -> StoredCampaign:
        schema = Schema.of({"a": ["x", "y"], "b": ["x", "y"]})
        campaign = await operations.create(self.store, NewCampaign("Sleep", schema, 2.0, "spl"))
        if people:
            await self.answer(campaign, people)
        return campaign

    async def answer(self, campaign: StoredCampaign, people: int, seed: int = 1) -> None:
        number, plan = campaign.plan_numbers[0], campaign.plans[0]
        arrivals = [
            Arrival(campaign.number, StoredReport(number, bytes.fromhex(own.id), pack(plan, list(map(int, own.codes)))))  # type: ignore[arg-type]  # spl answers all
            for own in reports_to(plan, people, seed)
        ]
        await self.store.write(partial(accept, arrivals=arrivals))


def reports(found: Estimate | EstimateError | None) -> int:
    assert isinstance(found, Estimate)
    return found.provenance.phases[0].reports


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    store = await open_store(f"sqlite:///{tmp_path}/store.db")
    bench = Bench(store)
    yield bench
    bench.estimator.may_finish.set()
    await store.close()


async def test_a_crowd_that_asks_at_once_costs_one_estimate_and_one_history(bench: Bench) -> None:
    campaign = await bench.campaign()
    bench.store.reads = 0
    bench.estimator.may_finish.clear()
    crowd = [asyncio.create_task(bench.estimates.recent(campaign)) for _ in range(CROWD)]
    await bench.estimator.begun()
    for hangs_up in crowd[1:]:
        hangs_up.cancel()
    bench.estimator.may_finish.set()
    assert reports(await crowd[0]) == 20
    assert (bench.estimator.times, bench.store.reads) == (1, 2)


@pytest.mark.parametrize(("took", "pause"), [(0.0, PAUSE), (10.0, 10.0 * PAUSES)])
async def test_everybody_is_given_the_last_estimate_until_a_pause_is_over(
    bench: Bench, took: float, pause: float
) -> None:
    campaign, estimator = await bench.campaign(), bench.estimator
    estimator.took = took
    assert reports(await bench.estimates.recent(campaign)) == 20
    await bench.answer(campaign, 10, seed=2)
    bench.store.reads = 0
    estimator.now += pause - 0.1
    assert {reports(await bench.estimates.recent(campaign)) for _ in range(CROWD)} == {20}
    assert (estimator.times, bench.store.reads) == (1, 0)
    estimator.now += 0.2
    assert {reports(await bench.estimates.recent(campaign)) for _ in range(CROWD)} == {30}
    assert estimator.times == 2


async def test_an_estimate_without_new_reports_is_not_computed_again(bench: Bench) -> None:
    campaign = await bench.campaign()
    first = await bench.estimates.current(campaign, "likelihood")
    bench.estimator.now += 2 * PAUSE
    assert await bench.estimates.recent(campaign) is first
    assert await bench.estimates.current(campaign, "likelihood") is first
    assert bench.estimator.times == 1


async def test_the_administrator_is_given_an_estimate_of_all_reports(bench: Bench) -> None:
    campaign = await bench.campaign()
    bench.estimator.may_finish.clear()
    first = asyncio.create_task(bench.estimates.current(campaign, "likelihood"))
    await bench.estimator.begun()
    await bench.answer(campaign, 10, seed=2)
    later = [asyncio.create_task(bench.estimates.current(campaign, "likelihood")) for _ in range(CROWD)]
    bench.estimator.may_finish.set()
    assert reports(await first) == 20
    assert {reports(await own) for own in later} == {30}
    assert bench.estimator.times == 2


async def test_a_campaign_waits_for_no_other_and_computes_one_estimate_at_a_time(bench: Bench) -> None:
    slow, quick = await bench.campaign(), await bench.campaign()
    bench.estimator.may_finish.clear()
    waiting = [asyncio.create_task(bench.estimates.recent(slow, method)) for method in ("likelihood", "unbiased")]
    await bench.estimator.begun()
    other = asyncio.create_task(bench.estimates.recent(quick))
    await bench.estimator.begun()
    assert bench.estimator.times == 2
    bench.estimator.may_finish.set()
    assert {reports(await own) for own in (*waiting, other)} == {20}
    assert bench.estimator.times == 3


async def test_who_asks_first_for_one_campaign_too_many_need_not_wait_for_the_others(bench: Bench) -> None:
    bench.ask_patiently(0.01)
    campaigns = [await bench.campaign() for _ in range(MOST_AT_ONCE + 1)]
    bench.estimator.may_finish.clear()
    asked = [asyncio.create_task(bench.estimates.recent(campaign)) for campaign in campaigns]
    for _ in range(MOST_AT_ONCE):
        await bench.estimator.begun()
    assert await asyncio.wait_for(asyncio.gather(*asked), 30) == len(campaigns) * [None]
    assert bench.estimator.times == MOST_AT_ONCE
    bench.estimator.may_finish.set()
    assert reports(await bench.estimates.current(campaigns[-1], "likelihood")) == 20
    assert reports(await bench.estimates.recent(campaigns[-1])) == 20


def test_everybody_is_told_to_come_back_for_the_first_estimate(site: Site) -> None:
    collector, may_finish = site.client.app.state.collector, threading.Event()

    def slow(*words: Any, **fields: Any) -> Estimate:
        may_finish.wait(30)  # where nobody is told, nobody waits for ever
        return estimate(*words, **fields)

    collector.estimates = Estimates(collector.store, slow, patience=0.01)
    campaign = site.create(options={"published": True})["id"]
    site.send(campaign, *reports_to(site.plan(campaign), 20))
    answer = site.client.get(f"/v1/campaigns/{campaign}/estimates", timeout=60)
    may_finish.set()
    assert (site.ok(answer, 503), answer.headers["retry-after"]) == ("computing", "2")
    own = f"/v1/campaigns/{campaign}/estimates"
    assert site.client.get(own, headers=site.admin).content == site.client.get(own).content


async def test_pages_show_the_last_estimate_while_the_next_takes_long(bench: Bench) -> None:
    bench.ask_patiently(0.01)
    campaign, estimates = await bench.campaign(), bench.estimates
    bench.estimator.may_finish.clear()
    for pause in (False, True):
        assert await estimates.recent(campaign, pause=pause) is None
    bench.estimator.may_finish.set()
    assert reports(await estimates.current(campaign, "likelihood")) == 20
    bench.estimator.may_finish.clear()
    await bench.answer(campaign, 10, seed=2)
    bench.estimator.now += 2 * PAUSE
    for pause in (False, True):
        assert reports(await estimates.recent(campaign, pause=pause)) == 20
    bench.estimator.may_finish.set()
    assert reports(await estimates.current(campaign, "likelihood")) == 30
    assert bench.estimator.times == 2


async def test_of_many_estimates_the_first_are_forgotten_but_none_that_was_just_asked_for(bench: Bench) -> None:
    campaigns = [await bench.campaign(people=4) for _ in range(MOST_KEPT + 2)]
    for campaign in campaigns:
        await bench.estimates.recent(campaign, "unbiased")
    for campaign in campaigns:
        await bench.estimates.current(campaign, "unbiased")
    assert bench.estimator.times == len(campaigns)  # all of them were in their pause, and are kept
    bench.estimator.now += 2 * PAUSE
    await bench.answer(campaigns[0], 4, seed=2)
    for _ in range(2):
        assert reports(await bench.estimates.recent(campaigns[0], "unbiased")) == 8
    assert bench.estimator.times == len(campaigns) + 1
    for campaign in campaigns[3:]:
        await bench.estimates.current(campaign, "unbiased")
    assert bench.estimator.times == len(campaigns) + 1
    for campaign in campaigns[1:3]:
        await bench.estimates.current(campaign, "unbiased")
    assert bench.estimator.times == len(campaigns) + 3


async def test_the_first_reports_are_estimated_at_once(bench: Bench) -> None:
    campaign = await bench.campaign(people=0)
    for _ in range(2):
        assert "no reports yet" in str(await bench.estimates.recent(campaign))
    await bench.answer(campaign, 10)
    assert reports(await bench.estimates.recent(campaign)) == 10


async def test_a_defect_that_nobody_waits_for_is_logged_without_its_message(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.ask_patiently(0.01)
    campaign = await bench.campaign()
    bench.estimator.may_finish.clear()
    bench.estimator.fault = "secret"
    assert await bench.estimates.recent(campaign) is None
    bench.estimator.may_finish.set()
    while not caplog.records:
        await asyncio.sleep(0.001)
    gc.collect()
    (line,) = caplog.records
    assert line.__dict__["kind"] == "LookupError"
    assert "secret" not in caplog.text
