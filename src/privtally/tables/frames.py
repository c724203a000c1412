"""DataFrames of other libraries, none of which has to be installed: what our engine reads of them, and makes of theirs.

narwhals says which library a frame is of. Answers and reports then go through DuckDB as those in files do.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, overload

import duckdb
import nanoarrow as na
import narwhals as nw
from narwhals.exceptions import DuplicateError

from privtally.collector.estimate import estimate as estimate_history
from privtally.collector.tally import tally as tally_reports
from privtally.documents.campaign import History
from privtally.documents.counts import SUB_REPORT_LIMIT, Counts
from privtally.documents.estimate import LIBRARIES, Estimate, Library, installed_library
from privtally.documents.plan import Plan
from privtally.documents.report import ID_BYTES, Report, Reports
from privtally.errors import (
    DocumentError,
    EstimateError,
    PlanError,
    RecordError,
    ReportError,
    SchemaError,
    naming_arguments,
)
from privtally.exact.canonical import normal
from privtally.exact.randomness import Source, Stream
from privtally.files import read_schema
from privtally.names import Method
from privtally.participant.respond import respond_many
from privtally.schema import Attributes, Records, Schema
from privtally.tables import database
from privtally.tables.answers import Answers, check_columns, joined, open_answers
from privtally.tables.database import ArrowStream, engine, name, quoted, text
from privtally.tables.report_input import ROWS_AT_ONCE, rows_of, united
from privtally.tables.report_output import ALL, Gathered, id_and_codes, stream_of
from privtally.tables.tallying import INVALID, SOUND, WRONG_PLAN, code_columns, tally_table
from privtally.tables.tallying import check_columns as check_report_columns

Native = Any
"""A frame as its own library has it: pandas, Polars (eager or lazy), PyArrow, DuckDB or PySpark."""


class Kind(NamedTuple):
    """The frames of one library."""

    gather: Callable[[Native, Sequence[str]], Any]
    """Some columns of a frame, in this process, as our engine takes them."""
    make: Callable[[ArrowStream, str, Native], Native]
    """A frame like another one, of what is selected from a table."""


@dataclass(frozen=True, repr=False)
class Frame:
    """A frame that was recognised. It may be raw data and never prints itself."""

    native: Native
    library: str
    columns: tuple[str, ...]

    @property
    def where(self) -> str:
        """What refusals call it."""
        return f"the {self.library} frame"

    def gather(self, columns: Sequence[str]) -> Any:
        """Some of its columns, as our engine takes them."""
        return _KINDS[self.library].gather(self.native, columns)


def recognise(data: Any) -> Frame | None:
    """A frame of one of the libraries; None if the data is something else."""
    try:
        frame = nw.from_native(data)
        columns = tuple(frame.collect_schema().names())
    except TypeError:
        return None
    except DuplicateError:
        raise DocumentError("the frame has two columns of the same name; rename one of them") from None
    library = str(frame.implementation)
    if library not in _KINDS:
        raise DocumentError(f"frames of {library} are not read; convert it to one of {', '.join(_KINDS)}")
    return Frame(data, library, columns)


def new_frame(library: str, table: ArrowStream, select: str, like: Native = None) -> Native:
    """A frame of a library, like another one of it, of what is selected from a table."""
    try:
        return _KINDS[library].make(table, select, like)
    except Exception:  # every library has errors of its own kind
        if table.fault is not None:
            raise table.fault from None
        raise


class _AsArrow:
    """A table as Arrow only: our engine reads no relation of another connection, and Polars with pyarrow alone."""

    def __init__(self, table: Native) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def _from_polars(frame: Native, columns: Sequence[str]) -> Any:
    from polars import selectors

    return _AsArrow(frame.lazy().select(selectors.by_name(*columns)).collect())


def _from_spark(frame: Native, columns: Sequence[str]) -> Any:
    quoted = [column.replace("`", "``") for column in columns]
    return frame.select(*(f"`{column}`" for column in quoted)).toArrow()


def _to_pandas(table: ArrowStream, select: str, _: Native) -> Native:
    with engine() as connection:
        made = duckdb.from_arrow(table, connection=connection).project(select).df()
    # Integers that may be null, whether by chance one is or not.
    codes = {column: kind.name.replace("uint", "UInt") for column, kind in made.dtypes.items() if column != "id"}
    return made.astype(codes).assign(id=made["id"].map(bytes))  # the engine's bytearrays cannot be keys


def _to_polars(table: ArrowStream, select: str, like: Native) -> Native:
    import polars as pl

    with engine() as connection:
        # Not the relation itself: Polars would keep its type, of which DuckDB complains when the process ends.
        made = pl.DataFrame(na.ArrayStream(duckdb.from_arrow(table, connection=connection).project(select)))
    return made.lazy() if isinstance(like, pl.LazyFrame) else made


def _to_pyarrow(table: ArrowStream, select: str, _: Native) -> Native:
    import pyarrow as pa

    with engine() as connection:
        return pa.table(duckdb.from_arrow(table, connection=connection).project(select))


def _to_duckdb(table: ArrowStream, select: str, _: Native) -> Native:
    """A relation of DuckDB's default connection: which one another relation is of cannot be known."""
    return duckdb.from_arrow(table).project(select)


