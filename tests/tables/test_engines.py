"""The engines agree with each other, and with a tally in a few lines of Python, to the last integer."""

import importlib.machinery
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings

from privtally.collector.tally import Tallied
from privtally.errors import DocumentError, EngineError, ReportError
from privtally.names import EngineName
from privtally.tables import engines, library
from privtally.tables.engines import EngineChoice, open_reports
from privtally.tables.report_files import list_set_aside, tally_files
from privtally.tables.tallying import tally_table
from tests.scale import scaled
from tests.tables.made_up_reports import PLANS, Row, Table, reference, tables, write

pytest.importorskip("polars", reason="needs the extra: pip install 'privtally[polars]'")

ENGINES: tuple[EngineName, ...] = ("duckdb", "polars")


def tally_with(name: EngineName, table: Table, files: list[Path], *, trust_ids: bool = False) -> Tallied:
    with open_reports(EngineChoice(name), table.plan, files, in_pieces=not trust_ids) as reports:
        return tally_table(table.plan, reports, trust_ids=trust_ids)


@pytest.fixture(params=[1, 3])
def pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows in pieces, as many are."""
    from privtally.tables import polars_library, report_input

    for module in (polars_library, report_input):
        monkeypatch.setattr(module, "ROWS_AT_ONCE", request.param * 6)


@pytest.mark.usefixtures("pieces")
@settings(max_examples=scaled(3, 5))
@given(table=tables())
def test_the_engines_agree(table: Table) -> None:
    with TemporaryDirectory() as directory:
        files = write(table, Path(directory))
        expected = reference(table)
        for name in ENGINES:
            assert tally_with(name, table, files) == expected
        one, other = (tally_with(name, table, files, trust_ids=True) for name in ENGINES)
        assert one == other
        listed = [sorted(list_set_aside(table.plan, files, engine=EngineChoice(name))) for name in ENGINES]
        assert listed[0] == listed[1]


def an_honest_table() -> Table:
    plan = PLANS[0]
    return Table(plan, [[Row(plan.digest, bytes([one]) * 16, (one % 2, one % 3)) for one in range(9)], *[[]] * 5])


@pytest.mark.parametrize("name", ENGINES)
def test_a_file_that_is_cut_short_is_named(name: EngineName, tmp_path: Path) -> None:
    table = an_honest_table()
    whole, *_ = write(table, tmp_path)
    for cut in (whole.stat().st_size // 2, 0):
        short = tmp_path / "short.parquet"
        short.write_bytes(whole.read_bytes()[:cut])
        with pytest.raises(DocumentError, match=r"short\.parquet"):
            tally_files(table.plan, [whole, short], engine=EngineChoice(name))


@pytest.mark.parametrize("name", ENGINES)
def test_pages_that_are_damaged_are_refused(name: EngineName, tmp_path: Path) -> None:
    table = an_honest_table()
    whole, *_ = write(table, tmp_path)
    content = bytearray(whole.read_bytes())
    content[4:60] = bytes(56)
    whole.write_bytes(content)
    with pytest.raises(DocumentError, match="metadata"):
        tally_files(table.plan, [whole], engine=EngineChoice(name))


@pytest.mark.parametrize("name", ENGINES)
def test_reports_to_another_plan_alone_are_refused(name: EngineName, tmp_path: Path) -> None:
    write(an_honest_table(), tmp_path)
    with pytest.raises(ReportError, match="another plan"):
        tally_files(PLANS[1], [tmp_path / "metadata [1].parquet"], engine=EngineChoice(name))


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> importlib.machinery.ModuleSpec | None:
        return None

    monkeypatch.setattr(engines, "find_spec", nothing)
    with pytest.raises(EngineError, match=r"privtally\[polars\]"):
        EngineChoice("polars")


def test_a_master_belongs_to_spark() -> None:
    with pytest.raises(EngineError, match="--master"):
        EngineChoice("polars", "spark://127.0.0.1:7077")


def test_the_control_a_wrong_state_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    table = Table(PLANS[0], [[Row(PLANS[0].digest, b"\x01" * 15, (0, 0))], *an_honest_table().rows[:1], *[[]] * 4])
    files = write(table, tmp_path)
    assert tally_with("polars", table, files) == reference(table)
    monkeypatch.setattr(library, "ID_BYTES", 15)
    assert tally_with("polars", table, files) != reference(table)
