"""The engines of `privtally tally` side by side: seconds a person waits for the counts of the same Parquet files.

`python -m benchmarks.engines [--reports 3000000] [--rounds 3] [--json]`

Each tally is a process of its own, so that starting the engine counts. Rounds are interleaved; the median is shown. The
counts must be equal, byte by byte.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import get_args

import numpy as np

from privtally.documents.plan import design
from privtally.exact.randomness import Stream
from privtally.files import write_bytes
from privtally.names import EngineName
from privtally.participant.respond import respond_many
from privtally.schema import Attribute, Records, Schema
from privtally.tables.report_output import Gathered, write_reports

FILES, AT_ONCE = 4, 1 << 18
SCHEMA = Schema(tuple(Attribute(f"question {number}", ("a", "b", "c", "d")) for number in range(4)))


def make(directory: Path, reports: int) -> None:
    """A plan, and reports to it in some files."""
    plan, source, made_up = design(SCHEMA, 1.0, "rs-fd"), Stream.from_system(), np.random.default_rng(1)
    write_bytes(directory / "plan.json", plan.dump())
    (directory / "reports").mkdir()
    for number in range(FILES):
        own = reports * (number + 1) // FILES - reports * number // FILES
        with Gathered(plan) as gathered:
            for start in range(0, own, AT_ONCE):
                codes = made_up.integers(0, 4, (min(AT_ONCE, own - start), 4), dtype=np.uint8)
                gathered.add(respond_many(plan, Records(SCHEMA, codes), source))
            write_reports(directory / f"reports/{number}.parquet", plan, gathered)


def seconds(directory: Path, engine: str) -> float:
    """How long one tally takes."""
    words = ["tally", "reports", "-p", "plan.json", "-o", f"{engine}.json", "--engine", engine]
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "privtally", *words], cwd=directory, check=True, capture_output=True)
    return time.perf_counter() - start


def compare(reports: int, rounds: int) -> dict[str, float]:
    """The median seconds of each engine."""
    engines = get_args(EngineName)
    with tempfile.TemporaryDirectory() as room:
        directory = Path(room)
        make(directory, reports)
        taken = [{engine: seconds(directory, engine) for engine in engines} for _ in range(rounds)]
        counts = {(directory / f"{engine}.json").read_bytes() for engine in engines}
    if len(counts) != 1:
        raise SystemExit("the engines' counts differ")
    return {engine: statistics.median(each[engine] for each in taken) for engine in engines}


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", type=int, default=3_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = compare(given.reports, given.rounds)
    if given.json:
        print(json.dumps({"reports": given.reports, "seconds": found}))
        return
    print(f"{given.reports:,} reports, ids compared, the same counts\n")
    for engine, taken in found.items():
        print(f"{engine:8} {taken:6.1f} s")


if __name__ == "__main__":
    main()