def _to_spark(table: ArrowStream, select: str, like: Native) -> Native:
    import pyarrow as pa

    made = _to_pyarrow(table, select, like)
    kinds = [(column, pa.binary() if column == "id" else pa.int32()) for column in made.column_names]
    return like.sparkSession.createDataFrame(made.cast(pa.schema(kinds)))  # it has no unsigned integers


_SPARK = Kind(_from_spark, _to_spark)
_KINDS = {
    "pandas": Kind(lambda frame, columns: frame[list(columns)], _to_pandas),
    "polars": Kind(_from_polars, _to_polars),
    "pyarrow": Kind(lambda frame, columns: frame.select(list(columns)), _to_pyarrow),
    "duckdb": Kind(lambda frame, columns: _AsArrow(frame.project(", ".join(map(name, columns)))), _to_duckdb),
    "pyspark": _SPARK,
    "pyspark[connect]": _SPARK,
}
"""By narwhals' name of the library."""


@naming_arguments
def privatise(
    plan: Plan, frame: Native, source: Source | None = None, *, codes: bool = False, keep_order: bool = False
) -> Native:
    """A private report for every row of a frame, as a frame of the same library: `id` (16 bytes), `q1`, `q2` …

    Columns are found by the attributes' names and others are left alone. With `codes` the frame holds codes 0, 1, 2 …
    in the labels' order. Reports are in the order of their random ids, which says nothing about the rows; with
    `keep_order` report 5 is row 5's. Randomness is the operating system's unless there is a source.
    """
    _check_plan_first("privatise(plan, frame)", plan)
    source = source or Stream.from_system()
    given = _frame(frame)
    reports = Gathered(plan, keep_order=keep_order, most_bytes=ALL)
    with _open_frame(given, plan.schema, coded=codes) as answers:
        for records in answers.batches():
            reports.add(respond_many(plan, records, source))
    return new_frame(given.library, stream_of(plan, reports), id_and_codes(plan), given.native)


privatize = privatise


def _frame(data: Native) -> Frame:
    frame = recognise(data)
    if frame is None:
        what = type(data).__name__
        raise DocumentError(
            f"answers must be in a frame of pandas, Polars, PyArrow, DuckDB or PySpark, not in a {what}"
        )
    return frame


@contextmanager
def _open_frame(frame: Frame, schema: Schema, *, coded: bool) -> Iterator[Answers]:
    gathered = frame.gather(_asked(frame, schema))
    # The engine's own messages quote what is in a frame, so that none of them is passed on.
    try:
        with engine() as connection:
            connection.execute("SET pandas_analyze_sample = 0")  # mixed columns are texts, whatever comes first in them
            with database.registered(connection, "answers", gathered):
                yield Answers(frame.where, schema, connection.sql("FROM answers"), coded)
    except duckdb.Error:
        raise DocumentError(f"{frame.where} cannot be read; do its columns hold texts or numbers?") from None


def _asked(frame: Frame, schema: Schema) -> list[str]:
    """The columns that a schema asks for."""
    names = {column: normal(column) for column in frame.columns if isinstance(column, str)}
    asked = [column for column, name in names.items() if name in schema.names]
    if len({names[column].lower() for column in asked}) < len(asked):
        raise RecordError(f"{frame.where} has two columns for a question, or questions that differ in case alone")
    check_columns(frame.where, schema, [names[column] for column in asked])
    return asked


