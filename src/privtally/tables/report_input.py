"""Reports in files of any kind, read by DuckDB as a table of ids, states and codes (see `tallying`)."""

import codecs
import csv
import gzip
import io
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import duckdb
import msgspec
import nanoarrow as na

from privtally.documents.plan import Plan
from privtally.documents.report import ID_BYTES, load_report
from privtally.errors import DocumentError, ReportError
from privtally.files import Advance, open_binary, silently, unreadable
from privtally.tables import answers, database
from privtally.tables.database import (
    Format,
    Packing,
    files,
    format_of,
    is_plain,
    literal,
    quoted,
    temporary_room,
    text,
    unreadable_as,
)
from privtally.tables.tallying import INVALID, SOUND, WRONG_PLAN, check_columns, code_columns

_LEAST, _MOST = -1, 1 << 32
"""Codes beyond are written as these, which no plan has either."""

_MOST_PASSED_BYTES = 1 << 30
"""How much of one line is passed over before the file is refused: a device may never end."""

Lines = Iterable[bytes | None]
"""The lines of a file; None stands for a line that is too long to be kept."""


def canonical_copy(lines: Lines, output: IO[bytes]) -> None:
    """Write the reports of a file, each as `Report.dump` does; a line that holds none becomes `invalid`."""
    with temporary_room():
        for number, line in enumerate(lines, start=1):
            if line is None:
                output.write(b"invalid\n")
            elif line.strip():
                output.write(_canonical(line.removeprefix(codecs.BOM_UTF8) if number == 1 else line) + b"\n")
        output.flush()


def text_lines(path: Path, packing: Packing, most: int) -> Iterator[bytes | None]:
    """The lines of a file, plain or compressed, a pipe or standard input; a line may have `most` bytes."""
    try:
        with open_binary(path) if packing == "none" else io.BufferedReader(gzip.open(path, "rb")) as file:
            yield from _lines(file, path, most)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise unreadable_as(path, "lines compressed by gzip") from None
    except OSError as fault:
        raise DocumentError(unreadable(path, fault)) from None


def _lines(file: IO[bytes], path: Path, most: int) -> Iterator[bytes | None]:
    for number, line in enumerate(iter(lambda: file.readline(most), b""), start=1):
        piece, passed = line, len(line)
        while len(piece) == most and not piece.endswith(b"\n"):
            piece = file.readline(most)
            passed += len(piece)
            if passed > _MOST_PASSED_BYTES:
                long = f"the line is longer than {_MOST_PASSED_BYTES >> 20:,} MiB"
                raise ReportError(f"{path}, line {number}: {long}; this is no file of reports")
        yield line if passed <= most else None


def _canonical(line: bytes) -> bytes:
    try:
        report = load_report(line)
    except ReportError:
        return b"invalid"
    codes = tuple(None if code is None else min(max(code, _LEAST), _MOST) for code in report.codes)
    return msgspec.structs.replace(report, codes=codes).dump()


_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
_TEXTS = ("VARCHAR", "BLOB")

Columns = dict[str, str | None]
"""The columns of a file by name, with their types; None where a column is a table of its own."""

Part = tuple[str, list[Path]]
"""What to select, and the files of which it is selected."""


def parquet_parts(connection: duckdb.DuckDBPyConnection, plan: Plan, paths: Sequence[Path]) -> list[Part]:
    """What to select of files, as `tallying` takes it, with the files of the same columns that it is selected of."""
    if not paths:
        return []
    stated, parts = _stated_plans(connection, paths), dict[tuple[str, Any], list[Path]]()
    for path, columns in _columns(connection, paths).items():
        select = _selected(plan, path, columns, stated.get(path))
        parts.setdefault((select, tuple(columns.items())), []).append(path)
    return [(select, alike) for (select, _), alike in parts.items()]


def _selected(plan: Plan, path: Path, columns: Columns, stated: str | None) -> str:
    """What to select of a file that states its plan, or has a column that does."""
    if stated not in (None, plan.digest):
        nulls = ", ".join(f"CAST(NULL AS BIGINT) AS {code}" for code in code_columns(plan))
        return f"CAST(NULL AS BINARY) AS id, {WRONG_PLAN} AS state, {nulls}"
    _check_parquet(plan, path, columns, plan_known=stated is not None)
    digest = f"WHEN plan IS NULL OR CAST(plan AS STRING) <> {text(plan.digest)} THEN {WRONG_PLAN}"
    form = f"WHEN octet_length(id) = {ID_BYTES} THEN {SOUND} ELSE {INVALID} END"
    codes = ", ".join(_bounded(code) if columns[code] == "UBIGINT" else code for code in code_columns(plan))
    return f"id, CASE {digest if stated is None else ''} {form} AS state, {codes}"


