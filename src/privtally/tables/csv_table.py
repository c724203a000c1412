"""Participants' answers in a CSV file: a header of attribute names, labels as values. Raw data; nothing is echoed."""

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

from privtally.errors import DocumentError, RecordError
from privtally.exact.wire import normal
from privtally.files import Advance, open_binary, position, silently
from privtally.schema import Records, Schema, code_type
from privtally.tables.faults import Faults, quoted, unlike_header
from privtally.tables.spelling import Spelling, spelling

_BATCH = 1 << 13

MOST_LINE_BYTES = 1 << 26
"""No line and no field is longer; a file without line ends is refused instead of read to its end."""

_OTHER_DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}


@dataclass(frozen=True)
class Header:
    """The columns of a CSV file; `ignored` are those that the schema does not name."""

    names: tuple[str, ...]
    ignored: tuple[str, ...]

    @classmethod
    def fitted(cls, path: Path, schema: Schema, cells: Sequence[str]) -> "Header":
        """The header of a file, refused if it does not fit the schema."""
        names = tuple(map(normal, cells))
        missing = [name for name in schema.names if name not in set(names)]
        if missing:
            raise RecordError(f"{path} has no column {quoted(missing)}; its header must name it")
        twice = [name for name in schema.names if names.count(name) > 1]
        if twice:
            raise RecordError(f"{path} has the column {twice[0]!r} twice; give every column another name")
        return cls(names, tuple(name for name in names if name not in set(schema.names)))


@dataclass(frozen=True)
class CsvTable:
    """An open CSV file whose header fits a schema.

    It is read once, from front to back, so that a pipe serves as well as a file.
    """

    path: Path
    schema: Schema
    spellings: tuple[Spelling, ...]
    header: Header
    file: BinaryIO
    rows: Iterator[tuple[int, list[str]]]

    @property
    def width(self) -> int:
        """How many columns there are."""
        return len(self.header.names)

    @cached_property
    def _positions(self) -> tuple[int, ...]:
        return tuple(map(self.header.names.index, self.schema.names))

    def batches(self, advance: Advance = silently) -> Iterator[Records]:
        """The records, some ten thousand at a time; `advance` hears how many bytes have been read.

        After a row that does not fit, no more records come, but every row is checked before the table is refused.
        """
        faults, rows = Faults(str(self.path)), 0
        while batch := list(islice(self._answers(), _BATCH)):
            rows += len(batch)
            records = self._records([row for _, row in batch])
            if records is None:
                for number, row in batch:
                    if fault := self._fault(row):
                        faults.add(f"line {number}", fault)
            elif not faults.many:
                yield records
            advance(position(self.file))
        if not rows:
            raise RecordError(f"{self.path} has a header but no rows; add the answers below it")
        faults.refuse()

    def read_all(self, advance: Advance = silently) -> Records:
        """All records at once."""
        return Records(self.schema, np.concatenate([records.codes for records in self.batches(advance)]))

    def _answers(self) -> Iterator[tuple[int, list[str]]]:
        """The rows that are still to be read. An empty line is none; in a table of one column it is a blank answer."""
        return ((number, row or [""]) for number, row in self.rows if row or self.width == 1)

    def _records(self, rows: Sequence[Sequence[str]]) -> Records | None:
        """The records of these rows, column by column; None if one of them does not fit."""
        if any(len(row) != self.width for row in rows):
            return None
        codes = np.empty((len(rows), len(self._positions)), dtype=code_type(self.schema.sizes))
        for own, (code_of, place) in enumerate(zip(self.spellings, self._positions, strict=True)):
            try:
                codes[:, own] = [code_of[row[place]] for row in rows]
            except RecordError:
                return None
        return Records(self.schema, codes)

    def _fault(self, row: Sequence[str]) -> RecordError | None:
        """What does not fit in a row."""
        if len(row) != self.width:
            return RecordError(unlike_header(len(row), self.width))
        try:
            for code_of, place in zip(self.spellings, self._positions, strict=True):
                code_of[row[place]]
        except RecordError as fault:
            return fault
        return None


@contextmanager
def open_table(path: Path, schema: Schema, *, coded: bool = False) -> Iterator[CsvTable]:
    """Open a CSV file and fit its header to a schema; with `coded` it has codes where others have labels."""
    with open_binary(path) as file:
        lines = _lines(file, path)
        first = next(lines, None)
        if first is None:
            raise DocumentError(f"{path} is empty")
        rows = _rows(chain([first], lines), path)
        header = _fitted(path, schema, first, rows)
        spellings = tuple(spelling(attribute, coded=coded) for attribute in schema.attributes)
        yield CsvTable(path, schema, spellings, header, file, rows)


def column_names(path: Path) -> tuple[str, ...]:
    """The names in the header of a CSV file; what follows the header is not looked at."""
    with open_binary(path) as file:
        _, names = next(_rows(_lines(file, path), path), (0, []))
    if not any(name.strip() for name in names):
        raise RecordError(f"{path} has no header; its first line must name the columns")
    for delimiter, kind in _OTHER_DELIMITERS.items():
        if len(names) == 1 and delimiter in names[0]:
            raise RecordError(_separated(path, kind))
    if any("\n" in name for name in names):
        raise RecordError(f"{path}: the header goes over several lines; close its quotation marks")
    for place, name in enumerate(names):  # a file without a header has answers here, which are not quoted
        if name.strip() and name in names[:place]:
            first = names.index(name) + 1
            raise RecordError(
                f"{path}: columns {first} and {place + 1} have the same name; the first line must name every column"
            )
    return tuple(map(normal, names))


def read_header(path: Path, schema: Schema, line: str) -> Header:
    """The header of a file whose first line was read already."""
    return _fitted(path, schema, line, _rows(iter([line]), path))


def _fitted(path: Path, schema: Schema, first: str, rows: Iterator[tuple[int, list[str]]]) -> Header:
    _check_delimiter(path, schema, first)
    return Header.fitted(path, schema, next(rows)[1])


def _check_delimiter(path: Path, schema: Schema, header: str) -> None:
    """Refuse a header whose columns are separated by something else than commas."""
    if set(header.rstrip("\r\n").split(",")) & set(schema.names):
        return
    for delimiter, kind in _OTHER_DELIMITERS.items():
        cells = {normal(cell.strip().strip('"')) for cell in header.split(delimiter)}
        if len(cells) > 1 and cells & set(schema.names):
            raise RecordError(_separated(path, kind))


def _separated(path: Path, kind: str) -> str:
    return f"{path}: its columns seem to be separated by {kind}; save it with commas between them"


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
