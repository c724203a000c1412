"""Bulk privatising: reports per second on one core, memory beyond input and output, and start-up of the program.

`python -m benchmarks.core [--records 10000000] [--json]`

Rates depend on the machine; the ratio to a plain NumPy implementation with floats, measured in the same run, does not
much. That one draws every attribute by comparing `Generator.random` with a probability: what people write when they do
not ask where the randomness comes from.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from privtally.documents.plan import Learned, LearnedFrom, Plan, design
from privtally.exact.randomness import Stream
from privtally.exact.rational import nearest_distribution, nearest_probability
from privtally.mechanisms.fills import AnyFill, CopyFill, Fill, RowFill, Table, TableFill, table_places
from privtally.mechanisms.named import NAMED, asking
from privtally.names import MECHANISMS, MechanismName
from privtally.participant.respond import respond_many
from privtally.schema import Records, Schema

ATTRIBUTES, SIZE = 4, 4
LEAST_RATE = {"spl": 10e6, "corr-rr": 8e6}
MOST_MEMORY = 200e6
MOST_HELP_SECONDS = 0.4


def plan_of(mechanism: MechanismName) -> Plan:
    """A plan that runs the mechanism, with middling parameters."""
    prior = nearest_distribution(np.array([0.4, 0.3, 0.2, 0.1]))
    attributes = range(ATTRIBUTES)
    copy = tuple(tuple(1.0 if one == two else nearest_probability(0.7) for two in attributes) for one in attributes)
    tables = tuple(Table(pivots, other, (prior,) * SIZE) for pivots, other in table_places(ATTRIBUTES, 1))
    fills: dict[type[Fill], AnyFill] = {
        RowFill: RowFill((prior,) * ATTRIBUTES),
        CopyFill: CopyFill(copy),
        TableFill: TableFill(tables),
    }
    schema = Schema.of({f"q{own}": [str(code) for code in range(SIZE)] for own in attributes})
    first = design(schema, 1.0, mechanism)
    kind = NAMED[mechanism].learned
    if kind is None:
        return first
    learned = Learned((LearnedFrom(first.digest, "0" * 64, 1),))
    return first.next((asking(tuple(attributes), schema.sizes, Fraction(1), fills[kind]),), learned)


def plain_spl(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """SPL with floats and NumPy's default generator, column by column."""
    generator = np.random.default_rng()
    keep = np.exp(1 / ATTRIBUTES) / (np.exp(1 / ATTRIBUTES) + SIZE - 1)
    out = np.empty_like(codes)
    for own in range(ATTRIBUTES):
        other = (codes[:, own] + generator.integers(1, SIZE, len(codes), dtype=np.uint8)) % SIZE
        out[:, own] = np.where(generator.random(len(codes)) < keep, codes[:, own], other)
    return out


def timed(work: Callable[[], Any]) -> float:
    """Seconds that the work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


class PeakMemory:
    """The largest resident size while the block runs, sampled from the operating system every few milliseconds."""

    def __enter__(self) -> Self:
        self.start = self.peak = _resident()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._stop.wait(0.002):
            self.peak = max(self.peak, _resident())

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def _resident() -> int:
    with open("/proc/self/statm") as file:  # noqa: PTH123  # read hundreds of times a second
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def measure(records: int) -> dict[str, Any]:
    """Every figure."""
    codes = np.random.default_rng(0).integers(0, SIZE, (records, ATTRIBUTES), dtype=np.uint8)
    source = Stream.from_system()
    plain = records / timed(lambda: plain_spl(codes))
    mechanisms = {}
    for mechanism in MECHANISMS:
        plan = plan_of(mechanism)
        table = Records(plan.schema, codes)
        plan.mechanism.privatise(codes[:1000], source)
        sampling = min(timed(partial(plan.mechanism.privatise, codes, source)) for _ in range(3))
        with PeakMemory() as memory:
            reports = respond_many(plan, table, source)
        output = reports.codes.nbytes + reports.ids.nbytes
        whole = timed(partial(respond_many, plan, table, source))
        mechanisms[mechanism] = {
            "reports_per_second": records / sampling,
            "with_ids_per_second": records / whole,
            "ratio_to_plain_numpy_spl": records / sampling / plain,
            "memory_beyond_input_and_output": max(0, memory.peak - memory.start - output),
        }
        del reports
    command = [sys.executable, "-m", "privtally", "--help"]
    starts = [timed(lambda: subprocess.run(command, check=True, capture_output=True)) for _ in range(7)]
    return {
        "records": records,
        "plain_numpy_spl_per_second": plain,
        "mechanisms": mechanisms,
        "help_seconds": statistics.median(starts),
    }


def main() -> None:
    """Measure, print, and exit with 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = measure(options.records)
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        print(f"{'':10}{'M reports/s':>12}{'with ids':>10}{'x plain':>9}{'extra MB':>10}")
        for name, row in result["mechanisms"].items():
            print(
                f"{name:10}{row['reports_per_second'] / 1e6:12.1f}{row['with_ids_per_second'] / 1e6:10.1f}"
                f"{row['ratio_to_plain_numpy_spl']:9.1f}{row['memory_beyond_input_and_output'] / 1e6:10.0f}"
            )
        print(f"plain NumPy SPL: {result['plain_numpy_spl_per_second'] / 1e6:.1f} M reports/s")
        print(f"privtally --help: {result['help_seconds']:.2f} s")
    missed = [name for name, rate in LEAST_RATE.items() if result["mechanisms"][name]["with_ids_per_second"] < rate]
    missed += [
        f"{name} memory"
        for name, row in result["mechanisms"].items()
        if row["memory_beyond_input_and_output"] > MOST_MEMORY
    ]
    if result["help_seconds"] > MOST_HELP_SECONDS:
        missed.append("help")
    if missed:
        sys.exit(f"missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
