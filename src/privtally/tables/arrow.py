"""Columns of numbers and texts between NumPy and DuckDB, as Arrow's C data, without pyarrow."""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import duckdb
import nanoarrow as na
import numpy as np
from nanoarrow import ipc
from numpy.typing import NDArray

Column = NDArray[Any]
"""Integers, one a row; or bytes, several a row (row, byte)."""

_TYPES = {
    "uint8": na.uint8(),
    "uint16": na.uint16(),
    "uint32": na.uint32(),
    "uint64": na.uint64(),
    "int64": na.int64(),
}


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


def texts(column: na.Array) -> list[Any]:
    """A column of texts; None where there is none."""
    found: list[Any] = column.to_pylist()
    return found


@contextmanager
def registered(connection: Any, name: str, source: Any) -> Iterator[None]:
    """A table under a name of its own while it is in use."""
    connection.register(name, source)
    try:
        yield
    finally:
        connection.unregister(name)


class Stream:
    """A table that is made piece by piece while it is read; `make` is called anew for every reader.

    What goes wrong while it is made is its `fault`, since the engine that reads it has errors of its own kind only.
    """

    def __init__(self, kinds: Mapping[str, Column], make: Callable[[], Iterable[Mapping[str, Column]]]) -> None:
        self._kinds, self._make = kinds, make
        self.fault: Exception | None = None

    def until_fault(self) -> "Stream":
        """The same table, which ends where making it goes wrong: whoever reads it must look at the `fault` here.

        For COPY, in which DuckDB 2.0 may wait for ever when the table that it reads raises an error.
        """

        def make() -> Iterator[Mapping[str, Column]]:
            with suppress(Exception):
                yield from self._made()

        return Stream(self._kinds, make)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return ipc.InputStream.from_readable(_Pieces(self._encoded())).__arrow_c_stream__(requested_schema)

    def _encoded(self) -> Iterator[bytes]:
        """The table in Arrow's stream format: first its columns, so that a reader of these alone makes nothing."""
        room = io.BytesIO()
        with ipc.StreamWriter.from_writable(room) as writer:
            writer.write_array(_array({name: kind[:0] for name, kind in self._kinds.items()}))
            yield room.getvalue()
            for piece in self._made():
                room.seek(0)
                room.truncate()
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
    return na.fixed_size_binary(column.shape[1]) if column.ndim == 2 else _TYPES[column.dtype.name]
