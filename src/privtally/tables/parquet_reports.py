"""Files of reports in Parquet: what they say of themselves, and the reports of those that answer a plan."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import duckdb

from privtally.documents.plan import Plan
from privtally.documents.report import ID_BYTES
from privtally.errors import DocumentError, ReportError
from privtally.tables.database import text
from privtally.tables.faults import quoted
from privtally.tables.report_output import code_columns
from privtally.tables.tallying import INVALID, SOUND, WRONG_PLAN

_BYTES, _INTEGERS = ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"), ("INT32", "INT64")


def parquet_sources(connection: duckdb.DuckDBPyConnection, plan: Plan, paths: Sequence[Path]) -> list[str]:
    """Queries for the reports of files to this plan, and of files to others, as `tallying` takes them."""
    if not paths:
        return []
    stated = _stated_plans(connection, paths)
    others = [path for path in paths if stated.get(str(path), plan.digest) != plan.digest]
    _check_columns(connection, plan, [path for path in paths if path not in others], stated)
    codes = ", ".join(code_columns(plan))
    form = f"WHEN octet_length(id) = {ID_BYTES} THEN {SOUND} ELSE {INVALID} END"
    digest = f"WHEN plan IS NULL OR plan <> {text(plan.digest)} THEN {WRONG_PLAN}"
    nulls = ", ".join(f"NULL::BIGINT AS {code}" for code in code_columns(plan))
    kinds = (
        ("*", f"CASE {form}", [path for path in paths if stated.get(str(path)) == plan.digest]),
        ("*", f"CASE {digest} {form}", [path for path in paths if str(path) not in stated]),
        (f"NULL::BLOB AS id, {nulls}", str(WRONG_PLAN), others),
    )
    return [
        f"SELECT id, {state} AS state, {codes} FROM (SELECT {columns} FROM {_files(own)})"
        for columns, state, own in kinds
        if own
    ]


def unreadable(
    connection: duckdb.DuckDBPyConnection,
    paths: Iterable[Path],
    otherwise: str = "the reports cannot be read; is there room for temporary files (TMPDIR)?",
) -> DocumentError:
    """Which of several Parquet files cannot be read."""
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


def _check_columns(
    connection: duckdb.DuckDBPyConnection, plan: Plan, paths: Sequence[Path], stated: dict[str, str]
) -> None:
    """Refuse files that are no reports to the plan."""
    if not paths:
        return
    query = f"SELECT file_name, name, type FROM parquet_schema({_list(paths)}) WHERE num_children IS NULL"
    kinds: dict[str, dict[str, str]] = {str(path): {} for path in paths}
    for file, column, kind in connection.execute(query).fetchall():
        kinds[file][column] = kind
    codes = code_columns(plan)
    for path, own in kinds.items():
        needed = ["id", *codes] + ([] if path in stated else ["plan"])
        missing = [column for column in needed if column not in own]
        if missing == ["plan"]:
            raise ReportError(f"{path} does not say which plan its reports answer; it needs a column 'plan'")
        if missing:
            raise ReportError(f"{path} has no column {quoted(missing)}; reports to this plan have id, {_span(codes)}")
        extra = [column for column in own if column not in needed and column != "plan"]
        if extra:
            raise ReportError(f"{path} has a column {quoted(extra)} more than reports to this plan: id, {_span(codes)}")
        wrong = [column for column in codes if own[column] not in _INTEGERS]
        if wrong or own["id"] not in _BYTES:
            raise ReportError(f"{path}: ids must be 16 bytes and codes integers, {quoted(wrong or ['id'])} is not")


def _span(codes: Sequence[str]) -> str:
    return codes[0] if len(codes) == 1 else f"{codes[0]} … {codes[-1]}"


def _list(paths: Sequence[Path]) -> str:
    return f"[{', '.join(map(text, paths))}]"


def _files(paths: Sequence[Path]) -> str:
    return f"read_parquet({_list(paths)}, union_by_name = true)"
