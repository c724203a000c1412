"""Lines sorted outside memory: the same lines, in order, and nothing left behind."""

from pathlib import Path

import numpy as np
import pytest

from privtally.errors import DocumentError
from privtally.tables.sorting import in_order

LINES = [f"{word:016x}\n".encode() for word in np.random.default_rng(0).integers(0, 2**60, 1_000).tolist()]


@pytest.mark.parametrize("lines_a_run", [7, 10, 999, 1_000, 1_001])
@pytest.mark.parametrize("most_runs", [2, 3, 1_000])
def test_every_line_comes_once_and_in_order(lines_a_run: int, most_runs: int) -> None:
    assert list(in_order(LINES, lines_a_run, most_runs)) == sorted(LINES)
    assert list(in_order([], lines_a_run, most_runs)) == []


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files cannot be counted here")
def test_few_files_are_open_and_none_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = _open_files()
    order = in_order(LINES, 10, 5)
    assert next(order) == min(LINES)
    assert 0 < _open_files() - before <= 5
    assert not list(tmp_path.iterdir())
    del order
    assert _open_files() == before


def test_a_place_without_room_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with pytest.raises(DocumentError, match="TMPDIR"):
        list(in_order(LINES, 10))
