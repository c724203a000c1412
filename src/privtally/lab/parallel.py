"""Independent jobs over several processes; an interruption stops all of them at once."""

import multiprocessing
import signal
from collections.abc import Callable, Sequence
from multiprocessing.pool import IMapIterator
from typing import Any, TypeVar

Result = TypeVar("Result")

SIGNALS = {signal.SIGINT, signal.SIGTERM}
LOOK_AGAIN = 0.5
"""Seconds after which a wait is begun anew. A signal that comes just before a wait begins does not end that wait."""


def run_jobs(
    work: Callable[..., Result], jobs: Sequence[tuple[Any, ...]], workers: int, advance: Callable[[int], None]
) -> list[Result]:
    """The result of each job, in order; `advance` hears how many are done."""
    found: dict[int, Result] = {}
    numbered = [(place, work, job) for place, job in enumerate(jobs)]
    workers = min(workers, len(jobs))
    if workers <= 1:
        for done, job in enumerate(numbered, start=1):
            place, found[place] = _call(job)
            advance(done)
    else:
        # A signal waits until the pool stands; from then on leaving the block, in whatever way, ends its processes.
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            with multiprocessing.Pool(workers, initializer=_leave_signals_to_the_parent) as pool:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
                results = pool.imap_unordered(_call, numbered)
                for done in range(1, len(jobs) + 1):
                    place, found[place] = _next(results)
                    advance(done)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    return [found[place] for place in range(len(jobs))]


def _next(results: "IMapIterator[Result]") -> Result:
    while True:
        try:
            return results.next(timeout=LOOK_AGAIN)
        except multiprocessing.TimeoutError:
            continue


def _call(numbered: tuple[int, Callable[..., Result], tuple[Any, ...]]) -> tuple[int, Result]:
    place, work, job = numbered
    return place, work(*job)


def _leave_signals_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
