"""Reports in NDJSON and CSV, parsed by DuckDB into one table of ids, states and codes (see `tallying`)."""

import csv
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import duckdb

from privtally.documents.plan import Plan
from privtally.errors import DocumentError, ReportError
from privtally.files import missing
from privtally.tables import arrow, csv_engine, zstd
from privtally.tables.database import text
from privtally.tables.faults import quoted
from privtally.tables.paths import Format, Packing, format_of, is_plain
from privtally.tables.report_lines import Lines, canonical_copy, gzip_lines, plain_lines
from privtally.tables.report_output import code_columns
from privtally.tables.tallying import INVALID, SOUND, WRONG_PLAN
from privtally.tables.temporary import temporary_room

_UNUSUAL = 3
"""The state of a line that is none of ours as it stands, and may still hold a report."""

_MOST_ROW_BYTES = 1 << 20
"""No row of CSV is longer; the engine's own bound is twice that."""

_HEAD = '{"format":"privtally.report/1","plan":"'
_CODE = "(null|-1|0|[1-9][0-9]{0,9})"
_NUMBER = "(0|[1-9][0-9]{0,9})"
_ID = "[0-9a-f]{32}"
_OURS = f'{_ID}","codes":\\[{_CODE}(,{_CODE})*\\]\\}}'
_OTHERS = f'[0-9a-f]{{64}}","id":"{_ID}","codes":\\[({_CODE}(,{_CODE})*)?\\]\\}}'


