"""Reports into a file, of the kind that its name states: NDJSON, CSV or Parquet, plain or compressed.

    NDJSON     the line of JSON that a participant sends
    CSV        plan, id and one column of codes for each attribute: q1, q2 …
    Parquet    id (16 bytes) and the same columns of small integers; the plan's digest once, in the file's metadata

An attribute that was not asked is null, and empty in CSV.
"""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import duckdb
import numpy as np

from privtally.documents.plan import Plan
from privtally.documents.report import ID_BYTES, Reports
from privtally.errors import DocumentError
from privtally.files import is_stream, replacing, unwritable, write_whole
from privtally.schema import code_type
from privtally.tables import arrow
from privtally.tables.database import engine, literal, text
from privtally.tables.gathering import Gathered
from privtally.tables.parquet_file import CodeColumn, write_parquet
from privtally.tables.paths import Format, format_of

FORMAT = "privtally.reports/1"
"""What a Parquet file of reports says of itself."""


def write_reports(path: Path, plan: Plan, gathered: Gathered) -> None:
    """Write gathered reports, whole or not at all; a name that states no format means NDJSON."""
    known = (None if is_stream(path) else format_of(path)) or Format("ndjson")
    if not is_stream(path):
        try:
            with replacing(path) as draft:
                _write(draft, plan, gathered, known)
        except OSError as fault:
            raise DocumentError(unwritable(path, fault)) from None
        return
    with tempfile.TemporaryDirectory(prefix="privtally-") as directory:
        made = Path(directory, "reports")
        _write(made, plan, gathered, known)
        with made.open("rb") as content, write_whole(path) as file:
            shutil.copyfileobj(content, file)


def _write(path: Path, plan: Plan, gathered: Gathered, known: Format) -> None:
    if known.kind == "parquet":
        with path.open("wb") as file:
            metadata = {"format": FORMAT, "plan": plan.digest}
            write_parquet(file, _parquet_columns(plan), metadata, ahead(gathered.batches()))
        return
    select, options = _csv(plan) if known.kind == "csv" else _ndjson(plan)
    stream = stream_of(plan, gathered)
    with engine() as connection, arrow.registered(connection, "gathered", stream.until_fault()), writing(path, stream):
        connection.execute(
            f"COPY (SELECT {select} FROM gathered) TO {text(literal(path))} "
            f"({options}, COMPRESSION '{known.packing}', USE_TMP_FILE false)"
        )


@contextmanager
def writing(path: Path, *streams: arrow.Stream) -> Iterator[None]:
    """Say why the engine could not write: the streams could not be made, or the place cannot be written."""
    try:
        yield
    except duckdb.IOException:
        raise DocumentError(f"cannot write {path.parent}: is there room, and may you write there?") from None
    for stream in streams:
        if stream.fault is not None:
            raise stream.fault


def stream_of(plan: Plan, gathered: Gathered) -> arrow.Stream:
    """Gathered reports as a table of ids and codes."""
    kind = code_type(plan.sampler.outputs)
    columns = {name: np.empty(0, dtype=kind) for name in code_columns(plan)}

    def make() -> Iterator[Mapping[str, arrow.Column]]:
        for reports in ahead(gathered.batches()):
            yield {"id": reports.ids, **dict(zip(columns, reports.codes.T, strict=True))}

    return arrow.Stream({"id": np.empty((0, ID_BYTES), dtype=np.uint8), **columns}, make)


def ahead(batches: Iterator[Reports]) -> Iterator[Reports]:
    """The same batches, each made while the one before it is used."""
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(next, batches, None)
        while (batch := following.result()) is not None:
            following = pool.submit(next, batches, None)
            yield batch


def code_columns(plan: Plan) -> list[str]:
    """The names of the columns of codes."""
    return [f"q{number}" for number in range(1, plan.sampler.width + 1)]


def _codes(plan: Plan) -> list[str]:
    """An expression for each attribute's code, null where it was not asked."""
    pairs = zip(code_columns(plan), plan.sampler.silences, strict=True)
    return [column if silence is None else f"nullif({column}, {silence})" for column, silence in pairs]


def named_codes(plan: Plan) -> list[str]:
    """The same under the names of their columns."""
    return [f"{code} AS {column}" for code, column in zip(_codes(plan), code_columns(plan), strict=True)]


def id_and_codes(plan: Plan) -> str:
    """What to select of a stream of reports: ids, and codes that are null where an attribute was not asked."""
    return ", ".join(["id", *named_codes(plan)])


def _parquet_columns(plan: Plan) -> list[CodeColumn]:
    mechanism = plan.sampler
    facts = zip(code_columns(plan), mechanism.outputs, mechanism.silences, strict=True)
    return [CodeColumn(name, size if silence is None else silence, silence) for name, size, silence in facts]


def _csv(plan: Plan) -> tuple[str, str]:
    return ", ".join(
        [f"{text(plan.digest)} AS plan", "lower(hex(id)) AS id", *named_codes(plan)]
    ), "FORMAT csv, HEADER true"


def _ndjson(plan: Plan) -> tuple[str, str]:
    start = f'{{"format":"privtally.report/1","plan":"{plan.digest}","id":"'
    codes = " || ',' || ".join(f"coalesce(CAST({code} AS VARCHAR), 'null')" for code in _codes(plan))
    line = f"{text(start)} || lower(hex(id)) || '\",\"codes\":[' || {codes} || ']}}'"
    return line, "FORMAT csv, HEADER false, QUOTE '', ESCAPE '', DELIMITER E'\\x01'"
