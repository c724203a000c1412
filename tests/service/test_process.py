"""`privtally serve` as an operator runs it, and a participant who answers it from a command line."""

import json
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.service.process import Process, serving
from tests.service.site import receipt, reports_to


def submitted(process: Process, campaign: str, folder: Path, code: int = 0, *, before: bool = False) -> str:
    (folder / "answers.json").write_text(json.dumps({"q0": "a1", "q1": "a2"}))
    words = ["submit", "--url", f"{process.url}/s/{campaign}", "--record", str(folder / "answers.json")]
    done = subprocess.run(
        [sys.executable, "-m", "privtally", *words, "--ledger", str(folder / "ledger.json"), "--json"],
        capture_output=True,
        text=True,
        check=False,
        env={"no_proxy": "127.0.0.1", "PYTHONPATH": ":".join(sys.path)},
    )
    assert done.returncode == code, done.stderr
    assert ("before" in done.stderr) == before
    assert ("ε = 2: a report can make anybody at most 7.4 times surer" in done.stderr) == (code == 0 and not before)
    return done.stdout


def test_a_person_answers_and_the_service_stops_politely(tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path}/store.db", tmp_path) as process:
        token = process.token
        with process.site() as site:
            campaign = site.create()["id"]
        one = submitted(process, campaign, tmp_path)
        assert submitted(process, campaign, tmp_path, before=True) == one
        with process.site() as site:
            assert site.counters(campaign) == [1]
        assert process.stop(signal.SIGTERM) == 0
        assert not (tmp_path / "store.db-wal").exists()
        process.start()
        assert process.token == token  # it is shown once; this is the one of the first start
        with process.site() as site:
            assert site.counters(campaign) == [1]
            site.close(campaign)
        assert process.stop(signal.SIGINT) == 0
        assert not (tmp_path / "store.db-wal").exists()
    assert (tmp_path / "service.log").read_text() == ""


def connected(process: Process) -> socket.socket:
    address = urlsplit(process.url)
    return socket.create_connection((address.hostname, address.port), timeout=60)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_request_under_way_is_answered_before_the_service_stops(tmp_path: Path, how: signal.Signals) -> None:
    with serving(f"sqlite:///{tmp_path}/store.db", tmp_path) as process:
        with process.site() as site:
            campaign = site.create()["id"]
            (report,) = reports_to(site.plan(campaign), 1)
        body = report.dump()
        head = f"POST /v1/campaigns/{campaign}/reports HTTP/1.1\r\nHost: here\r\nContent-Length: {len(body)}\r\n"
        with connected(process) as under_way:
            under_way.sendall(head.encode() + b"Content-Type: application/json\r\nExpect: 100-continue\r\n\r\n")
            assert under_way.recv(1024).startswith(b"HTTP/1.1 100")  # the service waits for the body
            process.send(how)
            with suppress(OSError):
                while True:  # until nobody is let in any more
                    connected(process).close()
            under_way.sendall(body)
            reply = b""
            while piece := under_way.recv(4096):
                reply += piece
        assert reply.startswith(b"HTTP/1.1 200")
        assert json.loads(reply.partition(b"\r\n\r\n")[2]) == receipt(accepted=1)
        assert process.wait() == 0
        process.start()
        with process.site() as site:
            assert site.counters(campaign) == [1]


def test_what_the_service_logs_is_json_and_quotes_nothing(tmp_path: Path) -> None:
    planted = b"Planted-Word"
    with serving(f"sqlite:///{tmp_path}/store.db", tmp_path) as process:
        for line in (b"%s / HTTP/9.9", b"GET /%s HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: %s"):
            with connected(process) as rude:
                rude.sendall(line.replace(b"%s", planted) + b"\r\n\r\n")
                assert rude.recv(1024)
        process.stop()
    lines = (tmp_path / "service.log").read_bytes().splitlines()
    assert lines
    for line in lines:
        assert {"level", "event"} <= set(json.loads(line))
        assert planted not in line
        assert b"127.0.0.1" not in line