class TextReports:
    """The table of parsed reports; `source` is the query for them."""

    source = "SELECT * FROM parsed"

    def __init__(self, connection: duckdb.DuckDBPyConnection, plan: Plan) -> None:
        self._connection, self._plan, self._codes = connection, plan, code_columns(plan)
        columns = ", ".join(f"{column} BIGINT" for column in self._codes)
        connection.execute(f"CREATE OR REPLACE TEMP TABLE parsed (id BLOB, state INTEGER, {columns})")

    def add_rows(self, path: Path) -> None:
        """Parse a CSV file; its header says what stands where. A pipe, and what the engine refuses, is copied first."""
        packing = _packing(path)
        if is_plain(path) and self._add_rows(path, path, packing):
            return
        with _temporary() as copy:
            self._copy_rows(path, packing, copy)
            if not self._add_rows(path, Path(copy.name), "none"):
                raise _unreadable(path, "CSV of reports")

    def _add_rows(self, path: Path, readable: Path, packing: Packing) -> bool:
        """Parse the rows that can be read under another name; False, and nothing is kept, if the engine cannot."""
        try:
            line = csv_engine.first_line(self._connection, readable, packing)
            if line is None:
                raise ReportError(f"{path}: the file has no reports in it; leave it out")
            place = {name: f"c{number}" for number, name in enumerate(self._header(path, line))}
            self._connection.execute(
                f"INSERT INTO parsed {self._select_rows(place)} FROM {csv_engine.cells(readable, packing, len(place))}"
            )
        except duckdb.Error:
            return False
        return True

    def _copy_rows(self, path: Path, packing: Packing, output: IO[bytes]) -> None:
        """Write the lines of a CSV file; one that is too long becomes a row without an id, which is no report."""
        lines = iter(self._lines(path, packing, _MOST_ROW_BYTES))
        header = next(lines, b"")
        if header is None:
            raise _unreadable(path, "CSV of reports")
        names = header.decode(errors="replace").removeprefix("\ufeff")
        row = [self._plan.digest if name == "plan" else "" for name in self._header(path, names)] if names else []
        with temporary_room():
            output.write(header)
            output.writelines(f"{','.join(row)}\n".encode() if line is None else line for line in lines)
            output.flush()

    def add_lines(self, path: Path) -> None:
        """Parse the lines that are written as we write them; if there are others, all are first written again so."""
        packing = _packing(path)
        many = self._parse(path, packing, _UNUSUAL) if is_plain(path) else None
        if many is None:
            with _temporary() as copy:
                canonical_copy(self._lines(path, packing, csv_engine.MOST_LINE_BYTES), copy)
                many = self._parse(Path(copy.name), "none", INVALID)
        if many is None:
            raise DocumentError(f"{path} cannot be parsed; is there room for temporary files (TMPDIR)?")
        if not many:
            raise ReportError(f"{path}: the file has no reports in it; leave it out")

    def _parse(self, path: Path, packing: Packing, otherwise: int) -> int | None:
        """Parse a file's lines, and say how many; None, and nothing is kept, if some are not as we write them."""
        longest = 256 + 11 * len(self._codes)  # of lines as we write them; the engine's memory grows with it
        source = csv_engine.lines(path, packing, longest)
        connection = self._connection.begin()
        try:
            ((many,),) = connection.execute(f"INSERT INTO parsed {self._select_lines(source, otherwise)}").fetchall()
            unusual = connection.execute(f"SELECT count(*) FROM parsed WHERE state = {_UNUSUAL}").fetchall()
        except duckdb.Error:
            connection.rollback()
            return None
        if unusual[0][0]:
            connection.rollback()
            return None
        connection.commit()
        return int(many)

    def _lines(self, path: Path, packing: Packing, most: int) -> Lines:
        match packing:
            case "none":
                return plain_lines(path, most)
            case "gzip":
                return gzip_lines(path, most)
            case "zstd":
                return self._engine_lines(path, most)

    def _engine_lines(self, path: Path, most: int) -> Iterator[bytes | None]:
        try:
            for batch in arrow.batches(self._connection.sql(f"FROM {csv_engine.lines(path, 'zstd', tolerant=True)}")):
                for line in arrow.texts(batch[0]):
                    yield f"{line or ''}\n".encode() if len(line or "") < most else None
            yield from [None] * csv_engine.left_out(self._connection)
        except duckdb.Error:
            raise _unreadable(path, "lines of at most 256 MiB compressed by zstd") from None

    def _header(self, path: Path, line: str) -> list[str]:
        needed = ["plan", "id", *self._codes]
        header = next(csv.reader([line]))
        missing = [column for column in needed if column not in header]
        if missing:
            raise ReportError(f"{path} has no column {quoted(missing)}; reports have plan, id, q1, q2 …")
        extra = [column for number, column in enumerate(header) if column not in needed or column in header[:number]]
        if extra:
            raise ReportError(f"{path} has a column {quoted(extra)} more than reports to this plan")
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
        own, width = len(head) + 1, len(self._codes)
        ours = f"starts_with(line, {text(head)}) AND regexp_full_match(substring(line, {own}), {text(_OURS)})"
        rest = f"substring(line, {len(_HEAD) + 1})"
        another = f"starts_with(line, {text(_HEAD)}) AND regexp_full_match({rest}, {text(_OTHERS)})"
        state = f"CASE WHEN {ours} THEN {SOUND} WHEN {another} THEN {WRONG_PLAN} ELSE {otherwise} END"
        listed = f"CAST(substring(line, {own + 42}, length(line) - {own + 42}) AS BIGINT[])"
        codes = [f"codes[{place}] AS {name}" for place, name in enumerate(self._codes, start=1)]
        return f"""
            SELECT id, CASE WHEN len(codes) <> {width} THEN {INVALID} ELSE state END AS state, {", ".join(codes)}
            FROM (
                SELECT state,
                       CASE WHEN state = {SOUND} THEN unhex(substring(line, {own}, 32)) END AS id,
                       CASE WHEN state = {SOUND} THEN {listed} END AS codes
                FROM (SELECT line, {state} AS state FROM {source} WHERE line <> '')
            )"""


def _packing(path: Path) -> Packing:
    """How a file is compressed; refused if it is cut short and the engine would not notice."""
    packing = (format_of(path) or Format("ndjson")).packing
    if packing == "zstd":
        zstd.check_whole(path)
    return packing


@contextmanager
def _temporary() -> Iterator[IO[bytes]]:
    """An empty file for a copy of reports."""
    with temporary_room():
        file = tempfile.NamedTemporaryFile(prefix="privtally-")  # noqa: SIM115  # closed below
    with file:
        yield file


def _unreadable(path: Path, kind: str) -> DocumentError:
    if not path.exists():
        return DocumentError(missing(path))
    return DocumentError(f"{path} cannot be read as {kind}; it may be cut short or of another kind")