def _bounded(code: str) -> str:
    """Codes that may be too large for the engine's own integers, which no plan has."""
    return f"CAST(CASE WHEN {code} > {1 << 32} THEN -1 ELSE {code} END AS BIGINT) AS {code}"


def unreadable_parquet(
    connection: duckdb.DuckDBPyConnection,
    paths: Iterable[Path],
    otherwise: str = "the reports cannot be read; is there room for temporary files (TMPDIR)?",
) -> DocumentError:
    """Which of several Parquet files cannot be read."""
    for path in paths:
        try:
            connection.execute(f"SELECT bit_xor(hash(COLUMNS(*))) FROM {_files([path])}")
        except duckdb.Error:
            return unreadable_as(path, "Parquet")
    return DocumentError(otherwise)


def _stated_plans(connection: duckdb.DuckDBPyConnection, paths: Sequence[Path]) -> dict[Path, str]:
    """The plan that each file answers by its metadata."""
    query = f"SELECT file_name, decode(value) FROM parquet_kv_metadata({files(paths)}) WHERE decode(key) = 'plan'"
    named = {literal(path): path for path in paths}
    return {named[file]: plan for file, plan in connection.execute(query).fetchall()}


def _columns(connection: duckdb.DuckDBPyConnection, paths: Sequence[Path]) -> dict[Path, Columns]:
    columns: dict[Path, Columns] = {}
    named = {literal(path): path for path in paths}
    query = f"SELECT file_name, name, duckdb_type FROM parquet_schema({files(paths)})"
    for file, column, kind in connection.execute(query).fetchall():
        if named[file] not in columns:
            columns[named[file]] = {}  # the first row is the file itself
        else:
            columns[named[file]].setdefault(column, kind)
    return columns


def _check_parquet(plan: Plan, path: Path, columns: Columns, *, plan_known: bool) -> None:
    """Refuse a file that is no reports to the plan."""
    check_columns(path, plan, [*columns], plan_known=plan_known)
    kinds = {"id": ("BLOB",), "plan": _TEXTS}
    stated = [column for column in columns if column != "plan" or not plan_known]
    if wrong := [column for column in stated if columns[column] not in kinds.get(column, _INTEGERS)]:
        raise ReportError(f"{path}: ids must be 16 bytes and codes integers, {quoted(wrong)} is not")


def _files(paths: Sequence[Path]) -> str:
    return f"read_parquet({files(paths)}, hive_partitioning = false)"


_UNUSUAL = -1
"""The state of a line that is none of ours as it stands, and may still hold a report."""

_MOST_ROW_BYTES = 1 << 20
"""No row of CSV is longer; the engine's own bound is twice that."""

_HEAD = '{"format":"privtally.report/1","plan":"'
_CODE = "(null|-1|0|[1-9][0-9]{0,9})"
_NUMBER = "(0|[1-9][0-9]{0,9})"
_ID = "[0-9a-f]{32}"
_OURS = f'{_ID}","codes":\\[{_CODE}(,{_CODE})*\\]\\}}'
_OTHERS = f'[0-9a-f]{{64}}","id":"{_ID}","codes":\\[({_CODE}(,{_CODE})*)?\\]\\}}'


def parsed_text(connection: duckdb.DuckDBPyConnection, plan: Plan, paths: Sequence[Path]) -> list[str]:
    """The query for the reports in NDJSON and CSV, once they are parsed; none where there are no such files."""
    if not paths:
        return []
    parsed = _TextReports(connection, plan)
    for path in paths:
        parsed.add_rows(path) if format_of_reports(path).kind == "csv" else parsed.add_lines(path)
    return ["SELECT * FROM parsed"]


