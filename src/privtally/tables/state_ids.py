"""Every id that was counted, in Parquet: a journal that new reports are compared with and added to.

A row says what files of one run say of an id:

    id, word0 …    the id and the packed codes of its first report
    times          what it adds to the count of those codes: 1 for a new id, -1 once other codes come with it, else 0
    reports        how many reports had the id
    conflict       whether they differ, among each other or from earlier ones

Each run adds files of its own, one for each range of ids, sorted; earlier files are never written again. The counts
are sums of `times`, so that they equal those of all reports at once in whatever runs they came.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import narwhals as nw

from privtally.collector.tally import count_times, nothing
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.errors import DocumentError
from privtally.tables import arrow, database
from privtally.tables.report_input import DuckReports
from privtally.tables.tallying import SOUND, WRONG_PLAN, Packing, by_id, judged


@dataclass
class Seen:
    """How many reports there were in all: of the plan's form, with conflicting ids, to other plans, and invalid."""

    sound: int = 0
    conflicting: int = 0
    wrong_plan: int = 0
    invalid: int = 0


@dataclass
class Journal:
    """The files of the journal, and those that this run adds."""

    connection: duckdb.DuckDBPyConnection
    plan: Plan
    files: Sequence[Path]
    added: list[Path] = field(default_factory=list)

    def add(self, reports: DuckReports, directory: Path, run: int, seen: Seen) -> None:
        """Compare the ids of reports with the journal, add what they say, and count them in `seen`."""
        packing = Packing(self.plan)
        for number, piece in enumerate(reports.pieces()):
            rows = by_id(packing, judged(packing, nw.from_native(piece), "id"))
            with reports.readable():
                self.connection.execute("DROP TABLE IF EXISTS fresh_ids")
                nw.to_native(rows).create("fresh_ids")
            self._compare(packing)
            self._count(seen)
            path = directory / f"{run:06d}-{number:06d}.parquet"
            self._write(packing, path)
            self.added.append(path)

    def counts(self) -> Counts:
        """The counts of all ids that came with one report."""
        packing, total = Packing(self.plan), nothing(self.plan)
        words = ", ".join(packing.names)
        query = f"SELECT sum(times)::BIGINT AS total, {words} FROM {self._source([*self.files, *self.added])}"
        for batch in arrow.batches(self.connection.sql(f"{query} GROUP BY {words} HAVING sum(times) <> 0")):
            times, *packed = (arrow.numbers(column) for column in batch)
            total += count_times(self.plan, packing.unpacked(packed), times)
        return total

    def _compare(self, packing: Packing) -> None:
        """Put together what is known of the new ids and what their reports say."""
        names = packing.names
        least = ", ".join(f"min({word}) AS {word}" for word in names)
        known = "SELECT NULL::BLOB AS id, 0 AS reports, 0 AS conflict, " + ", ".join(f"0 AS {word}" for word in names)
        known += " WHERE false"
        if self.files:
            known = f"""
                SELECT id, sum(reports)::BIGINT AS reports, max(conflict) AS conflict, {least}
                FROM {self._source(self.files)} WHERE id IN (SELECT id FROM fresh_ids) GROUP BY id"""
        differ = " OR ".join(f"fresh.{word} <> known.{word}" for word in names)
        words = ", ".join(f"coalesce(known.{word}, fresh.{word}) AS {word}" for word in names)
        self.connection.execute(f"""
            CREATE OR REPLACE TEMP TABLE compared AS
            SELECT fresh.id, state, {words}, fresh.reports, known.reports AS earlier, known.conflict AS was,
                   (fresh.conflict = 1 OR coalesce(known.conflict = 1 OR {differ}, false))::INTEGER AS conflict
            FROM fresh_ids AS fresh LEFT JOIN ({known}) AS known ON fresh.id = known.id""")

    def _count(self, seen: Seen) -> None:
        of = "coalesce(sum(reports) FILTER (WHERE {}), 0)::BIGINT".format
        newly = f"coalesce(sum(earlier) FILTER (WHERE state = {SOUND} AND conflict = 1 AND was = 0), 0)::BIGINT"
        sums = [
            of(f"state = {SOUND}"),
            of(f"state = {SOUND} AND conflict = 1") + f" + {newly}",
            of(f"state = {WRONG_PLAN}"),
            of(f"state NOT IN ({SOUND}, {WRONG_PLAN})"),
        ]
        ((sound, conflicting, wrong_plan, invalid),) = self.connection.execute(
            f"SELECT {', '.join(sums)} FROM compared"
        ).fetchall()
        seen.sound += sound
        seen.conflicting += conflicting
        seen.wrong_plan += wrong_plan
        seen.invalid += invalid

    def _write(self, packing: Packing, path: Path) -> None:
        times = "CASE WHEN was IS NULL THEN 1 - conflict WHEN was = 0 THEN -conflict ELSE 0 END::TINYINT AS times"
        columns = f"id, {', '.join(packing.names)}, {times}, reports, conflict::TINYINT AS conflict"
        query = f"SELECT {columns} FROM compared WHERE state = {SOUND} ORDER BY id"
        try:
            self.connection.execute(f"COPY ({query}) TO {database.text(path)} (FORMAT parquet, COMPRESSION zstd)")
        except duckdb.IOException:
            raise DocumentError(f"cannot write {path.parent}: is there room, and may you write there?") from None

    @staticmethod
    def _source(paths: Sequence[Path]) -> str:
        return f"read_parquet({database.files(paths)}, hive_partitioning = false)"
