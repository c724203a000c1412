"""Participants' answers in a table of any kind: labels or codes in, records out. Raw data; nothing is echoed.

The engine finds the codes of all answers that are spelled as the schema spells them. Every other value is looked into
here, so that what counts as an answer is decided in one place: `spelling`.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO
from unicodedata import normalize

import duckdb
import nanoarrow as na
import numpy as np

from privtally.errors import DocumentError, RecordError
from privtally.exact.canonical import normal
from privtally.exact.randomness import Source, Stream, rounded
from privtally.exact.types import Codes
from privtally.files import Advance, open_binary, refuse_spreadsheet, silently
from privtally.scales import Place
from privtally.schema import Attribute, Records, Schema, code_type
from privtally.tables import database
from privtally.tables.database import (
    Faults,
    Format,
    Packing,
    engine,
    every_file,
    format_of,
    is_plain,
    name,
    quoted,
    say_ignored,
    text,
    unlike_header,
    unreadable_as,
)

Spelling = Mapping[Any, Place]
"""The code of a value, or its place in a grid; a value that is none of the answers is refused when it is met."""


def spelling(attribute: Attribute, *, coded: bool = False) -> Spelling:
    """The codes of an attribute's answers; with `coded` they are spelled 0, 1, 2 … in the labels' order."""
    return _Stated(attribute) if coded else attribute.place_of


class _Stated(dict[Any, int]):
    def __init__(self, attribute: Attribute) -> None:
        super().__init__((str(code), code) for code in range(attribute.size))
        if attribute.optional:
            self.update(dict.fromkeys(("", None), attribute.size - 1))
        self.attribute = attribute

    def __missing__(self, value: Any) -> int:
        raise RecordError(f"question '{self.attribute.name}' needs a code from 0 to {self.attribute.size - 1}")


def _codes_at(attribute: Attribute, places: Sequence[Place], source: Source) -> Sequence[Place]:
    """The codes at places: where there is a grid, one of the two around each, at random."""
    return places if attribute.grid is None else rounded(places, source)


_MOST_REMEMBERED = 1 << 16
"""How many different values of a column are kept with their codes."""


@dataclass(frozen=True)
class Answers:
    """A table of answers in the engine. `where` names it in refusals.

    With `coded` the values are codes 0, 1, 2 … in the labels' order. `names` are the columns' names where the engine
    has others for them.
    """

    where: str
    schema: Schema
    table: duckdb.DuckDBPyRelation
    coded: bool = False
    names: tuple[str, ...] = ()
    source: Source = field(default_factory=Stream.from_system)
    """What numbers of a grid are rounded with."""

    def __post_init__(self) -> None:
        check_columns(self.where, self.schema, self._names)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return self.names or tuple(map(normal, self.table.columns))

    @property
    def ignored(self) -> tuple[str, ...]:
        """The columns that the schema does not name."""
        return tuple(column for column in self._names if column not in self.schema.names)

    def batches(self) -> Iterator[Records]:
        """The records, some hundred thousand at a time.

        After a row that does not fit no more records come, but every row is checked before the table is refused.
        """
        columns = [self._column(attribute) for attribute in self.schema.attributes]
        faults, rows = Faults(self.where), 0
        for batch in database.batches(self.table.project(", ".join(column.sql for column in columns))):
            codes: Codes = np.empty((len(batch[0]), len(columns)), dtype=code_type(self.schema.sizes), order="F")
            bad: dict[int, RecordError] = {}
            for place, column in enumerate(columns):
                codes[:, place] = column.codes(batch[2 * place], batch[2 * place + 1], self.source, bad)
            for row in sorted(bad):
                faults.add(f"row {rows + row + 1:,}", bad[row])
            rows += len(codes)
            if not faults.rows:
                yield Records(self.schema, codes)
        if not rows:
            raise RecordError(f"{self.where} has no rows; it needs one for each person")
        faults.refuse()

    def _column(self, attribute: Attribute) -> "_Column":
        place = self._names.index(attribute.name)
        column, kind = name(self.table.columns[place]), str(self.table.types[place])
        value = f"CAST({column} AS VARCHAR)"
        if kind == "BLOB":  # text that is not marked as text; what is none matches no label
            value = f"coalesce(TRY(decode({column})), {value})"
        if kind in ("FLOAT", "DOUBLE"):  # a number is spelled as a person would: 3, not 3.0
            whole = (
                f"{column} = trunc({column}) AND abs({column}) < 9e15 THEN CAST(CAST({column} AS BIGINT) AS VARCHAR)"
            )
            value = f"CASE WHEN isnan({column}) THEN NULL WHEN {whole} ELSE {value} END"
        return _Column(attribute, spelling(attribute, coded=self.coded), value)


def check_columns(where: str, schema: Schema, names: Sequence[str]) -> None:
    """Refuse a table that lacks a question's column, or has it twice."""
    if missing := [name for name in schema.names if name not in names]:
        raise RecordError(f"{where} has no column {quoted(missing)}; every question needs one")
    if twice := [name for name in schema.names if names.count(name) > 1]:
        raise RecordError(f"{where} has the column {twice[0]!r} twice; give every column another name")


