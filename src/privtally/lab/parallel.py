"""Independent jobs over several processes; an interruption stops all of them at once."""

import multiprocessing
import signal
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Result = TypeVar("Result")

SIGNALS = {signal.SIGINT, signal.SIGTERM}
LOOK_AGAIN = 0.5
"""Seconds after which a wait is begun anew. A signal that comes just before a wait begins does not end that wait."""


def run_jobs(
    work: Callable[..., Result], jobs: Sequence[tuple[Any, ...]], workers: int, advance: Callable[[int], None]
) -> list[Result]:
    """The result of each job, in order; `advance` hears how many are done."""
    found: list[Result] = []
    if min(workers, len(jobs)) <= 1:
        for job in jobs:
            found.append(work(*job))
            advance(len(found))
        return found
    # A signal waits until the pool stands; from then on leaving the block, in whatever way, ends its processes.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        with multiprocessing.Pool(min(workers, len(jobs)), initializer=_leave_signals_to_the_parent) as pool:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
            for result in [pool.apply_async(work, job) for job in jobs]:
                while not result.ready():
                    result.wait(LOOK_AGAIN)
                found.append(result.get())
                advance(len(found))
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    return found


def _leave_signals_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