class _TextReports:
    """The table of parsed reports."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, plan: Plan) -> None:
        self._connection, self._plan, self._codes = connection, plan, code_columns(plan)
        columns = ", ".join(f"{column} BIGINT" for column in self._codes)
        connection.execute(f"CREATE OR REPLACE TEMP TABLE parsed (id BLOB, state INTEGER, {columns})")

    def add_rows(self, path: Path) -> None:
        """Parse a CSV file; its header says what stands where. A pipe, and what the engine refuses, is copied first."""
        packing = format_of_reports(path).packing
        if is_plain(path) and self._add_rows(path, path, packing):
            return
        with _temporary() as copy:
            self._copy_rows(path, packing, copy)
            if not self._add_rows(path, Path(copy.name), "none"):
                raise unreadable_as(path, "CSV of reports")

    def _add_rows(self, path: Path, readable: Path, packing: Packing) -> bool:
        """Parse the rows that can be read under another name; False, and nothing is kept, if the engine cannot."""
        try:
            line = answers.first_line(self._connection, readable, packing)
            if line is None:
                raise ReportError(f"{path}: the file has no reports in it; leave it out")
            place = {name: f"c{number}" for number, name in enumerate(self._header(path, line))}
            self._connection.execute(
                f"INSERT INTO parsed {self._select_rows(place)} FROM {answers.cells(readable, packing, len(place))}"
            )
        except duckdb.Error:
            return False
        return True

    def _copy_rows(self, path: Path, packing: Packing, output: IO[bytes]) -> None:
        """Write the lines of a CSV file; one that is too long becomes a row without an id, which is no report."""
        lines = iter(text_lines(path, packing, _MOST_ROW_BYTES))
        header = next(lines, b"")
        if header is None:
            raise unreadable_as(path, "CSV of reports")
        names = header.decode(errors="replace").removeprefix("\ufeff")
        row = [self._plan.digest if name == "plan" else "" for name in self._header(path, names)] if names else []
        with temporary_room():
            output.write(header)
            output.writelines(f"{','.join(row)}\n".encode() if line is None else line for line in lines)
            output.flush()

    def add_lines(self, path: Path) -> None:
        """Parse the lines that are written as we write them; if there are others, all are first written again so."""
        packing = format_of_reports(path).packing
        rows = self._parse(path, packing, _UNUSUAL) if is_plain(path) else None
        if rows is None:
            with _temporary() as copy:
                canonical_copy(text_lines(path, packing, answers.MOST_ENGINE_LINE_BYTES), copy)
                rows = self._parse(Path(copy.name), "none", INVALID)
        if rows is None:
            raise DocumentError(f"{path} cannot be parsed; is there room for temporary files (TMPDIR)?")
        if not rows:
            raise ReportError(f"{path}: the file has no reports in it; leave it out")

    def _parse(self, path: Path, packing: Packing, otherwise: int) -> int | None:
        """Parse a file's lines, and say how many; None, and nothing is kept, if some are not as we write them."""
        longest = 256 + 11 * len(self._codes)  # of lines as we write them; the engine's memory grows with it
        source = answers.lines(path, packing, longest)
        connection = self._connection.begin()
        try:
            ((rows,),) = connection.execute(f"INSERT INTO parsed {self._select_lines(source, otherwise)}").fetchall()
            ((unusual,),) = connection.execute(f"SELECT count(*) FROM parsed WHERE state = {_UNUSUAL}").fetchall()
        except duckdb.Error:
            unusual = True
        if unusual:
            connection.rollback()
            return None
        connection.commit()
        return int(rows)

    def _header(self, path: Path, line: str) -> list[str]:
        header = next(csv.reader([line]))
        check_columns(path, self._plan, header, plan_known=False)
        return header

    def _select_rows(self, place: dict[str, str]) -> str:
        codes = [f"nullif({place[column]}, '')" for column in self._codes]
        spelled = [f"coalesce(regexp_full_match({code}, {text(_NUMBER)}), true)" for code in codes]
        formed = " AND ".join([f"coalesce(regexp_full_match({place['id']}, {text(_ID)}), false)", *spelled])
        other = f"coalesce({place['plan']}, '') <> {text(self._plan.digest)}"
        state = f"CASE WHEN {other} THEN {WRONG_PLAN} WHEN {formed} THEN {SOUND} ELSE {INVALID} END"
        numbers = ", ".join(f"TRY_CAST({code} AS BIGINT)" for code in codes)
        return f"SELECT CASE WHEN {formed} THEN unhex({place['id']}) END, {state}, {numbers}"

    def _select_lines(self, source: str, otherwise: int) -> str:
        """A file's reports; lines that are not as we write them have a state of their own."""
        head = f'{_HEAD}{self._plan.digest}","id":"'
        start, width = len(head) + 1, len(self._codes)
        ours = f"starts_with(line, {text(head)}) AND regexp_full_match(substring(line, {start}), {text(_OURS)})"
        rest = f"substring(line, {len(_HEAD) + 1})"
        another = f"starts_with(line, {text(_HEAD)}) AND regexp_full_match({rest}, {text(_OTHERS)})"
        state = f"CASE WHEN {ours} THEN {SOUND} WHEN {another} THEN {WRONG_PLAN} ELSE {otherwise} END"
        listed = f"CAST(substring(line, {start + 42}, length(line) - {start + 42}) AS BIGINT[])"
        codes = [f"codes[{place}] AS {name}" for place, name in enumerate(self._codes, start=1)]
        return f"""
            SELECT id, CASE WHEN len(codes) <> {width} THEN {INVALID} ELSE state END AS state, {", ".join(codes)}
            FROM (
                SELECT state,
                       CASE WHEN state = {SOUND} THEN unhex(substring(line, {start}, 32)) END AS id,
                       CASE WHEN state = {SOUND} THEN {listed} END AS codes
                FROM (SELECT line, {state} AS state FROM {source} WHERE line <> '')
            )"""