def joined(batches: Iterable[Records]) -> Records:
    """All records of one schema at once."""
    schemas, codes = zip(*((records.schema, records.codes) for records in batches), strict=True)
    return Records(schemas[0], np.concatenate(codes))


class _Column:
    """One attribute's column: what the engine computes of it, and what is made of that.

    The engine finds the place of a value among the answers that are spelled in a known way, or else gives its text.
    """

    def __init__(self, attribute: Attribute, place_of: Spelling, value: str) -> None:
        answers = [answer for answer in place_of if isinstance(answer, str)]
        self._attribute, self._place_of = attribute, place_of
        self._unknown, self._remembered = len(answers), dict[str | None, Place]()
        self._codes = np.array([*(place_of[answer] for answer in answers), 0], dtype=code_type((attribute.size,)))
        known = f"enum_code(TRY_CAST({value} AS ENUM({', '.join(map(text, answers))})))" if answers else "NULL"
        self.sql = f"coalesce({known}, {self._unknown})::UINTEGER, CASE WHEN {known} IS NULL THEN {value} END"

    def codes(self, known: na.Array, other: na.Array, source: Source, bad: dict[int, RecordError]) -> Codes:
        """The codes of a batch; rows that do not fit are added to `bad`."""
        places = database.numbers(known)
        codes: Codes = self._codes[places]
        unknown = np.flatnonzero(places == self._unknown)
        if unknown.size:
            values, places_of_rows = other.to_pylist(), dict[int, Place]()
            for row in unknown.tolist():
                try:
                    places_of_rows[row] = self._look_up(values[row])
                except RecordError as fault:
                    bad.setdefault(row, fault)
            codes[list(places_of_rows)] = _codes_at(self._attribute, [*places_of_rows.values()], source)
        return codes

    def _look_up(self, value: str | None) -> Place:
        if value not in self._remembered:
            if len(self._remembered) == _MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[value] = self._place_of[value]
        return self._remembered[value]


# Text files as the engine reads them, with nothing left for it to guess.


MOST_ENGINE_LINE_BYTES = 1 << 24
"""No line is longer."""


def lines(path: Path, packing: Packing, most_bytes: int = MOST_ENGINE_LINE_BYTES) -> str:
    """A query's source with the column `line`, null for an empty line; one longer than `most_bytes` makes it fail."""
    how = "columns = {'line': 'VARCHAR'}, header = false, quote = '', escape = '', delim = E'\\x01'"
    return _source(path, packing, f"{how}, max_line_size = {most_bytes}")


def cells(path: Path, packing: Packing, width: int) -> str:
    """A query's source with the columns c0, c1 … of a CSV file with a header; an empty cell is null."""
    columns = ", ".join(f"c{place}: 'VARCHAR'" for place in range(width))
    how = f"columns = {{{columns}}}, header = true, delim = ',', quote = '\"', escape = '\"', strict_mode = true"
    return _source(path, packing, how)


def first_line(connection: duckdb.DuckDBPyConnection, path: Path, packing: Packing) -> str | None:
    """The first line of a file; None if there is none."""
    found = connection.execute(f"SELECT line FROM {lines(path, packing)} LIMIT 1").fetchall()
    return (found[0][0] or "").removeprefix("\ufeff") if found else None


