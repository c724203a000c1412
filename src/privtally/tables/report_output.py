"""Reports into a file, of the kind that its name states: NDJSON, CSV or Parquet, plain or compressed.

    NDJSON     the line of JSON that a participant sends
    CSV        plan, id and one column of codes for each attribute: q1, q2 …
    Parquet    id (16 bytes) and the same columns of small integers; the plan's digest once, in the file's metadata

An attribute that was not asked is null, and empty in CSV.
"""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Self

import duckdb
import numpy as np
from numpy.typing import NDArray

from privtally.documents.plan import Plan
from privtally.documents.report import ID_BYTES, Reports
from privtally.errors import DocumentError
from privtally.exact.types import Codes
from privtally.files import is_stream, replacing, write_whole, writing
from privtally.schema import code_type
from privtally.tables import database
from privtally.tables.database import Format, engine, format_of, literal, temporary_room, text
from privtally.tables.tallying import code_columns

MOST_BYTES = 1 << 27
"""How much of all reports is in memory before it goes to a temporary file."""
ALL = 1 << 62
"""The same where the reports came from memory and go there: all of them."""
BATCH = 122_880
"""About how many reports come at once: as many as the engine puts into a row group."""
_BUCKETS = 256

Piece = tuple[NDArray[np.uint8], Codes]
"""Ids (report, byte) and codes (report, attribute) of some reports."""


