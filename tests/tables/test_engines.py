"""DuckDB agrees with a tally in a few lines of Python, to the last integer; `test_spark` holds Spark to the same."""

import importlib.machinery
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings

from privtally.documents.counts import Counts
from privtally.errors import EngineError
from privtally.tables import engines, report_input
from privtally.tables.engines import EngineChoice, list_set_aside, open_reports
from privtally.tables.tallying import tally_table
from tests.scale import scaled
from tests.tables.made_up_reports import PLANS, Row, Table, reference, tables, write
from tests.tables.test_report_files import facts


def tallied(table: Table, files: list[Path], *, trust_ids: bool = False) -> Counts:
    with open_reports(EngineChoice(), table.plan, files, in_pieces=not trust_ids) as reports:
        return tally_table(table.plan, reports, trust_ids=trust_ids)


@pytest.fixture(params=[1, 3])
def pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows in pieces, as many are."""
    monkeypatch.setattr(report_input, "ROWS_AT_ONCE", request.param * 6)


@pytest.mark.usefixtures("pieces")
@settings(max_examples=scaled(3, 5))
@given(table=tables())
def test_the_counts_are_those_of_the_reference(table: Table) -> None:
    with TemporaryDirectory() as directory:
        files = write(table, Path(directory))
        expected = reference(table)
        assert facts(tallied(table, files)) == facts(expected)
        assert tallied(table, files, trust_ids=True).set_aside.keys() <= {"wrong_plan", "invalid_report"}
        listed = [line.rpartition(b",")[2].strip().decode() for line in list_set_aside(table.plan, files)][1:]
        alone = {reason: listed.count(reason) for reason in listed if reason != "id_conflict"}
        assert alone == {reason: many for reason, many in expected.set_aside.items() if reason != "id_conflict"}


def an_honest_table() -> Table:
    plan = PLANS[0]
    return Table(plan, [[Row(plan.digest, bytes([one]) * 16, (one % 2, one % 3)) for one in range(9)], *[[]] * 5])


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> importlib.machinery.ModuleSpec | None:
        return None

    monkeypatch.setattr(engines, "find_spec", nothing)
    with pytest.raises(EngineError, match=r"privtally\[spark\]"):
        EngineChoice("spark")


def test_a_master_belongs_to_spark() -> None:
    with pytest.raises(EngineError, match="--master"):
        EngineChoice("duckdb", "spark://127.0.0.1:7077")


def test_the_control_a_wrong_state_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    table = Table(PLANS[0], [[Row(PLANS[0].digest, b"\x01" * 15, (0, 0))], *an_honest_table().rows[:1], *[[]] * 4])
    files = write(table, tmp_path)
    assert facts(tallied(table, files)) == facts(reference(table))
    monkeypatch.setattr(report_input, "ID_BYTES", 15)
    assert facts(tallied(table, files)) != facts(reference(table))
