"""DuckDB inside this process: the engine that reads and writes files, within a stated memory."""

import io
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from glob import glob, has_magic
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

import duckdb
import nanoarrow as na
import numpy as np
from nanoarrow import ipc
from numpy.typing import NDArray

from privtally.errors import DocumentError, RecordError
from privtally.files import STANDARD, missing

Kind = Literal["csv", "ndjson", "parquet"]
Packing = Literal["none", "gzip"]

_KINDS: dict[str, Kind] = {".csv": "csv", ".ndjson": "ndjson", ".jsonl": "ndjson", ".parquet": "parquet"}


class Format(NamedTuple):
    """What a file holds, and how it is compressed."""

    kind: Kind
    packing: Packing = "none"


def format_of(path: Path) -> Format | None:
    """The format that a file's name states: `.csv`, `.ndjson`, `.jsonl` (each also `.gz`), `.parquet`."""
    *_, kind, packing = ["", "", *(suffix.lower() for suffix in path.suffixes)]
    if packing == ".gz" and _KINDS.get(kind, "parquet") != "parquet":
        return Format(_KINDS[kind], "gzip")
    return Format(_KINDS[packing]) if packing in _KINDS else None


def check_format(path: Path) -> None:
    """Refuse to write a file whose name says that it is compressed, but not in a way that is known."""
    if _is_zstd(path):
        raise DocumentError(f"{path}: nothing is compressed by zstd here; end the name in .gz or .parquet")
    if path.suffix.lower() == ".gz" and format_of(path) is None:
        raise DocumentError(f"{path}: only .csv, .ndjson and .jsonl files can end in .gz; Parquet is compact")


def _is_zstd(path: Path) -> bool:
    return path.suffix.lower() == ".zst"


def is_plain(path: Path) -> bool:
    """Whether a path leads to a plain file, which can be read more than once; a pipe cannot."""
    return path != STANDARD and path.is_file()


def every_file(paths: Sequence[Path]) -> list[Path]:
    """The files that are named, that patterns match, and that directories hold at any depth, in the names' order."""
    files = [file for path in paths for file in _files(path)]
    refuse_twice(files)
    for path in filter(_is_zstd, files):
        raise DocumentError(f"{path} is compressed by zstd, which is not read; decompress it: zstd -d {path}")
    return files


def refuse_twice(paths: Iterable[Path]) -> None:
    """Refuse a file that is named twice, under whatever names."""
    seen: set[Path] = set()
    for path in paths:
        target = _target(path)
        if target in seen:
            raise DocumentError(f"{path} is named twice; name every file once")
        seen.add(target)


def _target(path: Path) -> Path:
    """What a path leads to, the same for all its names."""
    try:
        return path.resolve()
    except RuntimeError:
        raise DocumentError(f"cannot read {path}: its links lead in a circle") from None


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        below = (file for file in path.rglob("*") if not _hidden(file.relative_to(path).parts))
        inside = sorted(filter(_is_data, below))
        if not inside:
            raise DocumentError(f"{path} has no file whose name ends in {', '.join(_KINDS)} or .gz")
        yield from inside
    elif has_magic(str(path)) and not path.exists():
        matching = sorted(map(Path, glob(str(path), recursive=True)))  # noqa: PTH207  # a pattern may begin anywhere
        given = next(place for place, part in enumerate(path.parts) if has_magic(part))
        if not _hidden(path.parts[given:]):  # who writes a pattern for hidden names means them
            matching = [match for match in matching if not _hidden(match.parts[given:])]
        if not matching:
            raise DocumentError(f"no file matches {path}; check the pattern and the directory")
        yield from dict.fromkeys(file for match in matching for file in _files(match))
    else:
        yield path


def _is_data(path: Path) -> bool:
    """Whether a path is a file of data; a directory may be named like one, and its files are met by themselves."""
    return (format_of(path) is not None or _is_zstd(path)) and path.is_file()


def _hidden(parts: Sequence[str]) -> bool:
    """Whether a name is none of the data's: drafts, markers and logs, by the custom of lakes."""
    return any(part.startswith((".", "_")) for part in parts)