Declared = Schema | Attributes | str | Path
"""A schema, what declares one, or the path of one."""


def schema_of(given: Declared | None, data: Native | str | Path | None = None) -> Schema:
    """The schema that was given, in a file or as what declares one; else the categories that a frame declares."""
    if isinstance(given, Schema):
        return given
    if isinstance(given, str | Path):
        return read_schema(given)
    if given is not None:
        return Schema(given)
    frame = None if isinstance(data, str | Path) else recognise(data)
    if frame is None:
        raise SchemaError(
            'which answers are possible must be declared, as in {"smokes": ["no", "yes"]}, or in a schema file that is '
            "named; they are never read off the data"
        )
    try:
        return Schema.from_frame(data)
    except SchemaError as refusal:
        name = next(iter(frame.columns), "smokes")
        raise SchemaError(
            f'{refusal}; or declare which answers are possible, as in {{"{name}": ["no", "yes"]}}'
        ) from None


def records_of(data: Native | str | Path | Records, schema: Schema, *, codes: bool) -> tuple[Records, tuple[str, ...]]:
    """All records, and the columns that the schema does not name."""
    if isinstance(data, Records):
        if data.schema != schema:
            raise SchemaError("the records are of another schema than the one that was given")
        return data, ()
    if isinstance(data, str | Path):
        with open_answers([Path(data)], schema, coded=codes) as files:
            return files.read_all(), tuple(files.ignored)
    frame = _frame(data)
    with _open_frame(frame, schema, coded=codes) as answers:
        asked = _asked(frame, schema)
        return joined(answers.batches()), tuple(str(column) for column in frame.columns if column not in asked)


def library_of(data: Native | str | Path) -> Library | None:
    """The library of a frame, if others can be made of it."""
    return next((library for library in LIBRARIES if library == type(data).__module__.partition(".")[0]), None)


_IDS = {
    "BLOB": (f"octet_length(id) = {ID_BYTES}", "id"),
    "VARCHAR": ("regexp_full_match(id, '[0-9a-f]{32}')", "unhex(id)"),
    '"NULL"': ("false", "NULL"),
}
"""When an id is sound, and its bytes, by the column's type."""
_FRACTIONS = ("FLOAT", "DOUBLE")
_INTEGERS = tuple(sign + size + "INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG", "HUGE"))
_CODES = (*_INTEGERS, *_FRACTIONS, "INTEGER", "UINTEGER", '"NULL"')


@naming_arguments
def tally(plan: Plan, reports: Native | Iterable[Report], limit: int = SUB_REPORT_LIMIT) -> Counts:
    """The counts of reports to one plan, each report id once: of reports, or of a frame as `privatise` makes it.

    A frame has the columns `id` (16 bytes or 32 hexadecimal digits) and `q1`, `q2` …, or the questions' names, and may
    have `plan`, a plan's digest.
    What is none of the plan's reports is set aside and counted in a frame, and refused among reports.
    """
    _check_plan_first("tally(plan, reports)", plan)
    frame = recognise(reports)
    if frame is None:
        if isinstance(reports, str) or not isinstance(reports, Iterable):
            raise ReportError(f"reports must be in a frame or a list, not in a {type(reports).__name__}")
        return tally_reports(plan, reports, limit)
    frame = _numbered(frame, plan)
    check_report_columns(frame.where, plan, list(map(str, frame.columns)), plan_known=True)
    given = frame.gather(frame.columns)
    try:
        with engine() as connection, database.registered(connection, "given", given):
            return tally_table(plan, _FrameReports(connection, plan, frame), limit=limit)
    except duckdb.Error:  # its message would quote the frame
        raise ReportError(f"{frame.where} cannot be read; ids must be bytes or texts, and codes integers") from None


def _check_plan_first(call: str, plan: Any) -> None:
    if not isinstance(plan, Plan):
        raise PlanError(f"the plan comes first, as privtally.design makes it and privtally.load reads it: {call}")


