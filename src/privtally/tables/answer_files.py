"""Files of participants' answers: CSV, NDJSON and Parquet, many of them, one after the other."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from unicodedata import normalize

import duckdb
import numpy as np

from privtally.errors import DocumentError, RecordError
from privtally.files import Advance, missing, silently
from privtally.schema import Records, Schema
from privtally.tables import csv_engine, database, zstd
from privtally.tables.answers import Answers
from privtally.tables.csv_table import Header, open_table, read_header
from privtally.tables.database import engine, name, text
from privtally.tables.faults import quoted, say_ignored
from privtally.tables.paths import Format, every_file, format_of, is_plain

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
    coded: bool = False
    notice: Notice = silently
    ignored: dict[str, None] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How many rows there are, for a progress bar; 0 where that is not known beforehand."""
        if not all(format_of(path) == Format("parquet") for path in self.paths):
            return 0
        try:
            files = database.files(self.paths)
            found = self.connection.execute(f"SELECT sum(num_rows) FROM parquet_file_metadata({files})").fetchall()
        except duckdb.Error:  # which one cannot be read is said when its turn comes
            return 0
        return int(found[0][0])

    def batches(self, advance: Advance = silently) -> Iterator[Records]:
        """The records, some hundred thousand at a time; `advance` hears how many there were."""
        rows = 0
        for path in self.paths:
            for records in self._file(path):
                rows += len(records)
                yield records
                advance(rows)

    def read_all(self, advance: Advance = silently) -> Records:
        """All records at once."""
        return Records(self.schema, np.concatenate([records.codes for records in self.batches(advance)]))

    def _file(self, path: Path) -> Iterator[Records]:
        known = format_of(path) or Format("csv")
        if known == Format("csv"):
            return self._plain_csv(path)
        return self._by_engine(path, known)

    def _by_engine(self, path: Path, known: Format) -> Iterator[Records]:
        if path.is_fifo():  # the engine would wait for ever: it opens a file more than once
            raise DocumentError(f"{path} is a pipe, through which answers come as plain CSV only; give a file")
        if known.packing == "zstd":
            zstd.check_whole(path)
        # The engine's own messages quote what is in a file, so that none of them is passed on.
        try:
            answers = self._answers(path, known)
            self._ignore(answers.ignored)
            yield from answers.batches()
        except duckdb.Error as fault:
            raise _unreadable(path, known, fault) from None

    def _plain_csv(self, path: Path) -> Iterator[Records]:
        """Read by the engine as far as it gets; what it cannot read is read again with care, line by line."""
        with open_table(path, self.schema, coded=self.coded) as table:
            header = table.header
            self._ignore(header.ignored)
            if table.width == 1 or not is_plain(path):
                yield from table.batches()
                return
        done = 0
        with suppress(RecordError, duckdb.Error):
            for records in self._csv(path, Format("csv"), header).batches():
                yield records
                done += len(records)
            return
        with open_table(path, self.schema, coded=self.coded) as table:
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
                return Answers(str(path), self.schema, table, self.coded)
            case "csv":
                return self._csv(path, known, self._header(path, known))
            case "ndjson":
                return Answers(str(path), self.schema, self._objects(path, known), self.coded)

    def _header(self, path: Path, known: Format) -> Header:
        """The header of a compressed CSV file."""
        line = csv_engine.first_line(self.connection, path, known.packing)
        if line is None:
            raise DocumentError(f"{path} is empty")
        return read_header(path, self.schema, line)

    def _csv(self, path: Path, known: Format, header: Header) -> Answers:
        table = self.connection.sql(f"FROM {csv_engine.cells(path, known.packing, len(header.names))}")
        return Answers(str(path), self.schema, table, self.coded, header.names)

    def _objects(self, path: Path, known: Format) -> duckdb.DuckDBPyRelation:
        """A column for each attribute, whose name a file may spell with letters and accents apart."""
        names = self.schema.names
        if len({own.lower() for own in names}) < len(names):
            alike = [own for own in names if [other.lower() for other in names].count(own.lower()) > 1]
            raise RecordError(f"{path}: {quoted(alike)} differ by capitals alone; give such answers as CSV")
        spelled = {own: list(dict.fromkeys((own, normalize("NFD", own)))) for own in names}
        columns = ", ".join(f"{text(own)}: 'VARCHAR'" for both in spelled.values() for own in both)
        how = f"format = 'newline_delimited', compression = '{known.packing}', hive_partitioning = false"
        either = ", ".join(f"coalesce({', '.join(map(name, both))}) AS {name(own)}" for own, both in spelled.items())
        table = self.connection.sql(
            f"SELECT {either} FROM read_json({database.file(path)}, columns = {{{columns}}}, {how})"
        )
        self._check_keys(path, table)
        return table

    def _check_keys(self, path: Path, table: duckdb.DuckDBPyRelation) -> None:
        """Refuse a file in which no object has the key of a question that may be skipped: it is likely misspelled."""
        optional = [own.name for own in self.schema.attributes if own.optional]
        if optional:
            (found,) = table.aggregate(", ".join(f"count({name(own)})" for own in optional)).fetchall()
            missing = [own for own, many in zip(optional, found, strict=True) if not many]
            if missing:
                raise RecordError(f"{path} has no answer to {quoted(missing)} in any line; is the key spelled so?")


@contextmanager
def open_answers(
    paths: Sequence[Path], schema: Schema, *, coded: bool = False, notice: Notice = silently
) -> Iterator[AnswerFiles]:
    """The answers in files, in directories and in files that patterns match."""
    with engine() as connection:
        yield AnswerFiles(every_file(paths), schema, connection, coded, notice)


def _unreadable(path: Path, known: Format, fault: duckdb.Error) -> DocumentError:
    if not path.exists():
        return DocumentError(missing(path))
    if in_line := csv_engine.fault_in_line(fault):
        return DocumentError(f"{path}, {in_line}")
    kind = {"csv": "CSV", "ndjson": "lines of JSON", "parquet": "Parquet"}[known.kind]
    packed = "" if known.packing == "none" else f" compressed by {known.packing}"
    if isinstance(fault, duckdb.OutOfMemoryException):
        return DocumentError(f"{path} needs more memory than the engine may take; split it into smaller files")
    return DocumentError(f"{path} cannot be read as {kind}{packed}; it may be cut short or of another kind")
