"""Reports in files of any kind, read by DuckDB as a table of ids, states and codes (see `tallying`)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import nanoarrow as na

from privtally.documents.plan import Plan
from privtally.files import Advance, silently
from privtally.tables import arrow
from privtally.tables.parquet_reports import parquet_sources, unreadable
from privtally.tables.paths import Format, Kind, format_of
from privtally.tables.report_text import TextReports

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
        self._paths: dict[Kind, list[Path]] = {"parquet": [], "csv": [], "ndjson": []}
        for path in paths:
            self._paths[(format_of(path) or Format("ndjson")).kind].append(path)

    def sources(self) -> list[str]:
        """Queries for the reports; those in text are parsed once into a table, those in Parquet read by every query."""
        with self.readable():
            parquet = parquet_sources(self._connection, self._plan, self._paths["parquet"])
        if not self._paths["ndjson"] and not self._paths["csv"]:
            return parquet
        parsed = TextReports(self._connection, self._plan)
        for path in self._paths["csv"]:
            parsed.add_rows(path)
        for path in self._paths["ndjson"]:
            parsed.add_lines(path)
        return [parsed.source, *parquet]

    def pieces(self) -> Iterator[duckdb.DuckDBPyRelation]:
        """The reports, no two pieces with the same id."""
        sources = self.sources()
        with self.readable():
            rows = sum(self._many(source) for source in sources)
        pieces = max(1, -(-rows // ROWS_AT_ONCE)) if self._in_pieces else 1
        for piece in range(pieces):
            within = id_range(piece, pieces)
            yield self._connection.sql(" UNION ALL ".join(f"{source} WHERE {within}" for source in sources))
            self._advance(rows * (piece + 1) // pieces)

    def read(self, table: Any) -> Iterator[list[na.Array]]:
        """Batches of what was computed."""
        with self.readable():
            yield from arrow.batches(table)

    @contextmanager
    def readable(self) -> Iterator[None]:
        """Say which file cannot be read; the engine's message would quote what is in it."""
        try:
            yield
        except duckdb.Error:
            raise unreadable(self._connection, self._paths["parquet"]) from None

    def _many(self, source: str) -> int:
        ((many,),) = self._connection.execute(f"SELECT count(*) FROM ({source})").fetchall()
        return int(many)


def id_range(piece: int, pieces: int) -> str:
    """The condition that an id is in one of so many ranges of equal size; rows without one are in the first."""
    least = f"id >= {_blob(piece, pieces)}" if piece else "true"
    most = f"id < {_blob(piece + 1, pieces)}" if piece + 1 < pieces else "true"
    return f"({least} AND {most}{'' if piece else ' OR id IS NULL'})"


def _blob(piece: int, pieces: int) -> str:
    start = (piece * (1 << 32) // pieces).to_bytes(4, "big")
    return f"unhex('{start.hex()}')"