@contextmanager
def temporary_room() -> Iterator[None]:
    """Refuse in one sentence when a temporary file cannot be written."""
    try:
        yield
    except OSError as fault:
        where = tempfile.gettempdir()
        raise DocumentError(
            f"cannot write temporary files in {where}: {fault.strerror}; name another place in TMPDIR"
        ) from None


def unreadable_as(path: Path, kind: str) -> DocumentError:
    """That a file is not there, or not of the kind that its name states."""
    if not path.exists():
        return DocumentError(missing(path))
    return DocumentError(f"{path} cannot be read as {kind}; it may be cut short or of another kind")


MOST_NAMED, MOST_LETTERS = 10, 40
"""How many bad rows or columns a message names, and how much of a column's name it quotes."""


@dataclass
class Faults:
    """The rows of a table that do not fit; the first ones are named under what is wrong, the others counted."""

    where: str
    rows: int = 0
    first: dict[str, list[str]] = field(default_factory=dict)
    """Where the first rows stand, by their fault."""

    def add(self, place: str, fault: RecordError) -> None:
        """Note a row that does not fit."""
        self.rows += 1
        if self.rows <= MOST_NAMED:
            self.first.setdefault(str(fault), []).append(place)

    def refuse(self) -> None:
        """Refuse the table if there was one."""
        if self.rows:
            named = "; ".join(f"{', '.join(places)}: {fault}" for fault, places in self.first.items())
            more = f"; and {self.rows - MOST_NAMED:,} more" if self.rows > MOST_NAMED else ""
            said = "1 row does" if self.rows == 1 else f"{self.rows:,} rows do"
            raise RecordError(f"{self.where}, {named}{more} ({said} not fit the schema)")


def say_ignored(columns: Sequence[str]) -> str:
    """A sentence about columns that are not read."""
    what, them = ("column", "it") if len(columns) == 1 else ("columns", "them")
    return f"Ignored {what} {quoted(columns)}: the schema does not name {them}."


def unlike_header(cells: int, columns: int) -> str:
    """What is wrong with a row that has another number of cells than the header."""
    if cells < columns:
        return "fewer cells than the header; write a comma for every column"
    return "more cells than the header; put an answer that has a comma in it in quotation marks"


def quoted(names: Sequence[str]) -> str:
    """Columns' names for a message, which a table of thousands must not flood.

    A name ends with its line: where a quotation mark in a header is not closed, the answers of the next lines follow.
    """
    shown = [repr(_short(name)) for name in names[:MOST_NAMED]]
    rest = len(names) - len(shown)
    return ", ".join(shown) + (f" and {rest:,} more" if rest else "")


def _short(name: str) -> str:
    first = name.partition("\n")[0][:MOST_LETTERS].rstrip("\r")
    return first if first == name else f"{first}…"


MEMORY = "512MB"
"""What the engine may hold; what is larger goes to temporary files."""


@contextmanager
def engine(threads: int = 0) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory, on so many cores or on all; its temporary files stand where TMPDIR says and go with it."""
    with tempfile.TemporaryDirectory(prefix="privtally-") as spill:
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": MEMORY,
            "temp_directory": spill,
            "autoinstall_known_extensions": False,  # nothing is fetched from anywhere
            "autoload_known_extensions": False,
        }
        if threads:
            config["threads"] = threads
        with duckdb.connect(":memory:", config=config) as connection:
            with suppress(
                duckdb.InvalidInputException
            ):  # a notebook without ipywidgets has none, and no setting for it
                connection.execute("SET enable_progress_bar = false")
            yield connection


def text(value: str | Path) -> str:
    """A text as SQL writes it."""
    quoted = str(value).replace("'", "''")
    return f"'{quoted}'"


def literal(path: Path) -> str:
    """A path as the engine names it, which would otherwise take `~` for a home directory."""
    return f"./{path}" if str(path).startswith("~") else str(path)


def file(path: Path) -> str:
    """A file's name as SQL writes it where a pattern may stand: it matches this file and no other."""
    return text("".join(f"[{letter}]" if letter in "*?[" else letter for letter in literal(path)))


def files(paths: Sequence[Path]) -> str:
    """A list of them."""
    return f"[{', '.join(map(file, paths))}]"


