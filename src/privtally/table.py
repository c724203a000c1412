"""Participants' answers in a CSV file: a header of attribute names, labels as values. Raw data; nothing is echoed."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO

import numpy as np

from privtally.client import codes_of
from privtally.errors import DocumentError, RecordError
from privtally.files import Advance, open_binary, silently
from privtally.schema import Records, Schema, code_type

_BATCH = 1 << 16


@dataclass(frozen=True)
class CsvTable:
    """A CSV file whose header fits a schema; `ignored` are the columns that the schema does not name."""

    path: Path
    schema: Schema
    width: int
    positions: tuple[int, ...]
    ignored: tuple[str, ...]

    def say_ignored(self) -> str:
        """A sentence about the ignored columns."""
        names = ", ".join(repr(name) for name in self.ignored)
        return f"Ignored {'column' if len(self.ignored) == 1 else 'columns'} {names}: the schema does not name them."

    def batches(self, advance: Advance = silently) -> Iterator[Records]:
        """The records, some ten thousand at a time; `advance` hears how many bytes have been read."""
        with open_binary(self.path) as file, _as_text(file) as text:
            lines = _rows(text, self.path)
            next(lines)
            batch: list[list[int]] = []
            found = False
            for number, row in lines:
                if not row:
                    continue
                found = True
                batch.append(self._codes(number, row))
                if len(batch) == _BATCH:
                    yield self._records(batch)
                    advance(file.tell())
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


def open_table(path: Path, schema: Schema) -> CsvTable:
    """Read the header of a CSV file and fit it to a schema."""
    with open_binary(path) as file, _as_text(file) as text:
        try:
            _, header = next(_rows(text, path))
        except StopIteration:
            raise DocumentError(f"{path} is empty") from None
    missing = [name for name in schema.names if name not in header]
    if missing:
        raise RecordError(f"{path} has no column {', '.join(repr(name) for name in missing)}; its header must name it")
    twice = [name for name in schema.names if header.count(name) > 1]
    if twice:
        raise RecordError(f"{path} has the column {twice[0]!r} twice")
    ignored = tuple(name for name in header if name not in schema.names)
    return CsvTable(path, schema, len(header), tuple(map(header.index, schema.names)), ignored)


def _as_text(file: BinaryIO) -> io.TextIOWrapper:
    return io.TextIOWrapper(file, encoding="utf-8-sig", newline="")


def _rows(text: TextIO, path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file with the number of the line that each ends on."""
    reader = csv.reader(text, strict=True)
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except UnicodeDecodeError:
            raise RecordError(f"{path}, after line {reader.line_num}: the text is not UTF-8") from None
        except csv.Error:
            raise RecordError(f"{path}, line {reader.line_num}: the line is not valid CSV") from None
        yield reader.line_num, row
