"""Participants' answers in a CSV file: a header of attribute names, labels as values. Raw data; nothing is echoed."""

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from privtally.errors import DocumentError, RecordError
from privtally.files import Advance, open_binary, silently
from privtally.participant.respond import codes_of
from privtally.schema import Records, Schema, code_type

_BATCH = 1 << 16


@dataclass(frozen=True)
class CsvTable:
    """An open CSV file whose header fits a schema; `ignored` are the columns that the schema does not name.

    It is read once, from front to back, so that a pipe serves as well as a file.
    """

    path: Path
    schema: Schema
    width: int
    positions: tuple[int, ...]
    ignored: tuple[str, ...]
    file: BinaryIO
    rows: Iterator[tuple[int, list[str]]]

    def say_ignored(self) -> str:
        """A sentence about the ignored columns."""
        names = ", ".join(repr(name) for name in self.ignored)
        if len(self.ignored) == 1:
            return f"Ignored column {names}: the schema does not name it."
        return f"Ignored columns {names}: the schema does not name them."

    def batches(self, advance: Advance = silently) -> Iterator[Records]:
        """The records, some ten thousand at a time; `advance` hears how many bytes have been read."""
        batch: list[list[int]] = []
        found = False
        for number, row in self.rows:
            if not row:
                continue
            found = True
            batch.append(self._codes(number, row))
            if len(batch) == _BATCH:
                yield self._records(batch)
                advance(self._position())
                batch.clear()
        if not found:
            raise RecordError(f"{self.path} has a header but no rows")
        if batch:
            yield self._records(batch)

    def read_all(self, advance: Advance = silently) -> Records:
        """All records at once."""
        return Records(self.schema, np.concatenate([records.codes for records in self.batches(advance)]))

    def _codes(self, number: int, row: Sequence[str]) -> list[int]:
        if len(row) != self.width:
            raise RecordError(f"{self.path}, line {number}: {len(row)} fields where the header has {self.width}")
        try:
            return codes_of(self.schema, [row[position] for position in self.positions])
        except RecordError as fault:
            raise RecordError(f"{self.path}, line {number}: {fault}") from None

    def _records(self, batch: list[list[int]]) -> Records:
        return Records(self.schema, np.array(batch, dtype=code_type(self.schema.sizes)))

    def _position(self) -> int:
        return self.file.tell() if self.file.seekable() else 0


@contextmanager
def open_table(path: Path, schema: Schema) -> Iterator[CsvTable]:
    """Open a CSV file and fit its header to a schema."""
    with open_binary(path) as file:
        rows = _rows(file, path)
        _, header = next(rows, (0, None))
        if header is None:
            raise DocumentError(f"{path} is empty")
        missing = [name for name in schema.names if name not in header]
        if missing:
            names = ", ".join(repr(name) for name in missing)
            raise RecordError(f"{path} has no column {names}; its header must name it")
        twice = [name for name in schema.names if header.count(name) > 1]
        if twice:
            raise RecordError(f"{path} has the column {twice[0]!r} twice")
        ignored = tuple(name for name in header if name not in schema.names)
        yield CsvTable(path, schema, len(header), tuple(map(header.index, schema.names)), ignored, file, rows)


def _rows(file: BinaryIO, path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file with the number of the line that each ends on."""
    reader = csv.reader(_lines(file, path), strict=True)
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error:
            raise RecordError(f"{path}, line {reader.line_num}: the line is not valid CSV") from None
        yield reader.line_num, row


def _lines(file: BinaryIO, path: Path) -> Iterator[str]:
    for number, raw in enumerate(file, start=1):
        line = _decoded(raw)
        if line is None:
            raise RecordError(f"{path}, line {number}: the text is not UTF-8")
        yield line.removeprefix("\ufeff") if number == 1 else line


def _decoded(raw: bytes) -> str | None:
    """The line as text, or None: the codec's own error would carry the line along."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
