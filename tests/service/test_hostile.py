"""Clients that dawdle or send without end do not stop the others."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

pytest.importorskip("litestar", reason="needs the extra: pip install 'privtally[serve]'")

import httpx

from tests.scale import scaled
from tests.service.process import serving
from tests.service.site import receipt, reports_to

IDLE = scaled(50, 1_000)


def endless(megabytes: int) -> Iterator[bytes]:
    for _ in range(megabytes):
        yield b"[" * (1 << 20)


def test_idle_slow_and_endless_clients_do_not_stop_others(tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path}/store.db", tmp_path) as process, process.site() as site, ExitStack() as stack:
        campaign = site.create()["id"]
        reports = reports_to(site.plan(campaign), 5)
        path = f"/v1/campaigns/{campaign}/reports"
        place = (site.client.base_url.host, site.client.base_url.port)
        for own in range(IDLE):
            connection = stack.enter_context(socket.create_connection(place))
            if own % 2:
                connection.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n".encode())
        with suppress(httpx.TransportError):  # the service may hang up before it has heard all of it
            headers = {"Content-Type": "application/json"}
            answer = site.client.post(path, content=endless(scaled(32, 1_024)), headers=headers)
            assert site.ok(answer, 413) == "request-entity-too-large"
        assert site.send(campaign, *reports) == receipt(accepted=5)
        assert site.counters(campaign) == [5]