@overload
def estimate(
    plan: Plan, counts: Counts | Native | Iterable[Report], method: Method = "likelihood", *, by_round: bool = False
) -> Estimate: ...


@overload
def estimate(plan: History, *, method: Method = "likelihood", by_round: bool = False) -> Estimate: ...


@naming_arguments
def estimate(plan: Any, counts: Any = None, method: Method = "likelihood", *, by_round: bool = False) -> Estimate:
    """Frequencies of every attribute: of a plan and its counts, or its reports, which are counted on the way; or of a
    list of plans with their counts, one for each phase of a campaign.

    With several rounds they are those of the last one; `by_round` adds every round's.
    """
    if isinstance(plan, Plan):
        if counts is None:
            raise EstimateError(
                "estimate needs the counts of the plan's reports, or the reports: estimate(plan, counts)"
            )
        counted = counts if isinstance(counts, Counts) else tally(plan, counts)
        return estimate_history([(plan, counted)], method, by_round=by_round)
    history = list(plan) if isinstance(plan, Iterable) else []
    pairs = all(isinstance(phase, tuple) and tuple(map(type, phase)) == (Plan, Counts) for phase in history)
    if counts is not None or not history or not pairs:
        raise EstimateError("estimate takes a plan and its counts, or a list of them: [(plan, counts), …]")
    return estimate_history(history, method, by_round=by_round)


class _FrameReports:
    """The reports of a frame, as `tally_table` takes them: read once, then in pieces by the range of their ids."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, plan: Plan, frame: Frame) -> None:
        self._connection = connection
        select = _select(frame, plan, connection.sql("FROM given"))
        connection.execute(f"CREATE TEMP TABLE reports AS SELECT {select} FROM given")

    def pieces(self) -> Iterator[str]:
        pieces = max(1, -(-rows_of(self._connection, "FROM reports") // ROWS_AT_ONCE))
        for piece in range(pieces):
            yield united(["SELECT * FROM reports"], piece, pieces)

    def read(self, query: str) -> Iterator[list[na.Array]]:
        return database.batches(self._connection.sql(query))


def _numbered(frame: Frame, plan: Plan) -> Frame:
    """A frame with the columns q1, q2 … where it has the questions' names for them."""
    names = dict(zip(plan.columns, code_columns(plan), strict=True))
    if not set(names) <= set(frame.columns) or set(names.values()) & set(frame.columns):
        return frame
    renamed = recognise(nw.from_native(frame.native).rename(names).to_native())
    assert renamed is not None
    return renamed


def reports_frame(phases: Sequence[Reports], library: Library | None = None) -> Native:
    """The reports of a campaign's phases as one frame: `id` and the code of each question by its name, or `q1`, `q2` …
    where a question is called id or plan. With several phases `plan` has the digest of the plan that is answered.
    """
    frames = []
    for reports in phases:
        plan, gathered = reports.plan, Gathered(reports.plan, most_bytes=ALL)
        gathered.add(reports)
        made = new_frame(library or installed_library(), stream_of(plan, gathered), id_and_codes(plan))
        columns = code_columns(plan)
        named = columns if {"id", "plan"} & set(plan.columns) else plan.columns
        codes = [nw.col(column).cast(nw.UInt32).alias(name) for column, name in zip(columns, named, strict=True)]
        digest = [nw.lit(plan.digest).alias("plan")] if len(phases) > 1 else []
        frames.append(nw.from_native(made).select(*digest, "id", *codes))
    return nw.to_native(nw.concat(frames))


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
    whole = [f"coalesce(TRY_CAST({code} AS BIGINT) = {code}, {code} IS NULL)" for code in stated]
    form = " AND ".join([f"coalesce({sound}, false)", *whole])
    digest = f"WHEN plan IS DISTINCT FROM {text(plan.digest)} THEN {WRONG_PLAN} " if "plan" in kinds else ""
    state = f"CASE {digest}WHEN {form} THEN {SOUND} ELSE {INVALID} END"
    columns = [f"TRY_CAST({code} AS BIGINT) AS {column}" for code, column in zip(stated, codes, strict=True)]
    return ", ".join([f"CASE WHEN {state} = {SOUND} THEN {name} END AS id", f"{state} AS state", *columns])
