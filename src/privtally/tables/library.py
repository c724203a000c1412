"""Reports in Parquet files, computed by a library that reads them itself: what Polars and Spark have in common."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any, Protocol

import duckdb
import nanoarrow as na
import narwhals as nw

from privtally.documents.plan import Plan
from privtally.documents.report import ID_BYTES
from privtally.files import Advance, silently
from privtally.tables import arrow
from privtally.tables.native import Alike, native_reports
from privtally.tables.parquet_reports import unreadable
from privtally.tables.paths import Format, format_of
from privtally.tables.report_output import code_columns
from privtally.tables.tallying import INVALID, SOUND, WRONG_PLAN

_MOST_CODE = 1 << 62
"""Above all codes, and still an integer of 64 bits with a sign."""


class Library(Protocol):
    """What reads Parquet files as a table of its own kind and computes over it."""

    faults: tuple[type[Exception], ...]
    """What it raises if a file cannot be read."""

    failed: str
    """What to say if every file can be read here and the library still fails."""

    def scan(self, paths: Sequence[Path]) -> Any:
        """The table in files of the same columns, and a column `bytes`: how long each id is."""

    def collect(self, table: Any) -> Any:
        """A computed table, as Arrow's stream."""

    def pieces(self, rows: int, groups: int) -> int:
        """In how many pieces reports are compared, if there are so many and at most so many different ones."""


class LibraryReports:
    """Reports in files, as `tally_table` takes them. What is not Parquet is parsed by DuckDB first."""

    def __init__(
        self,
        library: Library,
        connection: duckdb.DuckDBPyConnection,
        plan: Plan,
        paths: Sequence[Path],
        *,
        in_pieces: bool = True,
        advance: Advance = silently,
    ) -> None:
        self._library, self._connection, self._plan, self._paths = library, connection, plan, paths
        self._in_pieces, self._advance = in_pieces, advance

    def pieces(self) -> Iterator[Any]:
        """The reports, read again for every piece."""
        with native_reports(self._connection, self._plan, self._paths) as reports:
            rows = reports.rows
            with self._naming_what_cannot_be_read():
                sources = [
                    *self._sources(reports.own, _form()),
                    *self._sources(reports.stating, _plan_and_form(self._plan)),
                    *self._sources(reports.parsed, nw.col("state")),
                ]
            groups = min(rows, prod(self._plan.sampler.outputs))
            many = self._library.pieces(rows, groups) if self._in_pieces else 1
            for piece in range(many):
                yield nw.to_native(_in_range(nw.concat(sources), piece, many))
                self._advance(rows * (piece + 1) // many)

    def read(self, table: Any) -> Iterator[list[na.Array]]:
        """Batches of what was computed."""
        with self._naming_what_cannot_be_read():
            computed = self._library.collect(table)
        return arrow.batches(computed)

    @contextmanager
    def _naming_what_cannot_be_read(self) -> Iterator[None]:
        try:
            yield
        except self._library.faults:  # its message would quote the file
            parquet = [path for path in self._paths if format_of(path) == Format("parquet")]
            raise unreadable(self._connection, parquet, self._library.failed) from None

    def _sources(self, files: Alike, state: nw.Expr) -> Iterator[Any]:
        """Tables of ids, states and codes, one for all files that have the same columns."""
        for kinds, own in files.items():
            kind_of = dict(kinds)
            codes = [_code(column, kind_of.get(column)) for column in code_columns(self._plan)]
            table = nw.from_native(self._library.scan(own))
            yield table.select("id", state.cast(nw.Int64).alias("state"), *codes)


def _code(column: str, kind: str | None) -> nw.Expr:
    """A code as an integer of 64 bits with a sign; what is too large for one is no code."""
    code = nw.col(column)
    if kind != "UBIGINT":
        return code.cast(nw.Int64)
    small = nw.when(code < _MOST_CODE).then(code).cast(nw.Int64)
    return nw.when(code >= _MOST_CODE).then(nw.lit(-1).cast(nw.Int64)).otherwise(small).alias(column)


def _form() -> nw.Expr:
    return nw.when(nw.col("bytes") == ID_BYTES).then(nw.lit(SOUND)).otherwise(nw.lit(INVALID))


def _plan_and_form(plan: Plan) -> nw.Expr:
    return nw.when(nw.col("plan") == plan.digest).then(_form()).otherwise(nw.lit(WRONG_PLAN))


def _in_range(rows: Any, piece: int, pieces: int) -> Any:
    """The rows with an id in one of so many ranges of equal size; those without one are in the first."""
    name = nw.col("id")
    if piece:
        rows = rows.filter(name >= _start(piece, pieces))
    if piece + 1 < pieces:
        before = name < _start(piece + 1, pieces)
        rows = rows.filter(before if piece else before | name.is_null())
    return rows


def _start(piece: int, pieces: int) -> nw.Expr:
    return nw.lit((piece * (1 << 32) // pieces).to_bytes(4, "big"))
