"""Bulk privatising beside the random stream alone, which is its limit: d = k = 4, ratios in one run.

`python -m benchmarks.bulk [--records 1000000] [--repetitions 60] [--json]`

The limit is what the mechanism could do if it only drew its words: the bytes a second of `Stream` alone, divided by the
bytes of words that a report takes as the sampler draws them (counted, not assumed). Ids are not among those bytes. On
two cores the limit is that of two processes that draw at once.

Repetitions are interleaved. On one core the time is CPU time, the best of all repetitions; on two cores it is the best
wall time, which other work on the machine lengthens: the column "cores" says how many the best repetition had.
"""

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from benchmarks.core import ATTRIBUTES, SIZE, plan_of
from privtally.documents.plan import Plan
from privtally.exact.randomness import Source, Stream, Words
from privtally.exact.types import Codes
from privtally.names import MechanismName
from privtally.participant.respond import respond_in_bulk, respond_many
from privtally.schema import Records

BLOCK = 1 << 18
"""The words that the stream draws at a time when it is measured alone."""
BATCH = 1 << 18
"""The records of one batch where several workers share them."""
CORES = 2
BARS = {
    ("spl", "codes"): 0.25,
    ("corr-rr", "codes"): 0.15,
    ("spl", "reports"): 0.125,
    ("corr-rr", "reports"): 0.075,
}
"""The least share of the limit on one core, by mechanism and job."""


@dataclass
class Job:
    """Something to time: the work, the cores it may use, and the time of its best repetition."""

    work: Callable[[], Any]
    cores: int = 1
    seconds: float = field(default=float("inf"), init=False)
    busy: float = field(default=1.0, init=False)

    def run(self) -> None:
        """One more repetition."""
        wall, processor = time.perf_counter(), time.process_time()
        self.work()
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        seconds = processor if self.cores == 1 else wall
        if seconds < self.seconds:
            self.seconds, self.busy = seconds, processor / wall


class Counting:
    """A source that counts the words it hands out."""

    def __init__(self, source: Source) -> None:
        self.source, self.count = source, 0

    def words(self, count: int) -> Words:
        self.count += count
        return self.source.words(count)


def draw_words(stream: Stream, words: int) -> None:
    """The stream alone."""
    for start in range(0, words, BLOCK):
        stream.words(min(BLOCK, words - start))


def _draw_when_asked(ends: Connection, words: int) -> None:
    stream = Stream.from_system()
    while ends.recv():
        draw_words(stream, words)
        ends.send(None)


@contextmanager
def streams_at_once(words: int) -> Iterator[Callable[[], None]]:
    """The stream alone in as many processes as there are cores, each with an equal share of the words."""
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in range(CORES)]
    processes = [context.Process(target=_draw_when_asked, args=(theirs, words // CORES)) for _, theirs in pipes]
    for process in processes:
        process.start()

    def work() -> None:
        for ours, _ in pipes:
            ours.send("draw")
        for ours, _ in pipes:
            ours.recv()

    try:
        yield work
    finally:
        for ours, _ in pipes:
            ours.send("")
        for process in processes:
            process.join()


def respond_on_cores(plan: Plan, codes: Codes) -> None:
    """Whole reports by the function that the command line calls, with a worker for each core."""
    batches = (codes[start : start + BATCH] for start in range(0, len(codes), BATCH))
    for _ in respond_in_bulk(plan, batches, CORES):
        pass


def jobs_of(mechanism: MechanismName, codes: Codes) -> tuple[float, dict[str, Job]]:
    """The bytes of words that a report takes, and the jobs to time."""
    plan, stream = plan_of(mechanism), Stream.from_system()
    counting = Counting(stream)
    plan.mechanism.privatise(codes, counting)
    jobs = {
        "codes": Job(partial(plan.mechanism.privatise, codes, stream)),
        "reports": Job(partial(respond_many, plan, Records(plan.schema, codes), stream)),
        f"reports, {CORES} cores": Job(partial(respond_on_cores, plan, codes), CORES),
    }
    return counting.count * 8 / len(codes), jobs


def measure(records: int, repetitions: int) -> dict[str, Any]:
    """Every figure."""
    codes = np.random.default_rng(0).integers(0, SIZE, (records, ATTRIBUTES), dtype=np.uint8)
    names: tuple[MechanismName, ...] = ("spl", "corr-rr")
    mechanisms = {name: jobs_of(name, codes) for name in names}
    words = 5 * records
    with streams_at_once(words) as at_once:
        limits = {1: Job(partial(draw_words, Stream.from_system(), words)), CORES: Job(at_once, CORES)}
        jobs = [*limits.values(), *(job for _, own in mechanisms.values() for job in own.values())]
        for job in jobs:
            job.work()  # pages touched
        for _ in range(repetitions):
            for job in jobs:
                job.run()
    rates = {cores: 8 * words / job.seconds for cores, job in limits.items()}
    return {
        "records": records,
        "stream_bytes_per_second": rates,
        "mechanisms": {
            name: {
                "bytes_of_words": size,
                "limit": {cores: rate / size for cores, rate in rates.items()},
                "jobs": {
                    title: {
                        "reports_per_second": records / job.seconds,
                        "of_limit": records / job.seconds / (rates[job.cores] / size),
                        "cores": job.busy,
                    }
                    for title, job in own.items()
                },
            }
            for name, (size, own) in mechanisms.items()
        },
    }


def missed_bars(result: dict[str, Any]) -> list[str]:
    """The bars that a result misses."""
    jobs = {(name, job): row for name, own in result["mechanisms"].items() for job, row in own["jobs"].items()}
    return [f"{', '.join(key)}" for key, bar in BARS.items() if jobs[key]["of_limit"] < bar]


def main() -> None:
    """Measure, print, and exit with 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--repetitions", type=int, default=60)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = measure(options.records, options.repetitions)
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        for cores, rate in result["stream_bytes_per_second"].items():
            print(f"the stream alone, {cores} core{'s' * (cores > 1)}: {rate / 1e9:.1f} GB/s")
        print(f"{'':31}{'M reports/s':>12}{'of the limit':>14}{'bar':>7}{'cores':>7}")
        for name, own in result["mechanisms"].items():
            for cores, limit in own["limit"].items():
                words = f"limit, {own['bytes_of_words']:.0f} bytes, {cores} core{'s' * (cores > 1)}"
                print(f"{name:9}{words:22}{limit / 1e6:12.1f}")
            for job, row in own["jobs"].items():
                print(
                    f"{name:9}{job:22}{row['reports_per_second'] / 1e6:12.1f}{row['of_limit']:14.2f}"
                    f"{BARS.get((name, job), ''):>7}{row['cores']:7.2f}"
                )
    if missed := missed_bars(result):
        sys.exit(f"missed: {'; '.join(missed)}")


if __name__ == "__main__":
    main()
