"""Reports in Parquet files that another engine than DuckDB can read itself, and all other reports made such a file."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from privtally.documents.plan import Plan
from privtally.tables.database import files, literal
from privtally.tables.parquet_reports import parquet_sources, stated_plans, unreadable
from privtally.tables.paths import Format, format_of
from privtally.tables.report_input import DuckReports

Kinds = tuple[tuple[str, str], ...]
"""The names and types of a file's columns, as DuckDB has them."""

Alike = dict[Kinds, list[Path]]
"""Files by their columns."""


@dataclass(frozen=True)
class NativeReports:
    """Parquet files of reports to a plan.

    `own` state the plan in their metadata, `stating` in a column `plan`; `parsed` have what `tallying` takes: an id,
    a state and codes.
    """

    rows: int = 0
    own: Alike = field(default_factory=dict)
    stating: Alike = field(default_factory=dict)
    parsed: Alike = field(default_factory=dict)


@contextmanager
def native_reports(connection: duckdb.DuckDBPyConnection, plan: Plan, paths: Sequence[Path]) -> Iterator[NativeReports]:
    """The reports in files, as long as they are needed: text, and files to other plans, are written again."""
    parquet = [path for path in paths if format_of(path) == Format("parquet")]
    with tempfile.TemporaryDirectory(prefix="privtally-") as room:
        try:
            parquet_sources(connection, plan, parquet)  # refuses columns that are not those of reports to the plan
            stated, kinds = stated_plans(connection, parquet), _kinds(connection, parquet)
            own = [path for path in parquet if stated.get(path) == plan.digest]
            stating = [path for path in parquet if path not in stated and ("plan", "VARCHAR") in kinds[path]]
            known = {*own, *stating}
            parsed = _written(connection, plan, [path for path in paths if path not in known], Path(room))
            rows = _many(connection, [*own, *stating, *parsed])
        except duckdb.Error:  # its message would quote the file
            raise unreadable(connection, parquet) from None
        yield NativeReports(rows, _alike(own, kinds), _alike(stating, kinds), {(): parsed} if parsed else {})


def _written(connection: duckdb.DuckDBPyConnection, plan: Plan, paths: Sequence[Path], room: Path) -> list[Path]:
    """What `DuckReports` makes of files, as a file."""
    if not paths:
        return []
    path = room / "parsed.parquet"
    for everything in DuckReports(connection, plan, paths, in_pieces=False).pieces():
        everything.write_parquet(str(path))
    return [path]


def _alike(paths: Sequence[Path], kinds: dict[Path, Kinds]) -> Alike:
    alike: Alike = {}
    for path in paths:
        alike.setdefault(kinds[path], []).append(path)
    return alike


def _kinds(connection: duckdb.DuckDBPyConnection, paths: Sequence[Path]) -> dict[Path, Kinds]:
    """The columns of each file."""
    of_leaves = "WHERE num_children IS NULL ORDER BY file_name, column_id"
    kinds: dict[Path, Kinds] = dict.fromkeys(paths, ())
    named = {literal(path): path for path in paths}
    for file, column, kind in _about(connection, "file_name, name, duckdb_type", "schema", paths, of_leaves):
        kinds[named[file]] += ((column, kind),)
    return kinds


def _many(connection: duckdb.DuckDBPyConnection, paths: Sequence[Path]) -> int:
    return sum(many for (many,) in _about(connection, "num_rows", "file_metadata", paths))


def _about(
    connection: duckdb.DuckDBPyConnection, what: str, table: str, paths: Sequence[Path], rest: str = ""
) -> list[tuple[Any, ...]]:
    """What Parquet files say of themselves."""
    if not paths:
        return []
    return connection.execute(f"SELECT {what} FROM parquet_{table}({files(paths)}) {rest}").fetchall()
