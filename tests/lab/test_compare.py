import multiprocessing
import os
import signal
import subprocess
import sys

import pytest

from privtally.errors import CampaignError
from privtally.lab.compare import run_jobs


def square(number: int) -> int:
    return number**2


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_come_in_order(workers: int) -> None:
    heard: list[int] = []
    assert run_jobs(square, [(3,), (1,), (2,)], workers, heard.append) == [9, 1, 4]
    assert heard == [1, 2, 3]
    assert run_jobs(square, [], workers, heard.append) == []


def end_the_process(place: int) -> int:
    if place:
        os.kill(os.getpid(), signal.SIGKILL)
    return place


def test_a_process_that_is_killed_is_said_instead_of_waited_for() -> None:
    with pytest.raises(CampaignError, match="ended from outside"):
        run_jobs(end_the_process, [(0,), (1,), (0,)], 2, lambda _: None)
    assert not multiprocessing.active_children()


LATE = """
import _thread, os, signal, threading
from privtally.errors import CampaignError
from privtally.lab.compare import run_jobs

begun, begins = os.pipe()

def work(place):
    os.write(begins, b"x")
    while True:
        signal.pause()

def interrupt():
    os.read(begun, 1)
    _thread.interrupt_main()  # the flag of a signal, without what ends a system call

signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Thread(target=interrupt, daemon=True).start()
try:
    run_jobs(work, [(0,), (1,)], 2, print)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_a_signal_that_comes_just_before_waiting_begins_is_heard() -> None:
    done = subprocess.run([sys.executable, "-c", LATE], stdout=subprocess.PIPE, text=True, check=True, timeout=300)
    assert done.stdout == "interrupted\n"
