"""Reports gathered and written: in the order of their ids, none lost, whole or not at all."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import duckdb
import numpy as np
import pytest

from privtally.documents.report import ID_BYTES, Reports
from privtally.errors import DocumentError
from privtally.tables import report_output
from privtally.tables.database import format_of
from privtally.tables.frames import new_frame, recognise
from privtally.tables.report_output import Gathered, id_and_codes, order_of, stream_of, write_reports
from tests.tables.test_report_files import SILENT, made_up

REPORTS = made_up(SILENT, 700)


def pieces(reports: Reports, size: int = 90) -> Iterator[Reports]:
    for start in range(0, len(reports), size):
        own = slice(start, start + size)
        yield Reports(reports.plan, reports.ids[own], reports.codes[own])


def rows_of(reports: Reports) -> list[bytes]:
    return [name.tobytes() + codes.tobytes() for name, codes in zip(reports.ids, reports.codes, strict=True)]


def rows(gathered: Gathered) -> list[bytes]:
    return [row for batch in gathered.batches() for row in rows_of(batch)]


@pytest.mark.parametrize("most_bytes", [1, 5_000, 1 << 27])
@pytest.mark.parametrize("batch", [1, 7, 100, 10_000])
@pytest.mark.parametrize("keep_order", [False, True])
def test_nothing_is_lost_and_the_order_is_that_of_the_ids(
    monkeypatch: pytest.MonkeyPatch, keep_order: bool, batch: int, most_bytes: int
) -> None:
    """Batches are of about one size, unless the order is kept: then small ones are given as they came."""
    monkeypatch.setattr(report_output, "BATCH", batch)
    came = rows_of(REPORTS)
    with Gathered(SILENT, keep_order=keep_order, most_bytes=most_bytes) as gathered:
        for piece in pieces(REPORTS):
            gathered.add(piece)
        assert gathered.reports == 700
        for _ in range(2):
            assert rows(gathered) == (came if keep_order else sorted(came))
        sizes = [len(reports) for reports in gathered.batches()]
    assert 0 < min(sizes) <= max(sizes) <= 2 * batch + 5
    assert keep_order or len(sizes) <= 2 * -(-700 // batch)


@pytest.mark.parametrize("alike", [0, 7, 8, 9, 15])
def test_ids_that_begin_alike_are_in_order_too(alike: int) -> None:
    """Half of them begin with the same bytes, and every id comes twice."""
    ids = np.random.default_rng(1).integers(0, 256, (500, ID_BYTES), dtype=np.uint8)
    ids[:250, :alike] = 255
    ids = np.concatenate([ids, ids])
    found = [bytes(ids[place]) for place in order_of(ids)]
    assert found == sorted(map(bytes, ids))


def test_ids_of_one_bucket_are_sorted_and_keep_their_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_output, "BATCH", 50)
    ids = REPORTS.ids.copy()
    ids[:, :8] = 7
    with Gathered(SILENT) as gathered:
        gathered.add(Reports(SILENT, ids, REPORTS.codes))
        assert rows(gathered) == sorted(rows_of(Reports(SILENT, ids, REPORTS.codes)))


def _full() -> IO[bytes]:
    return Path("/dev/full").open("r+b", buffering=0)  # it refuses every byte


@pytest.mark.parametrize("keep_order", [False, True])
def test_no_room_for_temporary_files_is_one_sentence(monkeypatch: pytest.MonkeyPatch, keep_order: bool) -> None:
    monkeypatch.setattr(report_output, "nameless_file", _full)
    with (
        Gathered(SILENT, keep_order=keep_order, most_bytes=1) as gathered,
        pytest.raises(DocumentError, match="TMPDIR") as fault,
    ):
        gathered.add(REPORTS)
    assert tempfile.gettempdir() in str(fault.value)


class _Failing(Gathered):
    """Gathered reports of which some cannot be read."""

    def batches(self) -> Iterator[Reports]:
        yield from pieces(REPORTS)
        raise DocumentError("no more")


@pytest.mark.parametrize("name", ["r.parquet", "r.csv", "r.csv.gz", "r.ndjson.gz"])
@pytest.mark.parametrize("there", [False, True])
def test_an_error_in_the_middle_leaves_nothing_behind(tmp_path: Path, name: str, there: bool) -> None:
    if there:
        (tmp_path / name).write_bytes(b"before")
    with pytest.raises(DocumentError, match="no more"):
        write_reports(tmp_path / name, SILENT, _Failing(SILENT))
    assert [path.name for path in tmp_path.iterdir()] == ([name] if there else [])
    assert not there or (tmp_path / name).read_bytes() == b"before"


@pytest.mark.parametrize("library", ["pandas", "polars", "polars, lazy", "pyarrow", "duckdb"])
def test_an_error_in_the_middle_makes_no_frame(library: str) -> None:
    kinds = pytest.importorskip("tests.tables.frame_kinds", reason="needs all libraries of frames")
    frame = recognise(kinds.KINDS[library]({"a": [1]}))
    assert frame is not None
    reports = stream_of(SILENT, _Failing(SILENT))
    with pytest.raises((DocumentError, duckdb.Error), match="no more"):
        new_frame(
            frame.library, reports, id_and_codes(SILENT), frame.native
        ).fetchall()  # a relation is computed when it is used
    assert isinstance(reports.fault, DocumentError)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with Gathered(SILENT) as gathered:
        gathered.add(REPORTS)
        with pytest.raises(DocumentError, match="none"):
            write_reports(tmp_path / "none" / "r.parquet", SILENT, gathered)


def test_names_state_formats() -> None:
    assert format_of(Path("a.b.CSV.GZ")) == ("csv", "gzip")
    assert format_of(Path("a.parquet")) == ("parquet", "none")
    for name in ("a.parquet.gz", "a.csv.zst", "a.gz", "a", "a.txt", ".csv", "-"):
        assert format_of(Path(name)) is None
