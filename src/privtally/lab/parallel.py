"""Independent jobs over several processes; an interruption stops all of them at once."""

import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import Pool
from multiprocessing import TimeoutError as NotYetError
from typing import Any, TypeVar

Result = TypeVar("Result")

SIGNALS = {signal.SIGINT, signal.SIGTERM}


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
            with Pool(workers, initializer=_leave_signals_to_the_parent) as pool:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
                arriving = pool.imap_unordered(_call, numbered)
                while len(found) < len(jobs):
                    # A signal that comes just before the wait is heard only after it, so that no wait is endless.
                    with suppress(NotYetError):
                        place, found[place] = arriving.next(timeout=0.5)
                        advance(len(found))
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    return [found[place] for place in range(len(jobs))]


def _call(numbered: tuple[int, Callable[..., Result], tuple[Any, ...]]) -> tuple[int, Result]:
    place, work, job = numbered
    return place, work(*job)


def _leave_signals_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
