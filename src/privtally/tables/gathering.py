"""Reports gathered before any is written, however many there are, and given back in the order of their random ids.

That order says nothing about the rows that the reports came from. Reports are dealt to buckets by the first byte of
their id; what is too much for memory goes to temporary files; each bucket is sorted when its turn comes.
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
"""How much of all reports is in memory before it goes to temporary files."""
_BUCKETS = 256


class Gathered:
    """Reports to one plan. Its temporary files stand where TMPDIR says and have no name: nothing is left of them."""

    def __init__(self, plan: Plan, *, keep_order: bool = False, most_bytes: int = MOST_BYTES) -> None:
        self._plan, self._keep_order, self._most_bytes = plan, keep_order, most_bytes
        self._kind = code_type(plan.sampler.outputs)
        self._buckets: list[list[bytes]] = [[] for _ in range(1 if keep_order else _BUCKETS)]
        self._files: list[IO[bytes]] = []
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
        for content in self._contents(width):
            rows: NDArray[np.uint8] = np.frombuffer(content, dtype=np.uint8).reshape(-1, width)
            if not self._keep_order:
                first = np.ascontiguousarray(rows[:, :8]).view(">u8")[:, 0].astype(np.uint64)
                rows = rows[np.argsort(first)]
            codes = np.ascontiguousarray(rows[:, ID_BYTES:]).view(self._kind)
            yield Reports(self._plan, np.ascontiguousarray(rows[:, :ID_BYTES]), codes)

    def _contents(self, width: int) -> Iterator[bytes]:
        """Buckets that are to be sorted, whole; or pieces of what is not."""
        if self._keep_order and self._files:
            self._store()
            self._files[0].seek(0)
            yield from iter(lambda: self._files[0].read(width << 18), b"")
            return
        for number, pieces in enumerate(self._buckets):
            stored = b""
            if self._files:
                self._files[number].seek(0)
                stored = self._files[number].read()
            yield b"".join([stored, *pieces])

    def _store(self) -> None:
        """Put what is in memory into temporary files."""
        with temporary_room():
            if not self._files:
                self._files = [self._open.enter_context(_nameless()) for _ in self._buckets]
            for file, pieces in zip(self._files, self._buckets, strict=True):
                file.seek(0, 2)
                file.writelines(pieces)
                pieces.clear()
        self._held = 0


def _nameless() -> IO[bytes]:
    return tempfile.TemporaryFile()  # it is closed with the reports