def fault_in_line(fault: duckdb.Error) -> str | None:
    """Which line the engine could not read and why, without what the engine quotes of it; None for other faults."""
    line = re.match(r"Invalid Input Error: CSV Error on Line: ([0-9]+)\n", str(fault))
    if line is None:
        return None
    cells = re.search(r"\nExpected Number of Columns: ([0-9]+) Found: ([0-9]+)\n", str(fault))
    wrong = (
        unlike_header(int(cells[2]), int(cells[1])) if cells else "the line is not valid CSV; check its quotation marks"
    )
    return f"line {line[1]}: {wrong}"


def _source(path: Path, packing: Packing, how: str) -> str:
    always = "auto_detect = false, hive_partitioning = false"
    return f"read_csv({database.file(path)}, {how}, compression = '{packing}', {always})"


BATCH = 1 << 13

MOST_LINE_BYTES = 1 << 26
"""No line and no field is longer; a file without line ends is refused instead of read to its end."""

_OTHER_DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}


@dataclass(frozen=True)
class CsvTable:
    """An open CSV file whose header fits a schema.

    It is read once, from front to back, so that a pipe serves as well as a file.
    """

    path: Path
    schema: Schema
    spellings: tuple[Spelling, ...]
    names: tuple[str, ...]
    rows: Iterator[tuple[int, list[str]]]
    source: Source

    @cached_property
    def _positions(self) -> tuple[int, ...]:
        return tuple(map(self.names.index, self.schema.names))

    def batches(self) -> Iterator[Records]:
        """The records, some ten thousand at a time.

        After a row that does not fit, no more records come, but every row is checked before the table is refused.
        """
        faults, rows = Faults(str(self.path)), 0
        while batch := list(islice(self._answers(), BATCH)):
            rows += len(batch)
            try:
                codes = self._codes([row for _, row in batch])
            except RecordError:
                self._find_faults(batch, faults)
            else:
                if not faults.rows:
                    yield Records(self.schema, codes)
        if not rows:
            raise RecordError(f"{self.path} has a header but no rows; add the answers below it")
        faults.refuse()

    def _find_faults(self, batch: Sequence[tuple[int, list[str]]], faults: Faults) -> None:
        for number, row in batch:
            try:
                self._codes([row])
            except RecordError as fault:
                faults.add(f"line {number}", fault)

    def _answers(self) -> Iterator[tuple[int, list[str]]]:
        """The rows that are still to be read. An empty line is none; in a table of one column it is a blank answer."""
        return ((number, row or [""]) for number, row in self.rows if row or len(self.names) == 1)

    def _codes(self, rows: Sequence[Sequence[str]]) -> Codes:
        """The codes of these rows, column by column; refused if one of them does not fit."""
        for row in rows:
            if len(row) != len(self.names):
                raise RecordError(unlike_header(len(row), len(self.names)))
        codes = np.empty((len(rows), len(self._positions)), dtype=code_type(self.schema.sizes))
        columns = zip(self.schema.attributes, self.spellings, self._positions, strict=True)
        for place, (attribute, place_of, column) in enumerate(columns):
            codes[:, place] = _codes_at(attribute, [place_of[row[column]] for row in rows], self.source)
        return codes


@contextmanager
def open_table(path: Path, schema: Schema, source: Source, *, coded: bool = False) -> Iterator[CsvTable]:
    """Open a CSV file and fit its header to a schema; with `coded` it has codes where others have labels."""
    with open_binary(path) as file:
        lines = _lines(file, path)
        first = next(lines, None)
        if first is None:
            raise DocumentError(f"{path} is empty")
        rows = _rows(chain([first], lines), path)
        names = _names(path, schema, first, rows)
        spellings = tuple(spelling(attribute, coded=coded) for attribute in schema.attributes)
        yield CsvTable(path, schema, spellings, names, rows, source)


def column_names(path: Path) -> tuple[str, ...]:
    """The names in the header of a CSV file; what follows the header is not looked at."""
    with open_binary(path) as file:
        lines = _lines(file, path)
        first = next(lines, "")
        _check_delimiter(path, first)
        _, names = next(_rows(chain([first], lines), path))
    if not any(name.strip() for name in names):
        raise RecordError(f"{path} has no header; its first line must name the columns")
    if any("\n" in name for name in names):
        raise RecordError(f"{path}: the header goes over several lines; close its quotation marks")
    for place, column in enumerate(names):  # a file without a header has answers here, which are not quoted
        if column.strip() and column in names[:place]:
            first_place = names.index(column) + 1
            raise RecordError(
                f"{path}: columns {first_place} and {place + 1} have the same name; "
                "the first line must name every column"
            )
    return tuple(map(normal, names))


