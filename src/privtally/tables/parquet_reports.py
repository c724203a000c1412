"""Files of reports in Parquet: what they say of themselves, and the reports of those that answer a plan."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import duckdb

from privtally.documents.plan import Plan
from privtally.documents.report import ID_BYTES
from privtally.errors import DocumentError, ReportError
from privtally.tables.database import text
from privtally.tables.faults import quoted
from privtally.tables.report_output import code_columns
from privtally.tables.tallying import INVALID, SOUND, WRONG_PLAN

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")

NO_ROOM = "the reports cannot be read; is there room for temporary files (TMPDIR)?"

Kinds = tuple[tuple[str, str], ...]
"""The names and types of columns."""


@dataclass(frozen=True)
class ParquetFiles:
    """Files by the plan that they answer: `own` and `other` say so in their metadata, `stating` in a column.

    `columns` are the names and types of those that may hold reports to the plan.
    """

    own: list[Path] = field(default_factory=list)
    stating: list[Path] = field(default_factory=list)
    other: list[Path] = field(default_factory=list)
    columns: Mapping[Path, Kinds] = field(default_factory=dict)


class ParquetReports(NamedTuple):
    """Reports that are all in Parquet. `parsed` files hold what `tallying` takes: an id, a state and codes."""

    files: ParquetFiles
    parsed: list[Path]
    rows: int


def parquet_files(connection: duckdb.DuckDBPyConnection, plan: Plan, paths: Sequence[Path]) -> ParquetFiles:
    """Parquet files by the plan that they answer, refused if the columns are not those of reports to this plan."""
    if not paths:
        return ParquetFiles()
    stated = _stated_plans(connection, paths)
    own = [path for path in paths if stated.get(str(path)) == plan.digest]
    stating = [path for path in paths if str(path) not in stated]
    other = [path for path in paths if stated.get(str(path), plan.digest) != plan.digest]
    columns = _columns(connection, [*own, *stating])
    for path, kinds in columns.items():
        _check_columns(plan, path, dict(kinds), stating=str(path) not in stated)
    return ParquetFiles(own, stating, other, columns)


def parquet_sources(plan: Plan, files: ParquetFiles) -> list[str]:
    """Queries for the reports of files to this plan, and of files to others, as `tallying` takes them."""
    codes = ", ".join(code_columns(plan))
    form = f"WHEN octet_length(id) = {ID_BYTES} THEN {SOUND} ELSE {INVALID} END"
    digest = f"WHEN plan IS NULL OR plan <> {text(plan.digest)} THEN {WRONG_PLAN}"
    nulls = ", ".join(f"NULL::BIGINT AS {code}" for code in code_columns(plan))
    kinds = (
        ("*", f"CASE {form}", files.own),
        ("*", f"CASE {digest} {form}", files.stating),
        (f"NULL::BLOB AS id, {nulls}", str(WRONG_PLAN), files.other),
    )
    return [
        f"SELECT id, {state} AS state, {codes} FROM (SELECT {columns} FROM {_files(own)})"
        for columns, state, own in kinds
        if own
    ]


def many_rows(connection: duckdb.DuckDBPyConnection, paths: Sequence[Path]) -> int:
    """How many rows Parquet files have, by what they say of themselves."""
    if not paths:
        return 0
    ((many,),) = connection.execute(f"SELECT sum(num_rows) FROM parquet_file_metadata({_list(paths)})").fetchall()
    return int(many)


def unreadable(connection: duckdb.DuckDBPyConnection, paths: Iterable[Path], otherwise: str) -> DocumentError:
    """Which of several Parquet files cannot be read, or what else may be wrong."""
    for path in paths:
        try:
            connection.execute(f"SELECT bit_xor(hash(COLUMNS(*))) FROM {_files([path])}")
        except duckdb.Error:
            there = "it may be cut short or of another kind" if path.exists() else "there is no such file"
            return DocumentError(f"{path} cannot be read as Parquet; {there}")
    return DocumentError(otherwise)


def _stated_plans(connection: duckdb.DuckDBPyConnection, paths: Sequence[Path]) -> dict[str, str]:
    """The plan that each file answers by its metadata."""
    query = f"SELECT file_name, decode(value) FROM parquet_kv_metadata({_list(paths)}) WHERE decode(key) = 'plan'"
    return dict(connection.execute(query).fetchall())


def _columns(connection: duckdb.DuckDBPyConnection, paths: Sequence[Path]) -> dict[Path, Kinds]:
    """The names and types of each file's columns."""
    found: dict[Path, list[tuple[str, str]]] = {path: [] for path in paths}
    if paths:
        names = "SELECT file_name, name, duckdb_type"
        query = f"{names} FROM parquet_schema({_list(paths)}) WHERE num_children IS NULL ORDER BY file_name, column_id"
        for file, column, kind in connection.execute(query).fetchall():
            found[Path(file)].append((column, kind))
    return {path: tuple(kinds) for path, kinds in found.items()}


def _check_columns(plan: Plan, path: Path, own: Mapping[str, str], *, stating: bool) -> None:
    """Refuse a file that holds no reports to the plan."""
    codes = code_columns(plan)
    needed = ["id", *codes, *(["plan"] if stating else [])]
    missing = [column for column in needed if column not in own]
    if missing == ["plan"]:
        raise ReportError(f"{path} does not say which plan its reports answer; it needs a column 'plan'")
    if missing:
        raise ReportError(f"{path} has no column {quoted(missing)}; reports to this plan have id, {_span(codes)}")
    extra = [column for column in own if column not in needed and column != "plan"]
    if extra:
        raise ReportError(f"{path} has a column {quoted(extra)} more than reports to this plan: id, {_span(codes)}")
    wrong = [column for column in codes if own[column] not in _INTEGERS]
    if wrong or own["id"] != "BLOB":
        raise ReportError(f"{path}: ids must be 16 bytes and codes integers, {quoted(wrong or ['id'])} is not")
    if stating and own["plan"] != "VARCHAR":
        raise ReportError(f"{path}: the column 'plan' must be text: the plan's digest")


def _span(codes: Sequence[str]) -> str:
    return codes[0] if len(codes) == 1 else f"{codes[0]} … {codes[-1]}"


def _list(paths: Sequence[Path]) -> str:
    return f"[{', '.join(map(text, paths))}]"


def _files(paths: Sequence[Path]) -> str:
    """Parquet files as a table in SQL, each with the columns that it holds itself and no others."""
    return f"read_parquet({_list(paths)}, union_by_name = true, hive_partitioning = false)"
