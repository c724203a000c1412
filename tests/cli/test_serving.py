"""serve and db new-token: the settings of a service, and its administrator's token."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("litestar", reason="needs the extra: pip install 'privtally[serve]'")

from tests.cli.conftest import Program
from tests.service.process import serving


@pytest.mark.parametrize(
    ("option", "value", "word"),
    [
        ("port", "70000", "--port"),
        ("port", "http", "--port"),
        ("host", "no such host", "--host"),
        ("store", "privtally.db", "store"),
        ("store", "sqlite:///nowhere/privtally.db", "nowhere/privtally.db"),
        ("public-url", "survey.example.org", "https"),
        ("public-url", "http://survey.example.org", "https"),
        ("public-url", "https://survey.example.org/path", "path"),
    ],
)
def test_a_wrong_setting_is_refused_as_option_and_as_variable(
    program: Program, monkeypatch: pytest.MonkeyPatch, option: str, value: str, word: str
) -> None:
    assert word in program("serve", f"--{option}", value, code=2).err
    monkeypatch.setenv(f"PRIVTALLY_{option.upper().replace('-', '_')}", value)
    assert word in program("serve", code=2).err


def test_a_new_token_replaces_the_one_before_while_the_service_runs(program: Program, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/privtally.db"
    with serving(address, tmp_path) as process:
        with process.site() as site:
            site.create()
        new = program("db", "new-token", "--store", address, "--json").json()["admin_token"]
        with process.site() as site:
            assert site.create(status=401) == "not-admin"
            site.token = new
            site.create()


COUNT_THREADS = """
import json, os, sys
from privtally.cli import main

def threads():
    import numpy as np

    np.ones((500, 500)) @ np.ones((500, 500))
    return len(os.listdir("/proc/self/task"))

if __name__ == "__main__":
    try:
        main()
    except SystemExit:  # it cannot listen at an address of another machine
        assert "numpy" in sys.modules

    from privtally.lab.compare import run_jobs

    print(json.dumps([threads(), *run_jobs(threads, [(), ()], 2, lambda _: None)]))
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to count threads")
@pytest.mark.parametrize(("asked", "threads"), [({}, 1), ({"OMP_NUM_THREADS": "2"}, min(2, os.cpu_count() or 1))])
def test_the_service_and_worker_processes_have_one_thread_unless_the_user_asks_for_more(
    tmp_path: Path, asked: dict[str, str], threads: int
) -> None:
    inherited = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    script = tmp_path / "count.py"
    script.write_text(COUNT_THREADS)
    words = ["serve", "--store", f"sqlite:///{tmp_path}/privtally.db", "--host", "203.0.113.1"]
    done = subprocess.run(
        [sys.executable, script, *words],
        capture_output=True,
        text=True,
        check=True,
        env={**inherited, **asked, "PYTHONPATH": ":".join(sys.path)},
    )
    assert "cannot listen" in done.stderr
    assert json.loads(done.stdout) == [threads] * 3
