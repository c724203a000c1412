"""Independent jobs over several processes; an interruption stops all of them at once."""

import multiprocessing
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from privtally.errors import CampaignError

Result = TypeVar("Result")

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
    others = multiprocessing.active_children()
    pool = ProcessPoolExecutor(min(workers, len(jobs)), initializer=_leave_signals_to_the_parent)
    # A signal waits until all processes are started; from then on whatever stops the work ends them.
    _hold_signals(held=True)
    try:
        futures = [pool.submit(work, *job) for job in jobs]
        _hold_signals(held=False)
        for future in futures:
            while not wait([future], LOOK_AGAIN).done:
                pass
            found.append(future.result())
            advance(len(found))
    except BaseException as stopped:
        for process in multiprocessing.active_children():
            if process not in others:
                process.terminate()
        if isinstance(stopped, BrokenProcessPool):
            raise CampaignError(
                "a process that shared the work was ended from outside, perhaps for want of memory; use fewer workers"
            ) from None
        raise
    finally:
        _hold_signals(held=False)
        pool.shutdown(cancel_futures=True)
    return found


def _hold_signals(*, held: bool) -> None:
    """Let the signals that end a program wait, or let them in, where the system can do so."""
    if hasattr(signal, "pthread_sigmask"):
        how = signal.SIG_BLOCK if held else signal.SIG_UNBLOCK
        signal.pthread_sigmask(how, {signal.SIGINT, signal.SIGTERM})


def _leave_signals_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _hold_signals(held=False)
