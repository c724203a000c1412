"""Reports in a DataFrame become counts, by the same expression as those in files."""

from collections.abc import Iterable, Iterator
from typing import Any

import duckdb
import nanoarrow as na

from privtally.collector.tally import Tallied
from privtally.collector.tally import tally as tally_reports
from privtally.documents.plan import Plan
from privtally.documents.report import ID_BYTES, Report
from privtally.documents.sub_reports import SUB_REPORT_LIMIT
from privtally.errors import ReportError
from privtally.tables import arrow
from privtally.tables.database import engine, text
from privtally.tables.faults import quoted
from privtally.tables.frames import Frame, Native, recognise
from privtally.tables.report_input import ROWS_AT_ONCE, id_range
from privtally.tables.report_output import code_columns
from privtally.tables.tallying import INVALID, SOUND, WRONG_PLAN, tally_table

_IDS = {
    "BLOB": (f"octet_length(id) = {ID_BYTES}", "id"),
    "VARCHAR": ("regexp_full_match(id, '[0-9a-f]{32}')", "unhex(id)"),
    '"NULL"': ("false", "NULL"),
}
"""When an id is sound, and its bytes, by the column's type."""
_FRACTIONS = ("FLOAT", "DOUBLE")
_INTEGERS = tuple(sign + size + "INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG", "HUGE"))
_CODES = (*_INTEGERS, *_FRACTIONS, "INTEGER", "UINTEGER", '"NULL"')


def tally(plan: Plan, reports: Native | Iterable[Report], limit: int = SUB_REPORT_LIMIT) -> Tallied:
    """The counts of reports to one plan, each report id once: of reports, or of a frame as `privatise` makes it.

    A frame has the columns `id` (16 bytes or 32 hexadecimal digits), `q1`, `q2` … and may have `plan`, a plan's digest.
    What is none of the plan's reports is set aside and counted in a frame, and refused among reports.
    """
    frame = recognise(reports)
    if frame is None:
        return tally_reports(plan, reports, limit)
    _check_columns(frame, plan)
    given = frame.gather(frame.columns)
    try:
        with engine() as connection, arrow.registered(connection, "given", given):
            return tally_table(plan, _FrameReports(connection, plan, frame), limit=limit)
    except duckdb.Error:  # its message would quote the frame
        raise ReportError(f"{frame.where} cannot be read; ids must be bytes or texts, and codes integers") from None


class _FrameReports:
    """The reports of a frame, as `tally_table` takes them: read once, then in pieces by the range of their ids."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, plan: Plan, frame: Frame) -> None:
        self._connection = connection
        select = _select(frame, plan, connection.sql("FROM given"))
        connection.execute(f"CREATE TEMP TABLE reports AS SELECT {select} FROM given")

    def pieces(self) -> Iterator[duckdb.DuckDBPyRelation]:
        ((rows,),) = self._connection.execute("SELECT count(*) FROM reports").fetchall()
        pieces = max(1, -(-rows // ROWS_AT_ONCE))
        for piece in range(pieces):
            yield self._connection.sql(f"FROM reports WHERE {id_range(piece, pieces)}")

    def read(self, table: Any) -> Iterator[list[na.Array]]:
        return arrow.batches(table)


def _check_columns(frame: Frame, plan: Plan) -> None:
    codes = code_columns(plan)
    span = f"id, {codes[0]} … {codes[-1]}"
    missing = [column for column in ("id", *codes) if column not in frame.columns]
    if missing:
        raise ReportError(f"{frame.where} has no column {quoted(missing)}; reports to this plan have {span}")
    extra = [str(column) for column in frame.columns if column not in ("plan", "id", *codes)]
    if extra:
        raise ReportError(f"{frame.where} has a column {quoted(extra)} more than reports to this plan: {span}")


def _select(frame: Frame, plan: Plan, given: duckdb.DuckDBPyRelation) -> str:
    """The columns of `tallying`."""
    kinds = dict(zip(given.columns, map(str, given.types), strict=True))
    codes = code_columns(plan)
    wrong = [column for column in codes if kinds[column] not in _CODES] + ["id"] * (kinds["id"] not in _IDS)
    if wrong:
        raise ReportError(
            f"{frame.where}: ids must be 16 bytes or 32 hexadecimal digits and codes integers, {quoted(wrong)} is not"
        )
    sound, name = _IDS[kinds["id"]]
    stated = [f"nullif({column}, 'nan')" if kinds[column] in _FRACTIONS else column for column in codes]
    whole = [f"coalesce(TRY_CAST({own} AS BIGINT) = {own}, {own} IS NULL)" for own in stated]
    form = " AND ".join([f"coalesce({sound}, false)", *whole])
    digest = f"WHEN plan IS DISTINCT FROM {text(plan.digest)} THEN {WRONG_PLAN} " if "plan" in kinds else ""
    state = f"CASE {digest}WHEN {form} THEN {SOUND} ELSE {INVALID} END"
    columns = [f"TRY_CAST({own} AS BIGINT) AS {column}" for own, column in zip(stated, codes, strict=True)]
    return ", ".join([f"CASE WHEN {state} = {SOUND} THEN {name} END AS id", f"{state} AS state", *columns])
