"""Participants' answers in a DataFrame or in files: records out. Raw data; nothing is echoed."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import duckdb

from privtally.documents.plan import Plan
from privtally.errors import DocumentError, RecordError
from privtally.exact.source import Source, Stream
from privtally.exact.wire import normal
from privtally.files import Advance, silently
from privtally.participant.respond import respond_many
from privtally.schema import Records, Schema
from privtally.tables import arrow
from privtally.tables.answer_files import open_answers
from privtally.tables.answers import Answers
from privtally.tables.database import engine
from privtally.tables.faults import quoted
from privtally.tables.frames import Frame, Native, recognise
from privtally.tables.gathering import Gathered
from privtally.tables.report_output import id_and_codes, stream_of


class AnswerTable(Protocol):
    """Answers in files or in a frame."""

    @property
    def ignored(self) -> Sequence[str] | dict[str, None]:
        """The columns, of what was read so far, that the schema does not name."""
        ...

    def batches(self, advance: Advance = silently) -> Iterator[Records]:
        """The records, some hundred thousand at a time; `advance` hears how many there were."""
        ...

    def read_all(self, advance: Advance = silently) -> Records:
        """All records at once."""
        ...


@dataclass(frozen=True)
class FrameAnswers:
    """Answers in a frame whose columns fit a schema; `ignored` are the columns that the schema does not name."""

    answers: Answers
    ignored: tuple[str, ...]

    def batches(self, advance: Advance = silently) -> Iterator[Records]:
        return self.answers.batches(advance)

    def read_all(self, advance: Advance = silently) -> Records:
        return self.answers.read_all(advance)


def privatise(
    plan: Plan, frame: Native, source: Source | None = None, *, codes: bool = False, keep_order: bool = False
) -> Native:
    """A private report for every row of a frame, as a frame of the same library: `id` (16 bytes), `q1`, `q2` …

    Columns are found by the attributes' names and others are left alone. With `codes` the frame holds codes 0, 1, 2 …
    in the labels' order. Reports are in the order of their random ids, which says nothing about the rows; with
    `keep_order` report 5 is row 5's. Randomness is the operating system's unless there is a source.
    """
    source = source or Stream.from_system()
    given = _frame(frame)
    reports = Gathered(plan, keep_order=keep_order, most_bytes=_ALL)
    with _open_frame(given, plan.schema, coded=codes) as answers:
        for records in answers.batches():
            reports.add(respond_many(plan, records, source))
    return given.alike(stream_of(plan, reports), id_and_codes(plan))


@contextmanager
def open_data(data: Native | str | Path, schema: Schema, *, coded: bool = False) -> Iterator[AnswerTable]:
    """The answers in a frame, or in the files that a path, a directory or a pattern means."""
    if isinstance(data, str | Path):
        with open_answers([Path(data)], schema, coded=coded) as files:
            yield files
    else:
        with _open_frame(_frame(data), schema, coded=coded) as answers:
            yield answers


def _frame(data: Native) -> Frame:
    frame = recognise(data)
    if frame is None:
        what = type(data).__name__
        raise DocumentError(
            f"answers must be in a frame of pandas, Polars, PyArrow, DuckDB or PySpark, not in a {what}"
        )
    return frame


@contextmanager
def _open_frame(frame: Frame, schema: Schema, *, coded: bool) -> Iterator[FrameAnswers]:
    asked, ignored = _split(frame, schema)
    gathered = frame.gather(asked)
    # The engine's own messages quote what is in a frame, so that none of them is passed on.
    try:
        with engine() as connection:
            connection.execute("SET pandas_analyze_sample = 0")  # mixed columns are texts, whatever comes first in them
            with arrow.registered(connection, "answers", gathered):
                yield FrameAnswers(Answers(frame.where, schema, connection.sql("FROM answers"), coded), ignored)
    except duckdb.Error:
        raise DocumentError(f"{frame.where} cannot be read; do its columns hold texts or numbers?") from None


def _split(frame: Frame, schema: Schema) -> tuple[list[str], tuple[str, ...]]:
    """The columns that the schema asks for, and the others."""
    names = {column: normal(column) for column in frame.columns if isinstance(column, str)}
    asked = [column for column, own in names.items() if own in schema.names]
    missing = [own for own in schema.names if own not in names.values()]
    if missing:
        raise RecordError(f"{frame.where} has no column {quoted(missing)}; every question needs one")
    if len({names[column].lower() for column in asked}) < len(asked):
        raise RecordError(f"{frame.where} has two columns for a question, or questions that differ in case alone")
    return asked, tuple(str(column) for column in frame.columns if column not in asked)


_ALL = 1 << 62
"""A frame is in memory, and so are its reports."""
