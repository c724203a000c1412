"""`privtally serve` in a process of its own, which can be killed and started again."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.service.site import Site


@dataclass
class Process:
    """The service over one store; each start may find another free port."""

    address: str
    log: Path
    token: str = ""
    url: str = ""
    _running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and learn where it listens."""
        words = [sys.executable, "-m", "privtally", "serve", "--store", self.address, "--port", "0", "--json"]
        with self.log.open("ab") as log:
            self._running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log)
        assert self._running.stdout is not None
        lines = b""
        while not lines.endswith(b"}\n"):
            line = self._running.stdout.readline()
            assert line, self.log.read_text()
            lines += line
        started: dict[str, Any] = json.loads(lines)
        self.url, self.token = started["url"], started.get("admin_token", self.token)

    @property
    def number(self) -> int:
        """What the operating system calls the process."""
        assert self._running is not None
        return self._running.pid

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End it, politely or not, and wait until it is gone."""
        if self._running is None:
            return 0
        self.send(how)
        return self.wait()

    def send(self, how: signal.Signals) -> None:
        """Tell it to end."""
        assert self._running is not None
        self._running.send_signal(how)

    def wait(self) -> int:
        """Its exit code, once it is gone."""
        running, self._running = self._running, None
        assert running is not None
        assert running.stdout is not None
        code = running.wait(60)
        running.stdout.close()
        return code

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self.stop(signal.SIGKILL)

    @contextmanager
    def site(self) -> Iterator[Site]:
        with httpx.Client(base_url=self.url, timeout=60, trust_env=False) as client:
            yield Site(client, self.token)


@contextmanager
def serving(address: str, folder: Path) -> Iterator[Process]:
    """A service that is running, and is gone afterwards."""
    process = Process(address, folder / "service.log")
    process.start()
    try:
        yield process
    finally:
        process.kill()
