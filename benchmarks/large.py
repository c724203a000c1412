"""The default estimate of a large survey: seconds and memory of `privtally estimate`, from documents to frequencies.

`python -m benchmarks.large [--reports 1000000] [--attributes 50] [--size 10] [--json]`

The estimate runs in a process of its own, which measures what a user would see. Reports are made beforehand, in parts.
The ratio is to `--method unbiased` in the same run.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privtally.collector.learn import learn
from privtally.collector.tally import count
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan, design
from privtally.exact.source import Stream
from privtally.files import write_bytes
from privtally.mechanisms import NAMED
from privtally.names import MechanismName, Method
from privtally.participant.respond import respond_many
from privtally.schema import Records, Schema

PART = 100_000
PHASE1_PARTS = 1
"""Corr-RR's Phase I: with a million reports the first of ten parts."""
MOST_SECONDS, MOST_MEMORY = 10, 1e9


def tallied(plan: Plan, laws: list[NDArray[np.float64]], parts: range, reports: int, source: Stream) -> Counts:
    """The counts of these parts of all reports."""
    total = None
    for part in parts:
        generator = np.random.default_rng(part)
        people = min(PART, reports - part * PART)
        codes = np.column_stack([generator.choice(len(law), people, p=law) for law in laws]).astype(np.uint8)
        counts = count(plan, respond_many(plan, Records(plan.schema, codes), source).codes)
        total = counts if total is None else total + counts
    assert total is not None
    return total


def prepare(mechanism: MechanismName, schema: Schema, reports: int, directory: Path) -> list[str]:
    """The phases' documents, as words for the command."""
    generator, source = np.random.default_rng(1), Stream.from_system()
    laws = list(generator.dirichlet(np.ones(schema.sizes[0]), len(schema.sizes)))
    parts = -(-reports // PART)
    plan = design(schema, 1.0, mechanism)
    phases = []
    if NAMED[mechanism].learns:
        phases.append((plan, tallied(plan, laws, range(PHASE1_PARTS), reports, source)))
        plan = learn(phases, people=reports - PHASE1_PARTS * PART)
    phases.append((plan, tallied(plan, laws, range(PHASE1_PARTS if phases else 0, parts), reports, source)))
    words = []
    for plan, counts in phases:
        paths = [directory / f"{mechanism}-{plan.phase}-{kind}.json" for kind in ("plan", "counts")]
        write_bytes(paths[0], plan.dump())
        write_bytes(paths[1], counts.dump())
        words += ["--phase", *map(str, paths)]
    return words


def measure(words: list[str], method: Method) -> tuple[float, float]:
    """Seconds and bytes at most of one estimate; memory is the most of all children so far."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "privtally", "estimate", *words, "--method", method, "--json"]
    subprocess.run(command, check=True, capture_output=True)
    seconds = time.perf_counter() - start
    return seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def main() -> None:
    """Measure, print, and exit with 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", type=int, default=1_000_000)
    parser.add_argument("--attributes", type=int, default=50)
    parser.add_argument("--size", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    schema = Schema.of({f"q{own}": [str(code) for code in range(options.size)] for own in range(options.attributes)})
    found: dict[str, dict[str, Any]] = {}
    for mechanism in ("rs-fd", "corr-rr"):
        with tempfile.TemporaryDirectory() as directory:
            words = prepare(mechanism, schema, options.reports, Path(directory))
            plain, _ = measure(words, "unbiased")
            seconds, memory = measure(words, "pooled")
        found[mechanism] = {"seconds": seconds, "bytes": memory, "ratio_to_unbiased": seconds / plain}
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        for mechanism, row in found.items():
            print(
                f"{mechanism:8} {row['seconds']:5.1f} s, {row['ratio_to_unbiased']:.1f} times unbiased, "
                f"at most {row['bytes'] / 1e9:.2f} GB"
            )
    if any(row["seconds"] > MOST_SECONDS or row["bytes"] > MOST_MEMORY for row in found.values()):
        sys.exit(f"missed: {MOST_SECONDS} s or {MOST_MEMORY / 1e9:g} GB")


if __name__ == "__main__":
    main()
