"""`privtally serve` as an operator runs it, and a participant who answers it from a command line."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("litestar", reason="needs the extra: pip install 'privtally[serve]'")

from tests.service.process import Process, serving


def submitted(process: Process, campaign: str, folder: Path, code: int = 0) -> str:
    (folder / "answers.json").write_text(json.dumps({"q0": "a1", "q1": "a2"}))
    words = ["submit", "--url", f"{process.url}/v1/campaigns/{campaign}", "--record", str(folder / "answers.json")]
    done = subprocess.run(
        [sys.executable, "-m", "privtally", *words, "--ledger", str(folder / "ledger.json"), "--json"],
        capture_output=True,
        text=True,
        check=False,
        env={"no_proxy": "127.0.0.1", "PYTHONPATH": ":".join(sys.path)},
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def test_a_person_answers_and_the_service_stops_politely(tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path}/store.db", tmp_path) as process:
        token = process.token
        with process.site() as site:
            campaign = site.create()["id"]
        one = submitted(process, campaign, tmp_path)
        assert submitted(process, campaign, tmp_path) == one
        with process.site() as site:
            assert site.counters(campaign) == [1]
        assert process.stop(signal.SIGTERM) == 143
        assert not (tmp_path / "store.db-wal").exists()
        process.start()
        assert process.token == token  # it is shown once; this is the one of the first start
        with process.site() as site:
            assert site.counters(campaign) == [1]
            site.close(campaign)
        assert process.stop(signal.SIGINT) == 130
        assert not (tmp_path / "store.db-wal").exists()
    assert (tmp_path / "service.log").read_text() == ""
