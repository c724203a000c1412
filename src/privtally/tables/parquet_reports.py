"""Files of reports in Parquet: what they say of themselves, and the reports of those that answer a plan."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import duckdb

from privtally.documents.plan import Plan
from privtally.documents.report import ID_BYTES
from privtally.errors import DocumentError, ReportError
from privtally.files import missing
from privtally.tables.database import files, literal, text
from privtally.tables.faults import quoted
from privtally.tables.report_output import code_columns
from privtally.tables.tallying import INVALID, SOUND, WRONG_PLAN

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
_TEXTS = ("VARCHAR", "BLOB")

Columns = dict[str, str | None]
"""The columns of a file by name, with their types; None where a column is a table of its own."""


def parquet_sources(connection: duckdb.DuckDBPyConnection, plan: Plan, paths: Sequence[Path]) -> list[str]:
    """Queries for the reports of files to this plan, and of files to others, as `tallying` takes them."""
    if not paths:
        return []
    stated = stated_plans(connection, paths)
    own = [path for path in paths if stated.get(path) == plan.digest]
    silent = [path for path in paths if path not in stated]
    others = [path for path in paths if stated.get(path, plan.digest) != plan.digest]
    columns = _columns(connection, [*own, *silent])
    for path, found in columns.items():
        _check_columns(plan, path, found, needs_plan=path not in stated)
    large = {name for found in columns.values() for name, kind in found.items() if kind == "UBIGINT"}
    codes = ", ".join(_bounded(code) if code in large else code for code in code_columns(plan))
    form = f"WHEN octet_length(id) = {ID_BYTES} THEN {SOUND} ELSE {INVALID} END"
    digest = f"WHEN plan IS NULL OR CAST(plan AS VARCHAR) <> {text(plan.digest)} THEN {WRONG_PLAN}"
    nulls = ", ".join(f"NULL::BIGINT AS {code}" for code in code_columns(plan))
    fixed = _with_fixed_ids(connection, own)
    kinds = (
        (f"id, {SOUND} AS state, {codes}", [path for path in own if path in fixed]),
        (f"id, CASE {form} AS state, {codes}", [path for path in own if path not in fixed]),
        (f"id, CASE {digest} {form} AS state, {codes}", silent),
        (f"NULL::BLOB AS id, {WRONG_PLAN} AS state, {nulls}", others),
    )
    return [f"SELECT * FROM (SELECT {select} FROM {_files(some)})" for select, some in kinds if some]


def _bounded(code: str) -> str:
    """Codes that may be too large for the engine's own integers, which no plan has."""
    return f"CAST(CASE WHEN {code} > {1 << 32} THEN -1 ELSE {code} END AS BIGINT) AS {code}"


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
            if not path.exists():
                return DocumentError(missing(path))
            return DocumentError(f"{path} cannot be read as Parquet; it may be cut short or of another kind")
    return DocumentError(otherwise)


def stated_plans(connection: duckdb.DuckDBPyConnection, paths: Sequence[Path]) -> dict[Path, str]:
    """The plan that each file answers by its metadata."""
    if not paths:
        return {}
    query = f"SELECT file_name, decode(value) FROM parquet_kv_metadata({files(paths)}) WHERE decode(key) = 'plan'"
    named = {literal(path): path for path in paths}
    return {named[file]: plan for file, plan in connection.execute(query).fetchall()}


def _columns(connection: duckdb.DuckDBPyConnection, paths: Sequence[Path]) -> dict[Path, Columns]:
    found: dict[Path, Columns] = {}
    if not paths:
        return found
    named = {literal(path): path for path in paths}
    query = f"SELECT file_name, name, duckdb_type FROM parquet_schema({files(paths)})"
    for file, column, kind in connection.execute(query).fetchall():
        if named[file] not in found:
            found[named[file]] = {}  # the first row is the file itself
        else:
            found[named[file]].setdefault(column, kind)
    return found


def _with_fixed_ids(connection: duckdb.DuckDBPyConnection, paths: Sequence[Path]) -> set[Path]:
    """The files whose type of ids is 16 bytes: there is no other id in them, and none needs to be looked at."""
    if not paths:
        return set()
    named = {literal(path): path for path in paths}
    query = f"""
        SELECT file_name FROM parquet_schema({files(paths)})
        WHERE name = 'id' AND type = 'FIXED_LEN_BYTE_ARRAY' AND CAST(type_length AS VARCHAR) = '{ID_BYTES}'
              AND repetition_type = 'REQUIRED'"""
    return {named[file] for (file,) in connection.execute(query).fetchall()}


def _check_columns(plan: Plan, path: Path, own: Columns, *, needs_plan: bool) -> None:
    """Refuse a file that is no reports to the plan."""
    codes = code_columns(plan)
    needed = ["id", *codes] + (["plan"] if needs_plan else [])
    missing = [column for column in needed if column not in own]
    if missing == ["plan"]:
        raise ReportError(f"{path} does not say which plan its reports answer; it needs a column 'plan'")
    if missing:
        raise ReportError(f"{path} has no column {quoted(missing)}; reports to this plan have id, {_span(codes)}")
    extra = [column for column in own if column not in needed and column != "plan"]
    if extra:
        raise ReportError(f"{path} has a column {quoted(extra)} more than reports to this plan: id, {_span(codes)}")
    kinds = {"id": ("BLOB",), "plan": _TEXTS}
    wrong = [column for column in needed if own[column] not in kinds.get(column, _INTEGERS)]
    if wrong:
        raise ReportError(f"{path}: ids must be 16 bytes and codes integers, {quoted(wrong)} is not")


def _span(codes: Sequence[str]) -> str:
    return codes[0] if len(codes) == 1 else f"{codes[0]} … {codes[-1]}"


def _files(paths: Sequence[Path]) -> str:
    return f"read_parquet({files(paths)}, union_by_name = true, hive_partitioning = false)"