def _names(path: Path, schema: Schema, first: str, rows: Iterator[tuple[int, list[str]]]) -> tuple[str, ...]:
    """The names in a header that fits a schema; `first` is its first line as it stands."""
    if normal(first.strip().strip('"')) not in schema.names:
        _check_delimiter(path, first)
    names = tuple(map(normal, next(rows)[1]))
    check_columns(str(path), schema, names)
    return names


def _check_delimiter(path: Path, header: str) -> None:
    """Refuse a header whose columns are separated by something else than commas."""
    for delimiter, kind in _OTHER_DELIMITERS.items():
        if "," not in header and delimiter in header:
            raise RecordError(f"{path}: its columns seem to be separated by {kind}; save it with commas between them")


def _rows(lines: Iterator[str], path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file with the number of the line that each ends on."""
    csv.field_size_limit(MOST_LINE_BYTES)
    reader = csv.reader(lines, strict=True)
    ended = 0
    try:
        for row in reader:
            ended = reader.line_num
            yield ended, row
    except csv.Error:  # a quotation mark that is never closed takes all lines to the end with it
        raise RecordError(f"{path}, line {ended + 1}: the line is not valid CSV; check its quotation marks") from None


def _lines(file: BinaryIO, path: Path) -> Iterator[str]:
    for number, raw in enumerate(iter(lambda: file.readline(MOST_LINE_BYTES), b""), start=1):
        if len(raw) == MOST_LINE_BYTES:
            raise RecordError(f"{path}, line {number}: longer than {MOST_LINE_BYTES >> 20} MiB; is this a CSV file?")
        line = _decoded(raw)
        if line is None:
            raise RecordError(f"{path}, line {number}: the text is not UTF-8; save the file as UTF-8")
        yield line.removeprefix("\ufeff") if number == 1 else line


def _decoded(raw: bytes) -> str | None:
    """The text of a line; None, and no error that would carry the line along, if it is not UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


Notice = Callable[[str], None]
"""Hears a sentence that people should read."""


@dataclass
class AnswerFiles:
    """Answers in files, each with columns of its own order; read once, from front to back.

    `ignored` are the columns, of the files read so far, that the schema does not name.
    """

    paths: Sequence[Path]
    schema: Schema
    connection: duckdb.DuckDBPyConnection
    source: Source
    coded: bool = False
    notice: Notice = silently
    ignored: dict[str, None] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How many rows there are, for a progress bar; 0 where that is not known beforehand."""
        if not all(format_of(path) == Format("parquet") for path in self.paths):
            return 0
        try:
            return database.rows_in_parquet(self.connection, self.paths)
        except duckdb.Error:  # which one cannot be read is said when its turn comes
            return 0

    def batches(self, advance: Advance = silently) -> Iterator[Records]:
        """The records, some hundred thousand at a time; `advance` hears how many there were."""
        rows = 0
        for path in self.paths:
            known = format_of(path) or Format("csv")
            plain = known == Format("csv")
            for records in self._plain_csv(path) if plain else self._by_engine(path, known):
                rows += len(records)
                yield records
                advance(rows)

    def read_all(self, advance: Advance = silently) -> Records:
        """All records at once."""
        return joined(self.batches(advance))

    def _by_engine(self, path: Path, known: Format) -> Iterator[Records]:
        if path.is_fifo():  # the engine would wait for ever: it opens a file more than once
            raise DocumentError(f"{path} is a pipe, through which answers come as plain CSV only; give a file")
        # The engine's own messages quote what is in a file, so that none of them is passed on.
        try:
            answers = self._answers(path, known)
            self._ignore(answers.ignored)
            yield from answers.batches()
        except duckdb.Error as fault:
            raise _unreadable(path, known, fault) from None

    def _plain_csv(self, path: Path) -> Iterator[Records]:
        """Read by the engine as far as it gets; from where it cannot go on, line by line with care."""
        with open_table(path, self.schema, self.source, coded=self.coded) as table:
            self._ignore([name for name in table.names if name not in self.schema.names])
            done = 0
            if len(table.names) > 1 and is_plain(path):
                with suppress(RecordError, duckdb.Error):
                    for records in self._csv(path, Format("csv"), table.names).batches():
                        yield records
                        done += len(records)
                    return
            for records in table.batches():
                if len(records) > done:
                    yield Records(self.schema, records.codes[done:])
                done = max(done - len(records), 0)

    def _ignore(self, columns: Sequence[str]) -> None:
        if fresh := [column for column in columns if column not in self.ignored]:
            self.ignored |= dict.fromkeys(fresh)
            self.notice(say_ignored(fresh))

    def _answers(self, path: Path, known: Format) -> Answers:
        match known.kind:
            case "parquet":
                table = self.connection.sql(f"FROM read_parquet({database.file(path)}, hive_partitioning = false)")
                return Answers(str(path), self.schema, table, self.coded, source=self.source)
            case "csv":
                line = first_line(self.connection, path, known.packing)
                if line is None:
                    raise DocumentError(f"{path} is empty")
                return self._csv(path, known, _names(path, self.schema, line, _rows(iter([line]), path)))
            case "ndjson":
                return Answers(str(path), self.schema, self._objects(path, known), self.coded, source=self.source)

    def _csv(self, path: Path, known: Format, names: tuple[str, ...]) -> Answers:
        table = self.connection.sql(f"FROM {cells(path, known.packing, len(names))}")
        return Answers(str(path), self.schema, table, self.coded, names, self.source)

    def _objects(self, path: Path, known: Format) -> duckdb.DuckDBPyRelation:
        """A column for each attribute, whose name a file may spell with letters and accents apart."""
        names = self.schema.names
        folded = [key.lower() for key in names]
        if alike := [key for key in names if folded.count(key.lower()) > 1]:
            raise RecordError(f"{path}: {quoted(alike)} differ by capitals alone; give such answers as CSV")
        spelled = {key: list(dict.fromkeys((key, normalize("NFD", key)))) for key in names}
        columns = ", ".join(f"{text(key)}: 'VARCHAR'" for both in spelled.values() for key in both)
        how = f"format = 'newline_delimited', compression = '{known.packing}', hive_partitioning = false"
        either = ", ".join(f"coalesce({', '.join(map(name, both))}) AS {name(key)}" for key, both in spelled.items())
        table = self.connection.sql(
            f"SELECT {either} FROM read_json({database.file(path)}, columns = {{{columns}}}, {how})"
        )
        self._check_keys(path, table)
        return table

    def _check_keys(self, path: Path, table: duckdb.DuckDBPyRelation) -> None:
        """Refuse a file in which no object has the key of a question that may be skipped: it is likely misspelled."""
        optional = [attribute.name for attribute in self.schema.attributes if attribute.optional]
        if optional:
            (counts,) = table.aggregate(", ".join(f"count({name(key)})" for key in optional)).fetchall()
            if missing := [key for key, count in zip(optional, counts, strict=True) if not count]:
                raise RecordError(f"{path} has no answer to {quoted(missing)} in any line; is the key spelled so?")


@contextmanager
def open_answers(
    paths: Sequence[Path],
    schema: Schema,
    source: Source | None = None,
    *,
    coded: bool = False,
    notice: Notice = silently,
) -> Iterator[AnswerFiles]:
    """The answers in files, in directories and in files that patterns match; the source rounds numbers of a grid."""
    for path in paths:
        refuse_spreadsheet(path)
    with engine() as connection:
        yield AnswerFiles(every_file(paths), schema, connection, source or Stream.from_system(), coded, notice)


def _unreadable(path: Path, known: Format, fault: duckdb.Error) -> DocumentError:
    if in_line := fault_in_line(fault):
        return DocumentError(f"{path}, {in_line}")
    if isinstance(fault, duckdb.OutOfMemoryException):
        return DocumentError(f"{path} needs more memory than the engine may take; split it into smaller files")
    kind = {"csv": "CSV", "ndjson": "lines of JSON", "parquet": "Parquet"}[known.kind]
    return unreadable_as(path, kind if known.packing == "none" else f"{kind} compressed by {known.packing}")