def format_of_reports(path: Path) -> Format:
    """What a file of reports holds; NDJSON where its name states no format."""
    return format_of(path) or Format("ndjson")


@contextmanager
def _temporary() -> Iterator[IO[bytes]]:
    """An empty file for a copy of reports."""
    with temporary_room():
        file = tempfile.NamedTemporaryFile(prefix="privtally-")  # noqa: SIM115  # closed below
    with file:
        yield file


ROWS_AT_ONCE = 1_250_000
"""How many reports' ids are compared at once, which takes some 300 MB."""


class DuckReports:
    """Reports in files, as `tally_table` takes them: in pieces by the range of their ids, or in one."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        plan: Plan,
        paths: Sequence[Path],
        *,
        in_pieces: bool = True,
        advance: Advance = silently,
    ) -> None:
        self._connection, self._plan, self._in_pieces, self._advance = connection, plan, in_pieces, advance
        self._parquet = [path for path in paths if format_of_reports(path).kind == "parquet"]
        self._text = [path for path in paths if format_of_reports(path).kind != "parquet"]

    def pieces(self) -> Iterator[str]:
        """The reports, read again for every piece."""
        sources, rows = self._sources()
        pieces = max(1, self._number(rows)) if self._in_pieces else 1
        for piece in range(pieces):
            yield united(sources, piece, pieces)
            self._advance(rows * (piece + 1) // pieces)

    def _sources(self) -> tuple[list[str], int]:
        """Queries for the reports, and how many rows they give; those in text are parsed once into a table."""
        with self._readable():
            parts = parquet_parts(self._connection, self._plan, self._parquet)
        sources = parsed_text(self._connection, self._plan, self._text)
        sources += [f"SELECT * FROM (SELECT {select} FROM {_files(paths)})" for select, paths in parts]
        with self._readable():
            return sources, sum(rows_of(self._connection, source) for source in sources)

    def _number(self, rows: int) -> int:
        """How many pieces keep the engine within its memory."""
        return -(-rows // ROWS_AT_ONCE)

    def read(self, query: str) -> Iterator[list[na.Array]]:
        """Batches of what was computed."""
        with self._readable():
            yield from database.batches(self._connection.sql(query))

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Say which file cannot be read; the engine's message would quote what is in it."""
        try:
            yield
        except duckdb.Error:
            raise unreadable_parquet(self._connection, self._parquet) from None


def rows_of(connection: duckdb.DuckDBPyConnection, source: str) -> int:
    """How many rows a query gives."""
    ((rows,),) = connection.execute(f"SELECT count(*) FROM ({source})").fetchall()
    return int(rows)


def united(sources: Sequence[str], piece: int, pieces: int) -> str:
    """The rows with an id in one of so many ranges of equal size; rows without one are in the first."""
    least = f"id >= {_start(piece, pieces)}" if piece else "true"
    most = f"id < {_start(piece + 1, pieces)}" if piece + 1 < pieces else "true"
    within = f"({least} AND {most}{'' if piece else ' OR id IS NULL'})"
    return " UNION ALL ".join(f"{source} WHERE {within}" for source in sources)


def _start(piece: int, pieces: int) -> str:
    return f"unhex('{piece * (1 << 32) // pieces:08x}')"
