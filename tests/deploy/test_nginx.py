"""The service behind nginx, as deploy/nginx.conf has it: answers over TLS, and nothing about who answered."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

pytest.importorskip("litestar", reason="needs the extra: pip install 'privtally[serve]'")

from privtally.service.app import MOST_BYTES
from tests.deploy.proxy import NGINX, Proxy, running
from tests.service.process import Process, serving
from tests.service.site import Site, receipt, reports_to

pytestmark = pytest.mark.skipif(NGINX is None, reason="needs nginx: apt-get install nginx-light")

PLANTED = {
    "Forwarded": "for=198.51.100.23",
    "User-Agent": "Planted-Agent/9.87",
    "X-Forwarded-For": "203.0.113.77",
    "X-Forwarded-Host": "planted.example",
    "X-Forwarded-Proto": "planted",
    "X-Real-IP": "203.0.113.78",
}
LOGGING = (("    access_log off;\n", ""), ("privtally.error.log emerg", "privtally.error.log error"))
"""What must not be changed in the configuration."""


@contextmanager
def client_of(proxy: Proxy) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=proxy.url, verify=proxy.trust, timeout=60, trust_env=False) as client:
        yield client


def address_of(process: Process) -> str:
    return urlsplit(process.url).netloc


def taken_part(process: Process, proxy: Proxy) -> None:
    """Somebody answers a survey; somebody sends too much; somebody comes when the service is gone."""
    with client_of(proxy) as client:
        site = Site(client, process.token)
        campaign = str(site.create()["id"])
        page = client.get(f"/s/{campaign}")
        assert page.status_code == 200
        assert "strict-transport-security" in page.headers
        (report,) = reports_to(site.plan(campaign), 1)
        assert site.send(campaign, report, **PLANTED) == receipt(accepted=1)
        assert site.counters(campaign) == [1]
        path = f"/v1/campaigns/{campaign}/reports"
        kind = {"Content-Type": "application/x-ndjson"}
        within = client.post(path, content=b"\n" * MOST_BYTES, headers=kind)
        assert within.json() == receipt()
        assert client.post(path, content=b"\n" * (MOST_BYTES + 1), headers=kind).status_code == 413
        assert httpx.get(f"http://localhost:{proxy.plain}{path}", trust_env=False).status_code == 308
        process.stop()
        assert client.post(path, content=report.dump(), headers=PLANTED).status_code == 502


@pytest.mark.parametrize(("changes", "silent"), [((), True), (LOGGING, False)], ids=["as it is", "control"])
def test_a_survey_is_answered_over_tls_and_no_log_says_by_whom(
    tmp_path: Path, changes: tuple[tuple[str, str], ...], silent: bool
) -> None:
    with (
        serving(f"sqlite:///{tmp_path}/store.db", tmp_path) as process,
        running(tmp_path / "nginx", address_of(process), *changes) as proxy,
    ):
        taken_part(process, proxy)
        logged = proxy.logged
    assert (b"127.0.0.1" not in logged) == silent
    assert (b"Planted-Agent" not in logged) == silent
    assert (tmp_path / "service.log").read_bytes() == b""


@contextmanager
def listening() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """A server that keeps the headers of every request."""
    seen: list[dict[str, str]] = []

    class Keeping(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # so named by the library
            seen.append(dict(self.headers))
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(204)
            self.end_headers()

        do_POST = do_GET  # noqa: N815  # so named by the library

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Keeping) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}", seen
        server.shutdown()
        thread.join()


def test_nothing_about_who_asks_is_passed_on(tmp_path: Path) -> None:
    with listening() as (address, seen), running(tmp_path / "nginx", address) as proxy, client_of(proxy) as client:
        assert client.get("/", headers={**PLANTED, "Privtally-Token": "kept"}).status_code == 204
        (headers,) = seen
        assert headers["Host"] == f"localhost:{proxy.tls}"
        assert headers["Privtally-Token"] == "kept"
        assert not {name.lower() for name in headers} & {name.lower() for name in PLANTED}
        assert "127.0.0.1" not in str(headers)


SLOW = (("rate=50r/s", "rate=1r/m"), ("rate=1r/s", "rate=1r/m"), ("rate=2r/s", "rate=1r/m"))
"""Rates at which hardly more than a burst is let through while a test runs."""
FILES = [f"/{name}" for name in ("static/style.css", "static/icon.svg", "static/survey.js", "static/reports.js")]
FILES.append("/client/privtally.js")


def test_one_address_may_log_in_and_ask_for_totals_so_often(tmp_path: Path) -> None:
    with (
        listening() as (address, seen),
        running(tmp_path / "nginx", address, *SLOW) as proxy,
        client_of(proxy) as client,
    ):
        for path, most in (("/login", 10), ("/s/x/totals", 100), ("/v1/campaigns/x/estimates", 0)):
            statuses = [client.get(path).status_code for _ in range(most + 2)]
            passed = most and most + 1
            assert statuses == passed * [204] + (most + 2 - passed) * [503], path
        assert len(seen) == 11 + 101
        assert b"127.0.0.1" not in proxy.logged


def test_a_school_behind_one_address_answers_at_once(tmp_path: Path) -> None:
    with (
        listening() as (address, seen),
        running(tmp_path / "nginx", address, *SLOW) as proxy,
        client_of(proxy) as client,
    ):
        asked = ["/s/x", *FILES, "/v1/campaigns/x/plans", "/v1/campaigns/x/plan"]
        for _ in range(300):
            statuses = [client.get(path).status_code for path in asked]
            assert [*statuses, client.post("/v1/campaigns/x/reports", content=b"{}").status_code] == 9 * [204]
        assert len(seen) == 300 * 9
        assert 503 in [client.get("/s/x").status_code for _ in range(400)]
        assert client.get(FILES[0]).status_code == 204
        assert b"127.0.0.1" not in proxy.logged


def test_who_says_only_half_is_dropped_and_the_service_never_hears_of_it(tmp_path: Path) -> None:
    hurry = (("client_header_timeout 10s", "client_header_timeout 50ms"), ("body_timeout 10s", "body_timeout 50ms"))
    halves = b"GET / HTTP/1.1\r\nHost: local", b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhal"
    with listening() as (address, seen), running(tmp_path / "nginx", address, *hurry) as proxy:
        for half in halves:
            with (
                socket.create_connection(("localhost", proxy.tls), timeout=60) as plain,
                proxy.trust.wrap_socket(plain, server_hostname="localhost") as slow,
            ):
                slow.sendall(half)
                while slow.recv(1024):  # until it is closed
                    pass
        assert seen == []
