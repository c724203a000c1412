"""Reports gathered before any is written, however many there are, and given back in the order of their random ids.

That order says nothing about the rows that the reports came from. Reports are dealt to buckets by the first byte of
their id; what is too much for memory goes to a temporary file; each bucket is sorted when its turn comes.
"""

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import IO, Self

import numpy as np
from numpy.typing import NDArray

from privtally.documents.plan import Plan
from privtally.documents.report import ID_BYTES, Reports
from privtally.exact.arrays import Codes
from privtally.schema import code_type
from privtally.tables.temporary import temporary_room

MOST_BYTES = 1 << 27
"""How much of all reports is in memory before it goes to a temporary file."""
BATCH = 122_880
"""About how many reports come at once: as many as the engine puts into a row group."""
_BUCKETS = 256

Piece = tuple[NDArray[np.uint8], Codes]
"""Ids (report, byte) and codes (report, attribute) of some reports."""


class Gathered:
    """Reports to one plan. Its temporary file stands where TMPDIR says and has no name: nothing is left of it."""

    def __init__(self, plan: Plan, *, keep_order: bool = False, most_bytes: int = MOST_BYTES) -> None:
        self._plan, self._keep_order, self._most_bytes = plan, keep_order, most_bytes
        self._kind = code_type(plan.sampler.outputs)
        self._buckets: list[list[Piece]] = [[] for _ in range(1 if keep_order else _BUCKETS)]
        self._file: IO[bytes] | None = None
        self._stored: list[list[tuple[int, int]]] = [[] for _ in self._buckets]
        """Where each bucket's pieces stand in the file, ids before codes: start and number of reports."""
        self._held = 0
        self._open = ExitStack()
        self.reports = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def add(self, reports: Reports) -> None:
        """Gather more reports."""
        ids, codes, ends = reports.ids, np.ascontiguousarray(reports.codes, dtype=self._kind), [len(reports)]
        if not self._keep_order:
            order = np.argsort(ids[:, 0], kind="stable")
            ends = np.cumsum(np.bincount(ids[:, 0], minlength=_BUCKETS)).tolist()
            ids, codes = ids.take(order, axis=0), codes.take(order, axis=0)
        for bucket, start, end in zip(self._buckets, [0, *ends[:-1]], ends, strict=True):
            if start < end:
                bucket.append((ids[start:end], codes[start:end]))
        self.reports += len(reports)
        self._held += ids.nbytes + codes.nbytes
        if self._held > self._most_bytes:
            self._store()

    def batches(self) -> Iterator[Reports]:
        """All reports, in the order of their ids, or as they came; may be called again."""
        for ids, codes in _in_steps(self._pieces(0)) if self._keep_order else self._in_order():
            yield Reports(self._plan, ids, codes)

    def _in_order(self) -> Iterator[Piece]:
        """Buckets sorted, several small ones together and a large one in parts."""
        together = min(max(1, _BUCKETS * BATCH // max(1, self.reports)), _BUCKETS)
        for start in range(0, _BUCKETS, together):
            own = range(start, min(start + together, _BUCKETS))
            pieces = [piece for number in own for piece in self._pieces(number)]
            if pieces:
                ids, codes = _joined(pieces)
                order = order_of(ids)
                for part in np.array_split(order, max(1, round(len(order) / BATCH))):
                    yield ids.take(part, axis=0), codes.take(part, axis=0)

    def _pieces(self, number: int) -> Iterator[Piece]:
        """What was put into a bucket, first what lies in the file."""
        width = self._plan.sampler.width
        for start, rows in self._stored[number]:
            assert self._file is not None
            self._file.seek(start)
            ids = np.frombuffer(self._file.read(rows * ID_BYTES), dtype=np.uint8).reshape(rows, ID_BYTES)
            codes = np.frombuffer(self._file.read(rows * width * self._kind.itemsize), dtype=self._kind)
            yield ids, codes.reshape(rows, width)
        yield from self._buckets[number]

    def _store(self) -> None:
        """Put what is in memory into the temporary file."""
        with temporary_room():
            if self._file is None:
                self._file = self._open.enter_context(_nameless())
            self._file.seek(0, 2)
            for pieces, stored in zip(self._buckets, self._stored, strict=True):
                if pieces:
                    ids, codes = _joined(pieces)
                    stored.append((self._file.tell(), len(ids)))
                    self._file.write(ids.data)
                    self._file.write(codes.data)
                    pieces.clear()
            self._file.flush()
        self._held = 0


def order_of(ids: NDArray[np.uint8]) -> NDArray[np.intp]:
    """The places of ids in ascending order: by their first half, and where that is equal by their second."""
    first, second = (half.astype(np.uint64) for half in np.ascontiguousarray(ids).view(">u8").T)
    order = np.argsort(first)
    ascending = first.take(order)
    return np.lexsort((second, first)) if (ascending[1:] == ascending[:-1]).any() else order


def _in_steps(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The same reports, small pieces together and large ones in parts."""
    held: list[Piece] = []
    rows = 0
    for ids, codes in pieces:
        for start in range(0, len(ids), BATCH):
            held.append((ids[start : start + BATCH], codes[start : start + BATCH]))
            rows += len(held[-1][0])
            if rows >= BATCH:
                yield _joined(held)
                held, rows = [], 0
    if held:
        yield _joined(held)


def _joined(pieces: list[Piece]) -> Piece:
    ids, codes = zip(*pieces, strict=True)
    return np.concatenate(ids), np.concatenate(codes)


def _nameless() -> IO[bytes]:
    return tempfile.TemporaryFile()  # it is closed with the reports
