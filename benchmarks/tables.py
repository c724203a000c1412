"""Rows and reports a second through files, by the program itself: time on the clock, processor time, peak memory.

    python -m benchmarks.tables [--rows 10000000] [--json FILE] [--guide docs/guide/scale.md] [--keep DIR]

Four questions of four answers, Corr-RR's first plan and SMP. Every line is one run of `privtally`, its start included.
Files are made by DuckDB in a temporary directory, or in the one that is named; 100 million rows need some 10 GB.
"""

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from subprocess import DEVNULL, Popen

import duckdb

from benchmarks.accuracy import rewrite

LABELS = ("red", "green", "blue", "white")
QUESTIONS = ("first", "second", "third", "fourth")
SCHEMA = "".join(f'[[attributes]]\nname = "{name}"\nlabels = {list(LABELS)}\n' for name in QUESTIONS)


@dataclass
class Line:
    """What one run of the program took."""

    job: str
    rows: int
    rows_per_second: float
    cpu_seconds: float
    peak_mb: float
    bytes_per_row: float


def measured(job: str, rows: int, output: Path, *words: object) -> Line:
    """Run the program once."""
    begin = time.perf_counter()
    process = Popen([sys.executable, "-m", "privtally", *map(str, words), "-o", str(output)], stdout=DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    took = time.perf_counter() - begin
    if status:
        raise SystemExit(f"{job} failed")
    size = output.stat().st_size / rows
    return Line(job, rows, rows / took, used.ru_utime + used.ru_stime, _megabytes(used), size)


def _megabytes(used: resource.struct_rusage) -> float:
    return used.ru_maxrss / (1 << 10)


def make_answers(directory: Path, rows: int) -> None:
    """Random answers as labels, in CSV and in Parquet."""
    labels = f"[{', '.join(map(repr, LABELS))}]"
    columns = ", ".join(
        f"{labels}[1 + CAST(hash(i + {place} * {rows}) % 4 AS INTEGER)] AS {name}"
        for place, name in enumerate(QUESTIONS)
    )
    with duckdb.connect() as connection:
        connection.execute("SET memory_limit = '2GB'")
        query = f"SELECT {columns} FROM range({rows}) AS t(i)"  # noqa: S608  # names of our own
        for kind in ("csv", "parquet"):
            connection.execute(f"COPY ({query}) TO '{directory}/answers.{kind}'")


def lines(directory: Path, rows: int) -> list[Line]:
    """Every job, in order: the later ones read what the earlier ones wrote."""
    (directory / "schema.toml").write_text(SCHEMA)
    make_answers(directory, rows)
    few = min(rows, 5_000_000)  # lines of JSON are large
    found = []
    for mechanism in ("corr-rr", "smp"):
        plan, made = directory / f"{mechanism}.json", directory / f"{mechanism}.parquet"
        measured("design", 1, plan, "design", directory / "schema.toml", "-e", 1, "-m", mechanism)
        for kind in ("csv", "parquet"):
            job = f"{mechanism}: {'CSV' if kind == 'csv' else 'Parquet'} with labels to private Parquet"
            answers = directory / f"answers.{kind}"
            found.append(measured(job, rows, made, "privatise", answers, "-p", plan, "--force"))
        counts = directory / "counts.json"
        found.append(measured(f"{mechanism}: tally Parquet, ids compared", rows, counts, "tally", made, "-p", plan))
        found.append(
            measured(f"{mechanism}: tally Parquet, ids trusted", rows, counts, "tally", made, "-p", plan, "--trust-ids")
        )
    answers = directory / "few.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"COPY (FROM '{directory}/answers.parquet' LIMIT {few}) TO '{answers}'")
    made = directory / "reports.ndjson"
    found.append(measured("smp: Parquet with labels to NDJSON", few, made, "privatise", answers, "-p", plan))
    found.append(measured("smp: tally NDJSON, ids compared", few, counts, "tally", made, "-p", plan))
    return found


def table(found: list[Line]) -> str:
    """The lines as a table in Markdown; what counts leave on disk is not worth a number."""
    rows = ["| job | rows | million rows/s | CPU s | peak MB | bytes a row |", "|---|---:|---:|---:|---:|---:|"]
    for line in found:
        size = f"{line.bytes_per_row:.1f}" if line.bytes_per_row > 1 else ""
        rate = f"{line.rows_per_second / 1e6:.2f}"
        rows.append(f"| {line.job} | {line.rows:,} | {rate} | {line.cpu_seconds:.1f} | {line.peak_mb:.0f} | {size} |")
    return "\n".join(rows)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--guide", type=Path, help="a page that has a place for the table")
    parser.add_argument("--keep", type=Path, help="an existing directory for the files")
    options = parser.parse_args()
    with ExitStack() as stack:
        directory = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="privtally-")))
        found = lines(directory, options.rows)
    text = table(found)
    print(text)
    if options.guide:
        rewrite(options.guide, "benchmarks/tables.py", text)
    if options.json:
        options.json.write_text(json.dumps([asdict(line) for line in found], indent=1) + "\n")


if __name__ == "__main__":
    main()
