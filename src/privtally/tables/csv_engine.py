"""Text files as the engine reads them, with nothing left for it to guess: whole lines, or the cells of CSV by place."""

import re
from pathlib import Path

import duckdb

from privtally.tables import database
from privtally.tables.faults import unlike_header
from privtally.tables.paths import Packing

MOST_LINE_BYTES = 1 << 24
"""No line is longer."""


def lines(path: Path, packing: Packing, most_bytes: int = MOST_LINE_BYTES, *, tolerant: bool = False) -> str:
    """A query's source with the column `line`, none longer than `most_bytes`; the line of an empty line is null.

    A longer line makes the query fail, or is left out if it is `tolerant`.
    """
    how = "columns = {'line': 'VARCHAR'}, header = false, quote = '', escape = '', delim = E'\\x01'"
    return _source(path, packing, f"{how}, max_line_size = {most_bytes}, store_rejects = {tolerant}")


def left_out(connection: duckdb.DuckDBPyConnection) -> int:
    """How many lines a tolerant query left out; ask once after each."""
    ((many,),) = connection.execute("SELECT count(*) FROM reject_errors").fetchall()
    connection.execute("DROP TABLE reject_errors; DROP TABLE reject_scans")
    return int(many)


def cells(path: Path, packing: Packing, width: int) -> str:
    """A query's source with the columns c0, c1 … of a CSV file with a header; an empty cell is null."""
    columns = ", ".join(f"c{place}: 'VARCHAR'" for place in range(width))
    how = f"columns = {{{columns}}}, header = true, delim = ',', quote = '\"', escape = '\"', strict_mode = true"
    return _source(path, packing, how)


def first_line(connection: duckdb.DuckDBPyConnection, path: Path, packing: Packing) -> str | None:
    """The first line of a file; None if there is none."""
    found = connection.execute(f"SELECT line FROM {lines(path, packing)} LIMIT 1").fetchall()
    return (found[0][0] or "").removeprefix("\ufeff") if found else None


def fault_in_line(fault: duckdb.Error) -> str | None:
    """Which line the engine could not read and why, without what the engine quotes of it; None for other faults."""
    line = re.match(r"Invalid Input Error: CSV Error on Line: ([0-9]+)\n", str(fault))
    if line is None:
        return None
    cells = re.search(r"\nExpected Number of Columns: ([0-9]+) Found: ([0-9]+)\n", str(fault))
    wrong = (
        unlike_header(int(cells[2]), int(cells[1])) if cells else "the line is not valid CSV; check its quotation marks"
    )
    return f"line {line[1]}: {wrong}"


def _source(path: Path, packing: Packing, how: str) -> str:
    always = "auto_detect = false, hive_partitioning = false"
    return f"read_csv({database.file(path)}, {how}, compression = '{packing}', {always})"