class Gathered:
    """Reports to one plan. Its temporary file stands where TMPDIR says and has no name: nothing is left of it."""

    def __init__(self, plan: Plan, *, keep_order: bool = False, most_bytes: int = MOST_BYTES) -> None:
        self._plan, self._keep_order, self._most_bytes = plan, keep_order, most_bytes
        self._kind = code_type(plan.mechanism.outputs)
        self._buckets: list[list[Piece]] = [[] for _ in range(1 if keep_order else _BUCKETS)]
        self._file: IO[bytes] | None = None
        self._stored: list[list[tuple[int, int]]] = [[] for _ in self._buckets]
        """Where each bucket's pieces stand in the file, ids before codes: start and number of reports."""
        self._held = 0
        self.reports = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

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
        for ids, codes in self._pieces(0) if self._keep_order else self._in_order():
            for start in range(0, len(ids), 2 * BATCH):
                yield Reports(self._plan, ids[start : start + 2 * BATCH], codes[start : start + 2 * BATCH])

    def _in_order(self) -> Iterator[Piece]:
        """Buckets sorted, several small ones together and a large one in parts."""
        together = min(max(1, _BUCKETS * BATCH // max(1, self.reports)), _BUCKETS)
        for start in range(0, _BUCKETS, together):
            buckets = range(start, min(start + together, _BUCKETS))
            pieces = [piece for number in buckets for piece in self._pieces(number)]
            if pieces:
                ids, codes = _joined(pieces)
                order = order_of(ids)
                for part in np.array_split(order, max(1, round(len(order) / BATCH))):
                    yield ids.take(part, axis=0), codes.take(part, axis=0)

    def _pieces(self, number: int) -> Iterator[Piece]:
        """What was put into a bucket, first what lies in the file."""
        width = self._plan.mechanism.width
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
                self._file = nameless_file()
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


def _joined(pieces: list[Piece]) -> Piece:
    ids, codes = zip(*pieces, strict=True)
    return np.concatenate(ids), np.concatenate(codes)


def nameless_file() -> IO[bytes]:
    """A temporary file that has no name, and is gone when it is closed."""
    return tempfile.TemporaryFile()  # it is closed with the reports


FORMAT = "privtally.reports/1"
"""What a Parquet file of reports says of itself."""


def write_reports(path: Path, plan: Plan, gathered: Gathered) -> None:
    """Write gathered reports, whole or not at all; a name that states no format means NDJSON."""
    if is_stream(path):
        with tempfile.TemporaryDirectory(prefix="privtally-") as directory:
            made = Path(directory, "reports")
            _write(made, plan, gathered, Format("ndjson"))
            with made.open("rb") as content, write_whole(path) as file:
                shutil.copyfileobj(content, file)
        return
    with writing(path), replacing(path) as draft:
        _write(draft, plan, gathered, format_of(path) or Format("ndjson"))


def _write(path: Path, plan: Plan, gathered: Gathered, known: Format) -> None:
    match known.kind:
        case "parquet":
            select, options = id_and_codes(plan), parquet_options({"plan": plan.digest})
        case "csv":
            select, options = _csv(plan), f"FORMAT csv, HEADER true, COMPRESSION '{known.packing}'"
        case "ndjson":
            select, options = _ndjson(plan), f"{_LINES}, COMPRESSION '{known.packing}'"
    _copy(path, [stream_of(plan, gathered)], f"SELECT {select} FROM reports0", options)


def _copy(path: Path, streams: Sequence[database.ArrowStream], query: str, options: str, threads: int = 0) -> None:
    """Write what a query gives of streams of reports, which are called reports0, reports1 … in it."""
    with engine(threads) as connection, ExitStack() as stack:
        for place, stream in enumerate(streams):
            stack.enter_context(database.registered(connection, f"reports{place}", stream.until_fault()))
        try:
            connection.execute(f"COPY ({query}) TO {text(literal(path))} ({options}, USE_TMP_FILE false)")
        except duckdb.IOException:
            raise DocumentError(f"cannot write {path.parent}: is there room, and may you write there?") from None
    for stream in streams:
        if stream.fault is not None:
            raise stream.fault


def stream_of(plan: Plan, gathered: Gathered) -> database.ArrowStream:
    """Gathered reports as a table of ids and codes."""
    kind = code_type(plan.mechanism.outputs)
    columns = {name: np.empty(0, dtype=kind) for name in code_columns(plan)}

    def make() -> Iterator[Mapping[str, database.Column]]:
        for reports in _ahead(gathered.batches()):
            yield {"id": reports.ids, **dict(zip(columns, reports.codes.T, strict=True))}

    return database.ArrowStream({"id": np.empty((0, ID_BYTES), dtype=np.uint8), **columns}, make)


def _ahead(batches: Iterator[Reports]) -> Iterator[Reports]:
    """The same batches, each made while the one before it is used."""
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(next, batches, None)
        while (batch := following.result()) is not None:
            following = pool.submit(next, batches, None)
            yield batch


def _codes(plan: Plan) -> list[str]:
    """An expression for each attribute's code, null where it was not asked."""
    pairs = zip(code_columns(plan), plan.mechanism.silences, strict=True)
    return [column if silence is None else f"nullif({column}, {silence})" for column, silence in pairs]


def named_codes(plan: Plan) -> list[str]:
    """The same under the names of their columns."""
    return [f"{code} AS {column}" for code, column in zip(_codes(plan), code_columns(plan), strict=True)]


def id_and_codes(plan: Plan) -> str:
    """What to select of a stream of reports: ids, and codes that are null where an attribute was not asked."""
    return ", ".join(["id", *named_codes(plan)])


def parquet_options(facts: Mapping[str, str]) -> str:
    """How the engine writes Parquet, and what the file says of itself beside its format.

    Random ids have no repetitions to look for and nothing to compress: a short dictionary, and version 2 of the format,
    whose ids have no lengths between them, made the smallest and quickest files.
    """
    metadata = ", ".join(f"{key}: {text(value)}" for key, value in {"format": FORMAT, **facts}.items())
    how = "PARQUET_VERSION v2, COMPRESSION uncompressed, DICTIONARY_SIZE_LIMIT 300"
    return f"FORMAT parquet, {how}, KV_METADATA {{{metadata}}}"


def _csv(plan: Plan) -> str:
    return ", ".join([f"{text(plan.digest)} AS plan", "lower(hex(id)) AS id", *named_codes(plan)])


def _ndjson(plan: Plan) -> str:
    start = f'{{"format":"privtally.report/1","plan":"{plan.digest}","id":"'
    codes = " || ',' || ".join(f"coalesce(CAST({code} AS VARCHAR), 'null')" for code in _codes(plan))
    return f"{text(start)} || lower(hex(id)) || '\",\"codes\":[' || {codes} || ']}}'"


_LINES = "FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER E'\\x01'"
"""One column, written as it is."""


def write_export(path: Path, reports: Mapping[Plan, Gathered], *, ids: bool) -> None:
    """Reports to several plans of one schema in a Parquet file, as `tally` reads them if they have ids."""
    streams = [stream_of(plan, gathered) for plan, gathered in reports.items()]
    tables = " UNION ALL ".join(_select(plan, place, ids=ids) for place, plan in enumerate(reports))
    _copy(path, streams, tables, parquet_options({}), threads=1)


def _select(plan: Plan, place: int, *, ids: bool) -> str:
    columns = [f"{text(plan.digest)} AS plan", *(["id"] if ids else []), *named_codes(plan)]
    return f"SELECT {', '.join(columns)} FROM reports{place}"
