"""Tallies that go on: any days give what all files give at once; whole or not at all; one at a time."""

import os
from pathlib import Path
from shutil import copytree

import pytest
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as st

from privtally.errors import DocumentError, PrivtallyError
from privtally.files import write_bytes
from privtally.tables import report_input, state
from privtally.tables.report_files import tally_files
from privtally.tables.state import tally_on
from tests.scale import scaled
from tests.tables.test_report_files import OTHER, SILENT, facts, line, made_up, write

SMALL = st.tuples(
    st.integers(0, 5), st.sampled_from([(0, None, None), (1, None, None), (None, 1, None), (None, 9, None)])
)
"""A few ids and codes, some of them impossible: most ids come several times and many conflict."""


@given(
    st.lists(st.lists(SMALL, min_size=1, max_size=6), min_size=1, max_size=5),
    st.lists(st.integers(0, 3), min_size=5, max_size=5),
    st.booleans(),
)
@settings(max_examples=scaled(8, 15))
def test_any_days_give_what_all_files_give_at_once(
    tmp_path_factory: pytest.TempPathFactory,
    content: list[list[tuple[int, tuple[int | None, ...]]]],
    days: list[int],
    trust_ids: bool,
) -> None:
    directory = tmp_path_factory.mktemp("days")
    paths = []
    for number, rows in enumerate(content):
        paths.append(directory / f"{number}.ndjson")
        lines = [line(SILENT, 500, [2, None, None])] if number == 0 else []
        paths[-1].write_text("\n".join([*lines, *(line(SILENT, own << 125, codes) for own, codes in rows)]))
    days[0] = 0
    seen: list[Path] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_input, "ROWS_AT_ONCE", 4)
        for day in range(4):
            new = [path for path, own in zip(paths, days, strict=False) if own == day]
            if new:
                seen += new
                found = tally_on(SILENT, new, directory / "state", trust_ids=trust_ids)
                assert facts(found.result) == facts(tally_files(SILENT, seen, trust_ids=trust_ids))
                assert (found.counted_before, found.read_now) == (len(seen) - len(new), len(new))
        again = tally_on(SILENT, [directory / "*.ndjson"], directory / "state", trust_ids=trust_ids)
    assert facts(again.result) == facts(tally_files(SILENT, paths, trust_ids=trust_ids))
    assert again.read_now == 0


def test_a_conflict_that_comes_later_takes_a_counted_report_out(tmp_path: Path) -> None:
    days = [[(1, (0, None, None)), (2, (1, None, None))], [(1, (0, None, None))], [(1, (1, None, None))]]
    found = []
    for day, rows in enumerate(days):
        path = tmp_path / f"{day}.ndjson"
        path.write_text("\n".join(line(SILENT, own, codes) for own, codes in rows))
        result = tally_on(SILENT, [path], tmp_path / "state").result
        found.append((result.counts.attributes[0].tolist(), result.repeated, dict(result.set_aside)))
    assert found == [([1, 1, 0, 0], 0, {}), ([1, 1, 0, 0], 1, {}), ([0, 1, 0, 0], 0, {"id_conflict": 3})]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    path = tmp_path / "lake"
    path.mkdir()
    write(path / "monday.parquet", made_up(SILENT, 40, seed=1))
    tally_on(SILENT, [path], tmp_path / "state")
    return path


def test_what_was_counted_is_not_read_again(lake: Path, tmp_path: Path) -> None:
    """The file is replaced by one of the same size and time, which a state does not notice, and says so."""
    path = lake / "monday.parquet"
    about = path.stat()
    path.write_bytes(bytes(about.st_size))
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    write(lake / "tuesday.csv", made_up(SILENT, 5, seed=2))
    assert tally_on(SILENT, [lake], tmp_path / "state").result.counts.reports == 45


def test_a_file_that_was_only_touched_is_the_same(lake: Path, tmp_path: Path) -> None:
    os.utime(lake / "monday.parquet", ns=(1, 1))
    for _ in range(2):
        assert tally_on(SILENT, [lake], tmp_path / "state").read_now == 0


