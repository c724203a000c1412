"""Reports gathered before any is written, however many there are, and given back in the order of their random ids.

That order says nothing about the rows that the reports came from. Reports are dealt to buckets by the first byte of
their id; what is too much for memory goes to a temporary file; each bucket is sorted when its turn comes, a large one
in parts by its second byte.
"""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import IO, Self

import numpy as np
from numpy.typing import NDArray

from privtally.documents.plan import Plan
from privtally.documents.report import ID_BYTES, Reports
from privtally.schema import code_type
from privtally.tables.temporary import temporary_room

MOST_BYTES = 1 << 27
"""How much of all reports is in memory before it goes to a temporary file."""
_BUCKETS = 256
_SORTED_AT_ONCE = 1 << 23
"""How many bytes of a bucket are sorted at once, so that their copies stay small."""


class Gathered:
    """Reports to one plan. Its temporary file stands where TMPDIR says and has no name: nothing is left of it."""

    def __init__(self, plan: Plan, *, keep_order: bool = False, most_bytes: int = MOST_BYTES) -> None:
        self._plan, self._keep_order, self._most_bytes = plan, keep_order, most_bytes
        self._kind = code_type(plan.sampler.outputs)
        self._buckets: list[list[bytes]] = [[] for _ in range(1 if keep_order else _BUCKETS)]
        self._file: IO[bytes] | None = None
        self._stored: list[list[tuple[int, int]]] = [[] for _ in self._buckets]
        """Where each bucket's pieces stand in the file: start and length."""
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
        codes = np.ascontiguousarray(reports.codes).view(np.uint8).reshape(len(reports), -1)
        rows = np.hstack([reports.ids, codes])
        ends = [len(rows)]
        if not self._keep_order:
            rows = rows[np.argsort(reports.ids[:, 0], kind="stable")]
            ends = np.cumsum(np.bincount(reports.ids[:, 0], minlength=_BUCKETS)).tolist()
        for bucket, start, end in zip(self._buckets, [0, *ends[:-1]], ends, strict=True):
            bucket.append(rows[start:end].tobytes())
        self.reports += len(rows)
        self._held += rows.nbytes
        if self._held > self._most_bytes:
            self._store()

    def batches(self) -> Iterator[Reports]:
        """All reports, in the order of their ids, or as they came; may be called again."""
        width = ID_BYTES + self._plan.sampler.width * self._kind.itemsize
        for number in range(len(self._buckets)):
            for content in [self._bucket(number)] if not self._keep_order else self._pieces(number):
                rows: NDArray[np.uint8] = np.frombuffer(content, dtype=np.uint8).reshape(-1, width)
                for part in _in_order(rows) if not self._keep_order else _in_steps(rows):
                    codes = np.ascontiguousarray(part[:, ID_BYTES:]).view(self._kind)
                    yield Reports(self._plan, np.ascontiguousarray(part[:, :ID_BYTES]), codes)

    def _bucket(self, number: int) -> bytes:
        return b"".join(self._pieces(number))

    def _pieces(self, number: int) -> Iterator[bytes]:
        """What was put into a bucket, first what lies in the file."""
        for start, length in self._stored[number]:
            assert self._file is not None
            self._file.seek(start)
            yield self._file.read(length)
        yield from self._buckets[number]

    def _store(self) -> None:
        """Put what is in memory into the temporary file."""
        with temporary_room():
            if self._file is None:
                self._file = self._open.enter_context(_nameless())
            self._file.seek(0, 2)
            for pieces, stored in zip(self._buckets, self._stored, strict=True):
                stored.append((self._file.tell(), sum(map(len, pieces))))
                self._file.writelines(pieces)
                pieces.clear()
        self._held = 0


def _in_order(rows: NDArray[np.uint8]) -> Iterator[NDArray[np.uint8]]:
    """Rows in the order of the first eight bytes of their ids, which are alike in the first."""
    parts = min(-(-rows.nbytes // _SORTED_AT_ONCE), 256) or 1
    place = rows[:, 1].astype(np.uint16) * parts >> 8
    for number in range(parts):
        own = rows[place == number] if parts > 1 else rows
        first = np.ascontiguousarray(own[:, :8]).view(">u8")[:, 0].astype(np.uint64)
        yield own[np.argsort(first)]


def _in_steps(rows: NDArray[np.uint8]) -> Iterator[NDArray[np.uint8]]:
    """Rows as they are, some at a time."""
    step = max(1, _SORTED_AT_ONCE // rows.shape[1])
    return (rows[start : start + step] for start in range(0, len(rows), step))


def _nameless() -> IO[bytes]:
    return tempfile.TemporaryFile()  # it is closed with the reports
