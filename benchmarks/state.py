"""What a state saves: days of reports in Parquet, tallied day by day with `--state` and all at once.

python -m benchmarks.state [REPORTS_A_DAY] [DAYS]
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from privtally.documents.plan import Plan, design
from privtally.exact.source import Stream
from privtally.participant.respond import respond_many
from privtally.schema import Records, Schema
from privtally.tables.gathering import Gathered
from privtally.tables.report_files import tally_files
from privtally.tables.report_output import write_reports
from privtally.tables.state import tally_on


def write_day(plan: Plan, path: Path, reports: int, seed: int) -> None:
    """A day's private reports of made-up people."""
    codes = np.random.default_rng(seed).integers(0, 4, (reports, 4), dtype=np.uint8)
    with Gathered(plan) as gathered:
        gathered.add(respond_many(plan, Records(plan.schema, codes), Stream.from_system()))
        write_reports(path, plan, gathered)


def timed(work: Callable[[], object]) -> str:
    """Seconds on the clock and of all cores."""
    start, before = time.perf_counter(), time.process_time()
    work()
    return f"{time.perf_counter() - start:6.2f} s, {time.process_time() - before:6.2f} s of CPU"


def main(reports: int = 500_000, days: int = 8) -> None:
    """Print the times, and check that the counts are equal."""
    plan = design(Schema.of({f"q{own}": list("abcd") for own in range(4)}), 1.0, "spl")
    with tempfile.TemporaryDirectory() as directory:
        lake, state = Path(directory, "lake"), Path(directory, "state")
        lake.mkdir()
        for day in range(days - 1):
            write_day(plan, lake / f"{day}.parquet", reports, day)
        print(f"{days - 1} days of {reports:,} reports, first run   {timed(lambda: tally_on(plan, [lake], state))}")
        write_day(plan, lake / "last.parquet", reports, days)
        print(f"the last day, with the state            {timed(lambda: tally_on(plan, [lake], state))}")
        print(f"nothing new, with the state             {timed(lambda: tally_on(plan, [lake], state))}")
        print(f"all {days} days at once                     {timed(lambda: tally_files(plan, [lake]))}")
        size = sum(path.stat().st_size for path in state.rglob("*")) / (reports * days)
        print(f"the state takes {size:.1f} bytes a report")
        if tally_on(plan, [lake], state).result.counts != tally_files(plan, [lake]).counts:
            raise SystemExit("the counts differ")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
