"""Files of participants' answers: CSV, NDJSON and Parquet, many of them, one after the other."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import numpy as np

from privtally.errors import DocumentError, RecordError
from privtally.files import Advance, silently
from privtally.schema import Records, Schema
from privtally.tables.answers import Answers
from privtally.tables.csv_table import open_table
from privtally.tables.database import engine, text
from privtally.tables.faults import say_ignored
from privtally.tables.paths import Format, every_file, format_of, is_plain

Notice = Callable[[str], None]
"""Hears a sentence that people should read."""


def tell_nobody(sentence: str) -> None:
    """Drop a sentence."""


@dataclass
class AnswerFiles:
    """Answers in files, each with columns of its own order; read once, from front to back.

    `ignored` are the columns, of the files read so far, that the schema does not name.
    """

    paths: Sequence[Path]
    schema: Schema
    connection: duckdb.DuckDBPyConnection
    coded: bool = False
    notice: Notice = tell_nobody
    ignored: dict[str, None] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How many rows there are, for a progress bar; 0 where that is not known beforehand."""
        if not all(format_of(path) == Format("parquet") for path in self.paths):
            return 0
        try:
            files = ", ".join(map(text, self.paths))
            found = self.connection.execute(f"SELECT sum(num_rows) FROM parquet_file_metadata([{files}])").fetchall()
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
        # The engine's own messages quote what is in a file, so that none of them is passed on.
        try:
            answers = Answers(str(path), self.schema, self._relation(path, known), self.coded)
            self._ignore(answers.ignored)
            yield from answers.batches()
        except duckdb.Error as fault:
            raise _unreadable(path, known, fault) from None

    def _plain_csv(self, path: Path) -> Iterator[Records]:
        """Read by the engine as far as it gets; what it cannot read is read again with care, line by line."""
        with open_table(path, self.schema, coded=self.coded) as table:
            self._ignore(table.ignored)
            if table.width == 1 or not is_plain(path):
                yield from table.batches()
                return
        done = 0
        with suppress(RecordError, duckdb.Error):
            answers = Answers(str(path), self.schema, self._relation(path, Format("csv")), self.coded)
            for records in answers.batches():
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

    def _relation(self, path: Path, known: Format) -> duckdb.DuckDBPyRelation:
        file = text(path)
        match known.kind:
            case "parquet":
                return self.connection.sql(f"FROM read_parquet({file})")  # a quoted name
            case "csv":
                how = "all_varchar = true, header = true, delim = ',', quote = '\"', escape = '\"', strict_mode = true"
                return self.connection.sql(
                    f"FROM read_csv({file}, {how}, null_padding = false, compression = '{known.packing}')"
                )
            case "ndjson":
                columns = ", ".join(f"{text(own)}: 'VARCHAR'" for own in self.schema.names)
                how = f"format = 'newline_delimited', compression = '{known.packing}'"
                return self.connection.sql(f"FROM read_json({file}, columns = {{{columns}}}, {how})")


@contextmanager
def open_answers(
    paths: Sequence[Path], schema: Schema, *, coded: bool = False, notice: Notice = tell_nobody
) -> Iterator[AnswerFiles]:
    """The answers in files, in directories and in files that patterns match."""
    with engine() as connection:
        yield AnswerFiles(every_file(paths), schema, connection, coded, notice)


def _unreadable(path: Path, known: Format, fault: duckdb.Error) -> DocumentError:
    if not path.exists():
        return DocumentError(f"cannot read {path}: there is no such file")
    kind = {"csv": "CSV", "ndjson": "lines of JSON", "parquet": "Parquet"}[known.kind]
    packed = "" if known.packing == "none" else f" compressed by {known.packing}"
    if isinstance(fault, duckdb.OutOfMemoryException):
        return DocumentError(f"{path} needs more memory than the engine may take; split it into smaller files")
    return DocumentError(f"{path} cannot be read as {kind}{packed}; it may be cut short or of another kind")