def rows_in_parquet(connection: duckdb.DuckDBPyConnection, paths: Sequence[Path]) -> int:
    """How many rows Parquet files have, by what they say of themselves."""
    if not paths:
        return 0
    ((rows,),) = connection.execute(f"SELECT sum(num_rows) FROM parquet_file_metadata({files(paths)})").fetchall()
    return int(rows)


def name(value: str) -> str:
    """A column's name as SQL writes it."""
    quoted = value.replace('"', '""')
    return f'"{quoted}"'


# Columns of numbers and texts between NumPy and DuckDB, as Arrow's C data, without pyarrow.


Column = NDArray[Any]
"""Integers, one a row; or bytes, several a row (row, byte)."""


def batches(relation: Any) -> Iterator[list[na.Array]]:
    """The columns of a DuckDB relation, some hundred thousand rows at a time."""
    try:
        for batch in na.ArrayStream(relation):
            yield list(batch.iter_children())
    except RuntimeError as fault:  # its message would quote the data
        kind = duckdb.OutOfMemoryException if "Out of Memory" in str(fault) else duckdb.Error
        raise kind("the engine could not compute a table") from None


def numbers(column: na.Array) -> Column:
    """A column of integers without nulls."""
    view = na.c_array(column).view()
    return np.asarray(view.buffer(1))[view.offset : view.offset + view.length]


@contextmanager
def registered(connection: Any, name: str, source: Any) -> Iterator[None]:
    """A table under a name of its own while it is in use."""
    connection.register(name, source)
    try:
        yield
    finally:
        connection.unregister(name)


class ArrowStream:
    """A table that is made piece by piece while it is read; `make` is called anew for every reader.

    What goes wrong while it is made is its `fault`, since the engine that reads it has errors of its own kind only.
    """

    def __init__(self, kinds: Mapping[str, Column], make: Callable[[], Iterable[Mapping[str, Column]]]) -> None:
        self._kinds, self._make = kinds, make
        self.fault: Exception | None = None

    def until_fault(self) -> "ArrowStream":
        """The same table, which ends where making it goes wrong: whoever reads it must look at the `fault` here.

        For COPY, in which DuckDB 2.0 may wait for ever when the table that it reads raises an error.
        """

        def make() -> Iterator[Mapping[str, Column]]:
            with suppress(Exception):
                yield from self._made()

        return ArrowStream(self._kinds, make)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return ipc.InputStream.from_readable(_Pieces(self._encoded())).__arrow_c_stream__(requested_schema)

    def _encoded(self) -> Iterator[bytes]:
        """The table in Arrow's stream format: first its columns, so that a reader of these alone makes nothing."""
        room = io.BytesIO()
        with ipc.StreamWriter.from_writable(room) as writer:
            for piece in chain([{name: kind[:0] for name, kind in self._kinds.items()}], self._made()):
                writer.write_array(_array(piece))
                yield room.getvalue()
                room.seek(0)
                room.truncate()
        yield room.getvalue()

    def _made(self) -> Iterator[Mapping[str, Column]]:
        try:
            yield from self._make()
        except Exception as fault:  # whatever it is, it is raised again here and once more by who writes
            self.fault = fault
            raise


class _Pieces:
    """Bytes that are made piece by piece, as a file to read from."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, memoryview(b"")

    def readinto(self, room: Any) -> int:
        if not self._rest:
            self._rest = memoryview(next(self._pieces, b""))
        room = memoryview(room).cast("B")
        taken = min(len(room), len(self._rest))
        room[:taken] = self._rest[:taken]
        self._rest = self._rest[taken:]
        return taken

    def close(self) -> None:
        """There is nothing to close."""


def _array(columns: Mapping[str, Column]) -> Any:
    rows = len(next(iter(columns.values())))
    kinds = {name: _kind(column) for name, column in columns.items()}
    children = [
        na.c_array_from_buffers(kinds[name], rows, [None, np.ascontiguousarray(column)])
        for name, column in columns.items()
    ]
    return na.c_array_from_buffers(na.struct(kinds), rows, [None], children=children)


def _kind(column: Column) -> Any:
    return na.fixed_size_binary(column.shape[1]) if column.ndim == 2 else getattr(na, column.dtype.name)()
