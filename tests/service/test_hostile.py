"""Clients that dawdle or send without end do not stop the others."""

import resource
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import cycle, islice
from pathlib import Path

import httpx
import numpy as np

from privtally.documents.report import Report
from tests.scale import scaled
from tests.service.process import serving
from tests.service.site import Site, receipt, reports_to

IDLE, OTHERS, DRIPS = scaled(50, 1_000), scaled(20, 1_000), 5
FEW = 60
"""Files that a process may have open unless it asks for more; below the number of connections."""


@contextmanager
def few_open_files() -> Iterator[None]:
    """A process that is started now may have few files open, but may ask for as many as this one."""
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (FEW, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))


def milliseconds(site: Site, campaign: str, reports: Iterable[Report], slow: Sequence[socket.socket] = ()) -> float:
    """Send reports one by one, while slow clients send byte after byte; how long 99 of 100 requests took at most."""
    took, turns = [], cycle(slow)
    for report in reports:
        for connection in islice(turns, DRIPS):
            connection.sendall(b"x")
        begin = time.perf_counter()
        assert site.send(campaign, report) == receipt(accepted=1)
        took.append(time.perf_counter() - begin)
    return float(1_000 * np.quantile(took, 0.99))


def test_idle_and_slow_clients_do_not_stop_others(tmp_path: Path) -> None:
    with ExitStack() as stack:
        with few_open_files():
            process = stack.enter_context(serving(f"sqlite:///{tmp_path}/store.db", tmp_path))
        site = stack.enter_context(process.site())
        campaign = site.create()["id"]
        reports = list(reports_to(site.plan(campaign), 2 * OTHERS))
        alone = milliseconds(site, campaign, reports[:OTHERS])
        place = (site.client.base_url.host, site.client.base_url.port)
        connections = [stack.enter_context(socket.create_connection(place)) for _ in range(IDLE)]
        slow = connections[::2]
        head = f"POST /v1/campaigns/{campaign}/reports HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
        for connection in slow:
            connection.sendall(head.encode())
        with process.site() as new_site:
            beside = milliseconds(new_site, campaign, reports[OTHERS:], slow)
        assert site.counters(campaign) == [2 * OTHERS]
    print(  # noqa: T201  # a figure for the guide
        f"beside {IDLE} idle connections, {len(slow)} of them slow, 99 % of {OTHERS} requests within {beside:.0f} ms;"
        f" alone within {alone:.0f} ms"
    )


def endless(megabytes: int) -> Iterator[bytes]:
    for _ in range(megabytes):
        yield b"[" * (1 << 20)


def test_a_request_without_end_is_refused(tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path}/store.db", tmp_path) as process, process.site() as site:
        campaign = site.create()["id"]
        with suppress(httpx.TransportError):  # the service may hang up before it has heard all of it
            answer = site.client.post(
                f"/v1/campaigns/{campaign}/reports",
                content=endless(scaled(32, 1_024)),
                headers={"Content-Type": "application/json"},
            )
            assert site.ok(answer, 413) == "request-entity-too-large"
        assert site.send(campaign, *reports_to(site.plan(campaign), 5)) == receipt(accepted=5)
        assert site.counters(campaign) == [5]
