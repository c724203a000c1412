"""Many clients at once, each of which sends its reports until every one of them was acknowledged."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import httpx

from privtally.documents.report import Report
from tests.service.process import Process

CLIENTS, BATCH = 4, 25


@dataclass
class Crowd:
    """Reports on their way; `acknowledged` and `waiting` are lists of whole batches."""

    campaign: str
    waiting: list[Sequence[Report]]
    acknowledged: list[Sequence[Report]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, campaign: str, reports: Sequence[Report]) -> "Crowd":
        return cls(campaign, [reports[start : start + BATCH] for start in range(0, len(reports), BATCH)])

    def send(self, process: Process, until: Callable[[int], bool] = lambda _: False) -> None:
        """Send what waits; once `until` holds of the number of acknowledged batches, kill the service."""
        before = len(self.acknowledged)
        due = threading.Event()

        def client() -> None:
            with process.site() as site:
                while (batch := self._next()) is not None:
                    try:
                        receipt = site.send(self.campaign, *batch)
                    except (httpx.TransportError, AssertionError):  # no reply, or a refusal for now
                        self._later(batch)
                        return
                    assert receipt["accepted"] + receipt["repeated"] == len(batch)
                    with self._lock:
                        self.acknowledged.append(batch)
                        if until(len(self.acknowledged) - before):
                            due.set()

        def finish() -> None:
            with ThreadPoolExecutor(CLIENTS) as clients:
                for done in [clients.submit(client) for _ in range(CLIENTS)]:
                    done.result()
            due.set()

        everybody = threading.Thread(target=finish)
        everybody.start()
        due.wait()
        if self.waiting:
            process.kill()
        everybody.join()

    def _next(self) -> Sequence[Report] | None:
        with self._lock:
            return self.waiting.pop() if self.waiting else None

    def _later(self, batch: Sequence[Report]) -> None:
        with self._lock:
            self.waiting.append(batch)
