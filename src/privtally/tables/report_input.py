"""Reports in files of any kind, read by DuckDB as a table of ids, states and codes (see `tallying`)."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import nanoarrow as na

from privtally.documents.plan import Plan
from privtally.errors import DocumentError, ReportError
from privtally.files import Advance, silently
from privtally.tables import arrow
from privtally.tables.database import text
from privtally.tables.faults import quoted
from privtally.tables.parquet_reports import parquet_sources, unreadable
from privtally.tables.paths import Format, Kind, Packing, format_of, is_plain
from privtally.tables.report_lines import canonical_copy
from privtally.tables.report_output import code_columns
from privtally.tables.tallying import INVALID, SOUND, WRONG_PLAN

ROWS_AT_ONCE = 1_250_000
"""How many reports' ids are compared at once, which takes some 300 MB."""

_UNUSUAL = 3
"""The state of a line that is none of ours as it stands, and may still hold a report."""

_HEAD = '{"format":"privtally.report/1","plan":"'
_CODE = "(null|0|[1-9][0-9]{0,9})"
_REST = f'[0-9a-f]{{32}}","codes":\\[{_CODE}(,{_CODE})*\\]\\}}'
_OTHER = f'[0-9a-f]{{64}}","id":"{_REST}'


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
        self._columns = code_columns(plan)
        self._paths: dict[Kind, list[Path]] = {"parquet": [], "csv": [], "ndjson": []}
        for path in paths:
            self._paths[(format_of(path) or Format("ndjson")).kind].append(path)

    def pieces(self) -> Iterator[duckdb.DuckDBPyRelation]:
        """The reports; those in text are parsed once, those in Parquet read again for every piece."""
        try:
            parquet = parquet_sources(self._connection, self._plan, self._paths["parquet"])
            sources = [*self._parsed(), *parquet]
            rows = sum(self._many(f"FROM ({source})") for source in sources)
            pieces = max(1, -(-rows // ROWS_AT_ONCE)) if self._in_pieces else 1
            for piece in range(pieces):
                within = id_range(piece, pieces)
                yield self._connection.sql(" UNION ALL ".join(f"{source} WHERE {within}" for source in sources))
                self._advance(rows * (piece + 1) // pieces)
        except duckdb.Error:  # its message would quote the file
            raise unreadable(self._connection, self._paths["parquet"]) from None

    def read(self, table: Any) -> Iterator[list[na.Array]]:
        """Batches of what was computed."""
        try:
            yield from arrow.batches(table)
        except duckdb.Error:  # its message would quote the file
            raise unreadable(self._connection, self._paths["parquet"]) from None

    def _many(self, of: str) -> int:
        ((many,),) = self._connection.execute(f"SELECT count(*) {of}").fetchall()
        return int(many)

    def _parsed(self) -> list[str]:
        """Reports in text, parsed once into a table."""
        if not self._paths["ndjson"] and not self._paths["csv"]:
            return []
        columns = ", ".join(f"{column} BIGINT" for column in self._columns)
        self._connection.execute(f"CREATE OR REPLACE TEMP TABLE parsed (id BLOB, state INTEGER, {columns})")
        for path in self._paths["csv"]:
            self._parse_rows(path)
        for path in self._paths["ndjson"]:
            self._parse_lines(path)
        return ["SELECT * FROM parsed"]

    def _parse_rows(self, path: Path) -> None:
        packing = (format_of(path) or Format("csv")).packing
        how = f"header = true, all_varchar = true, delim = ',', quote = '\"', compression = '{packing}'"
        try:
            table = self._connection.sql(f"FROM read_csv({text(path)}, {how})")
            missing = [column for column in ("plan", "id", *self._columns) if column not in table.columns]
            if missing:
                raise ReportError(f"{path} has no column {quoted(missing)}; reports have plan, id, q1, q2 …")
            codes = [f"TRY_CAST({column} AS BIGINT)" for column in self._columns]
            spelled = [f"coalesce(regexp_full_match({column}, '[0-9]{{1,9}}'), true)" for column in self._columns]
            sound = " AND ".join(["coalesce(regexp_full_match(id, '[0-9a-f]{32}'), false)", *spelled])
            state = f"CASE WHEN plan <> {text(self._plan.digest)} OR plan IS NULL THEN {WRONG_PLAN}"
            state += f" WHEN {sound} THEN {SOUND} ELSE {INVALID} END"
            name = f"CASE WHEN {sound} THEN unhex(id) END"
            self._connection.execute(
                f"INSERT INTO parsed SELECT {name}, {state}, {', '.join(codes)} FROM read_csv({text(path)}, {how})"
            )
        except duckdb.Error:
            raise DocumentError(
                f"{path} cannot be read as CSV of reports; it may be cut short or of another kind"
            ) from None

    def _parse_lines(self, path: Path) -> None:
        """Parse the lines that are written as we write them; if there are others, all are first written again so."""
        packing = (format_of(path) or Format("ndjson")).packing
        before = self._many("FROM parsed")
        if is_plain(path):
            with suppress(duckdb.Error):
                self._connection.execute(self._insert_lines(path, packing, _UNUSUAL))
                if not self._many(f"FROM parsed WHERE state = {_UNUSUAL}"):
                    self._refuse_empty(path, before)
                    return
                self._connection.execute(f"DELETE FROM parsed WHERE rowid >= {before}")
        with tempfile.NamedTemporaryFile(prefix="privtally-") as copy:
            canonical_copy(path, packing, copy)
            copy.flush()
            self._connection.execute(self._insert_lines(Path(copy.name), "none", INVALID))
        self._refuse_empty(path, before)

    def _refuse_empty(self, path: Path, before: int) -> None:
        if self._many("FROM parsed") == before:
            raise ReportError(f"{path}: the file has no reports in it")

    def _insert_lines(self, path: Path, packing: Packing, otherwise: int) -> str:
        """The insertion of a file's lines, those that are not as we write them with a state of their own."""
        head = f'{_HEAD}{self._plan.digest}","id":"'
        own, width = len(head) + 1, len(self._columns)
        listed = f"string_split(substring(line, {own + 43}, length(line) - {own + 44}), ',')"
        ours = f"starts_with(line, {text(head)}) AND regexp_full_match(substring(line, {own}), {text(_REST)})"
        another = (
            f"starts_with(line, {text(_HEAD)}) AND regexp_full_match(substring(line, {len(_HEAD) + 1}), {text(_OTHER)})"
        )
        codes = [f"TRY_CAST(codes[{place}] AS BIGINT)" for place in range(1, width + 1)]
        how = "columns = {'line': 'VARCHAR'}, auto_detect = false, header = false, quote = '', escape = ''"
        how += f", delim = E'\\x01', compression = '{packing}', max_line_size = {256 + 11 * width}"
        return f"""
            INSERT INTO parsed
            SELECT CASE WHEN state = {SOUND} THEN unhex(id) END,
                   CASE WHEN state = {SOUND} AND len(codes) <> {width} THEN {INVALID} ELSE state END,
                   {", ".join(codes)}
            FROM (
                SELECT substring(line, {own}, 32) AS id,
                       CASE WHEN {ours} THEN {SOUND} WHEN {another} THEN {WRONG_PLAN} ELSE {otherwise} END AS state,
                       CASE WHEN state = {SOUND} THEN {listed} END AS codes
                FROM read_csv({text(path)}, {how})
                WHERE line <> ''
            )"""


def id_range(piece: int, pieces: int) -> str:
    """The condition that an id is in one of so many ranges of equal size; rows without one are in the first."""
    least = f"id >= {_blob(piece, pieces)}" if piece else "true"
    most = f"id < {_blob(piece + 1, pieces)}" if piece + 1 < pieces else "true"
    return f"({least} AND {most}{'' if piece else ' OR id IS NULL'})"


def _blob(piece: int, pieces: int) -> str:
    start = (piece * (1 << 32) // pieces).to_bytes(4, "big")
    return f"unhex('{start.hex()}')"
