"""A service that is killed while it works: nothing acknowledged is lost, nothing counts twice."""

import asyncio
import socket
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random

import httpx

from privtally.collector.learn import learn
from privtally.collector.tally import tally
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.documents.report import Reports
from privtally.service import operations
from privtally.store import open_store
from tests.scale import scaled
from tests.service.crowd import Crowd
from tests.service.process import Process, serving
from tests.service.site import receipt, reports_to

KILLS = {"sqlite": scaled(2, 100), "postgresql": scaled(1, 30)}
BATCHES_BETWEEN = scaled(6, 45)


def counts_in(address: str, campaign: str) -> Counts:
    """The first phase's counts, and with them that no row is without its count."""

    async def read() -> Counts:
        store = await open_store(address)
        stored = await operations.find(store, campaign)
        ((_, counts), *_) = await operations.history(store, stored)
        ((rows,),) = await store.read(lambda session: session.fetch("SELECT count(*) FROM reports"))
        assert rows == sum(await operations.totals(store, stored))
        await store.close()
        return counts

    return asyncio.run(read())


def test_kills_during_ingest_lose_nothing_and_count_nothing_twice(address: str, tmp_path: Path) -> None:
    kills, chance = KILLS[address.split(":")[0]], Random(3)
    with serving(address, tmp_path) as process:
        with process.site() as site:
            campaign = site.create()["id"]
            plan = site.plan(campaign)
        reports = reports_to(plan, 25 * (kills + 2) * BATCHES_BETWEEN)
        crowd = Crowd.of(campaign, list(reports))
        for _ in range(kills):
            crowd.send(process, until=partial(int.__le__, chance.randint(1, BATCHES_BETWEEN)))
            process.start()
        with process.site() as site:
            for batch in crowd.acknowledged:
                assert site.send(campaign, *batch) == receipt(repeated=len(batch))
        crowd.send(process)
        assert process.stop() == 0
    assert not crowd.waiting
    assert counts_in(address, campaign) == tally(plan, reports)
    print(f"{kills} kills, {len(reports)} reports acknowledged, none lost, none counted twice")  # noqa: T201  # a figure for the guide


def test_a_kill_during_advance_leaves_the_state_before_or_after(tmp_path: Path) -> None:
    chance, after = Random(4), 0
    kills = scaled(1, 30)
    for kill in range(kills):
        folder = tmp_path / str(kill)
        folder.mkdir()
        with serving(f"sqlite:///{folder}/store.db", folder) as process:
            after += phases_after_a_kill(process, chance.random() * 0.2) == 2
    print(f"{kills} kills during advance, {after} of them after it was stored")  # noqa: T201  # a figure for the guide


def phases_after_a_kill(process: Process, seconds: float) -> int:
    """How many phases there are after a kill soon after the request; in both cases the same plan follows."""
    with process.site() as site:
        campaign = site.create(options={"people": 900})["id"]
        plan = site.plan(campaign)
        reports = reports_to(plan, 300)
        site.send(campaign, *reports)

    def ask() -> None:
        with suppress(httpx.TransportError), process.site() as site:
            site.advance(campaign, campaign)

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join(seconds)
    process.kill()
    asking.join()
    process.start()
    with process.site() as site:
        there = site.ok(site.client.get(f"/v1/campaigns/{campaign}/plans"))
        assert [own["phase"] for own in there] in ([1], [1, 2])
        assert site.advance(campaign, campaign)["digest"] == learned(plan, reports).digest
        return len(there)


def learned(plan: Plan, reports: Reports) -> Plan:
    return learn([(plan, tally(plan, reports))], people=900)


def test_retries_after_a_dropped_reply_count_once(tmp_path: Path) -> None:
    number = scaled(100, 10_000)
    with serving(f"sqlite:///{tmp_path}/store.db", tmp_path) as process, process.site() as site:
        campaign = site.create()["id"]
        reports = list(reports_to(site.plan(campaign), number))
        host, port = site.client.base_url.host, site.client.base_url.port
        assert port is not None
        for report in reports:
            body = report.dump()
            head = (
                f"POST /v1/campaigns/{campaign}/reports HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
            )
            with socket.create_connection((host, port)) as connection:
                connection.sendall(head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        again = [site.send(campaign, report) for report in reports]
        assert all(own["accepted"] + own["repeated"] == 1 for own in again)
        assert site.counters(campaign) == [number]
    stored = sum(own["repeated"] for own in again)
    print(f"{number} reports sent again, {stored} of which were stored before; {number} rows")  # noqa: T201  # a figure for the guide


def test_many_clients_with_the_same_reports_count_them_once(address: str, tmp_path: Path) -> None:
    clients, number = scaled(16, 64), scaled(60, 1_000)
    with serving(address, tmp_path) as process:
        with process.site() as site:
            campaign = site.create()["id"]
            reports = list(reports_to(site.plan(campaign), number))
        accepted, repeated = [], []

        def client(seed: int) -> None:
            with process.site() as site:
                receipts = [site.send(campaign, report) for report in Random(seed).sample(reports, number)]
            accepted.append(sum(own["accepted"] for own in receipts))
            repeated.append(sum(own["repeated"] for own in receipts))

        everybody = [threading.Thread(target=client, args=(seed,)) for seed in range(clients)]
        for thread in everybody:
            thread.start()
        for thread in everybody:
            thread.join()
        with process.site() as site:
            assert site.counters(campaign) == [number]
        assert (sum(accepted), sum(repeated)) == (number, (clients - 1) * number)
    print(f"{clients} clients: {number} rows, {sum(accepted)} accepted, {sum(repeated)} repeated")  # noqa: T201  # a figure for the guide