@pytest.mark.parametrize("same_size", [False, True])
def test_a_changed_file_is_refused(lake: Path, tmp_path: Path, same_size: bool) -> None:
    path = lake / "monday.parquet"
    content = path.read_bytes()
    path.write_bytes(bytes(len(content)) if same_size else content + b"x")
    os.utime(path, ns=(1, 1))
    with pytest.raises(DocumentError, match="changed"):
        tally_on(SILENT, [lake], tmp_path / "state")


def test_a_file_that_is_gone_is_refused(lake: Path, tmp_path: Path) -> None:
    write(lake / "tuesday.ndjson", made_up(SILENT, 5, seed=2))
    (lake / "monday.parquet").unlink()
    with pytest.raises(DocumentError, match="no longer"):
        tally_on(SILENT, [lake], tmp_path / "state")


def test_another_plan_or_another_way_is_refused(lake: Path, tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="plan"):
        tally_on(OTHER, [lake], tmp_path / "state")
    with pytest.raises(DocumentError, match="without --trust-ids"):
        tally_on(SILENT, [lake], tmp_path / "state", trust_ids=True)


def test_a_state_inside_the_reports_is_refused(lake: Path) -> None:
    (lake / "state").mkdir()
    (lake / "state" / "x.parquet").write_bytes(b"")
    with pytest.raises(DocumentError, match="inside"):
        tally_on(SILENT, [lake], lake / "state")


def test_two_at_once_are_refused(lake: Path, tmp_path: Path) -> None:
    with FileLock(tmp_path / "state" / "lock"), pytest.raises(DocumentError, match="in use"):
        tally_on(SILENT, [lake], tmp_path / "state")


@pytest.mark.parametrize("trust_ids", [False, True])
def test_a_run_that_breaks_off_leaves_the_state_of_before(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trust_ids: bool
) -> None:
    place = tmp_path / "other"
    tally_on(SILENT, [lake], place, trust_ids=trust_ids)
    write(lake / "tuesday.parquet", made_up(SILENT, 7, seed=2))
    (lake / "bad.parquet").write_bytes(b"PAR1")
    with pytest.raises(PrivtallyError):
        tally_on(SILENT, [lake], place, trust_ids=trust_ids)
    (lake / "bad.parquet").unlink()
    with monkeypatch.context() as patch:
        patch.setattr(state, "write_bytes", _crashing)
        with pytest.raises(KeyboardInterrupt):
            tally_on(SILENT, [lake], place, trust_ids=trust_ids)
    copytree(place, tmp_path / "copy")
    found = tally_on(SILENT, [lake], tmp_path / "copy", trust_ids=trust_ids)
    assert (found.counted_before, found.read_now) == (1, 1)
    assert facts(found.result) == facts(tally_files(SILENT, [lake], trust_ids=trust_ids))
    files = {path.name for path in (tmp_path / "copy").rglob("*") if path.is_file()} - {"lock", "state.json"}
    assert len(files) == (1 if trust_ids else 2)


def _crashing(path: Path, data: bytes) -> None:
    if path.name == "state.json":
        raise KeyboardInterrupt
    write_bytes(path, data)


def test_a_damaged_state_is_refused(lake: Path, tmp_path: Path) -> None:
    write(lake / "tuesday.parquet", made_up(SILENT, 7, seed=2))
    journal = next((tmp_path / "state" / "ids").iterdir())
    whole = journal.read_bytes()
    journal.write_bytes(whole[:20])
    with pytest.raises(DocumentError, match="new state"):
        tally_on(SILENT, [lake], tmp_path / "state")
    journal.unlink()
    with pytest.raises(DocumentError, match="journal"):
        tally_on(SILENT, [lake], tmp_path / "state")
    (tmp_path / "state" / "state.json").write_text("{}")
    with pytest.raises(DocumentError, match=r"state\.json"):
        tally_on(SILENT, [lake], tmp_path / "state")
