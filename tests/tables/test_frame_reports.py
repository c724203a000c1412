"""Reports in frames: the counts of the plain path, and what is set aside."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privtally.collector.tally import tally as tally_reports
from privtally.documents.plan import Plan
from privtally.documents.report import Report
from privtally.errors import ReportError
from privtally.lab.population import seeded
from privtally.names import MechanismName
from privtally.participant.respond import respond_many
from privtally.schema import Records
from privtally.tables import frames
from privtally.tables.frames import privatise, tally
from tests.support import plan_of
from tests.tables.frame_kinds import KINDS, Columns

SIZES = (3, 2, 4)


def reports_to(plan: Plan, many: int = 60) -> list[Report]:
    codes = np.random.default_rng(1).integers(0, 2, (many, len(SIZES))).astype(np.uint8)
    return list(respond_many(plan, Records(plan.schema, codes), seeded(2)))


def columns_of(reports: list[Report], *, hexadecimal: bool = False) -> dict[str, list[Any]]:
    ids = [report.id if hexadecimal else bytes.fromhex(report.id) for report in reports]
    codes = zip(*(report.codes for report in reports), strict=True)
    return {"id": ids, **{f"q{number}": list(column) for number, column in enumerate(codes, start=1)}}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hexadecimal", [False, True])
@pytest.mark.parametrize("mechanism", ["spl", "smp"])
def test_a_frame_gives_the_counts_of_its_reports(kind: str, hexadecimal: bool, mechanism: MechanismName) -> None:
    plan = plan_of(mechanism, SIZES)
    reports = reports_to(plan)
    found = tally(plan, KINDS[kind](columns_of([*reports, reports[3]], hexadecimal=hexadecimal)))
    assert found == tally(plan, [*reports, reports[3]]) == tally_reports(plan, [*reports, reports[3]])
    assert found.repeated == 1


@pytest.mark.parametrize("kind", KINDS)
def test_what_privatise_gives_is_counted(kind: str) -> None:
    plan = plan_of("smp", SIZES)
    labels = [attribute.labels for attribute in plan.schema.attributes]
    frame = KINDS[kind]({name: [own[0], own[1]] * 20 for name, own in zip(plan.schema.names, labels, strict=True)})
    found = tally(plan, privatise(plan, frame))
    assert (found.reports, found.repeated, found.set_aside) == (40, 0, {})


def test_ids_are_compared_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of("spl", SIZES)
    reports = reports_to(plan)
    whole = tally(plan, pl.DataFrame(columns_of(reports * 2)))
    monkeypatch.setattr(frames, "ROWS_AT_ONCE", 7)
    assert tally(plan, pl.DataFrame(columns_of(reports * 2))) == whole
    assert whole.repeated == len(reports)


def _with(columns: Columns, name: str, row: int, value: Any) -> dict[str, list[Any]]:
    changed = {own: list(column) for own, column in columns.items()}
    changed[name][row] = value
    return changed


@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
@pytest.mark.parametrize(
    ("column", "value"), [("q1", 3), ("q1", -1), ("q2", None), ("id", b"short"), ("id", None)], ids=repr
)
def test_what_the_plan_cannot_give_is_set_aside(kind: str, column: str, value: Any) -> None:
    plan = plan_of("spl", SIZES)
    found = tally(plan, KINDS[kind](_with(columns_of(reports_to(plan)), column, 4, value)))
    assert found.set_aside == {"invalid_report": 1}
    assert found.reports == 59


@pytest.mark.parametrize("value", [0.5, float("inf"), 1e300])
def test_a_fraction_is_no_code(value: float) -> None:
    plan = plan_of("spl", SIZES)
    columns = columns_of(reports_to(plan))
    columns["q1"] = [float(code) for code in columns["q1"]]
    assert tally(plan, pd.DataFrame(columns)).set_aside == {}
    assert tally(plan, pd.DataFrame(_with(columns, "q1", 4, value))).set_aside == {"invalid_report": 1}


def test_a_number_too_large_is_not_taken_for_null() -> None:
    plan = plan_of("smp", SIZES)
    columns = columns_of(reports_to(plan))
    place = columns["q1"].index(None)
    frame = pl.DataFrame(_with(columns, "q1", place, 2**64 - 1), schema_overrides={"q1": pl.UInt64})
    assert tally(plan, frame).set_aside == {"invalid_report": 1}


@pytest.mark.parametrize("bad", ["AB" * 16, "0" * 31, "zz" * 16, ""])
def test_an_id_that_is_spelled_otherwise_is_set_aside(bad: str) -> None:
    plan = plan_of("spl", SIZES)
    frame = pd.DataFrame(_with(columns_of(reports_to(plan), hexadecimal=True), "id", 4, bad))
    assert tally(plan, frame).set_aside == {"invalid_report": 1}


@pytest.mark.parametrize("kind", KINDS)
def test_reports_to_other_plans_and_conflicting_ids_are_set_aside(kind: str) -> None:
    plan = plan_of("spl", SIZES)
    columns = columns_of(reports_to(plan))
    columns["plan"] = [plan.digest] * 58 + ["0" * 64, None]
    columns["id"][1], columns["q1"][0], columns["q1"][1] = columns["id"][0], 0, 1
    found = tally(plan, KINDS[kind](columns))
    assert found.set_aside == {"wrong_plan": 2, "id_conflict": 2}
    assert found.reports == 56


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"q3": None}, "q3"),
        ({"id": None}, "id"),
        ({"q4": [0] * 60}, "q4"),
        ({"q2": ["zzz-secret"] * 60}, "q2"),
        ({"id": [1] * 60}, "id"),
    ],
    ids=["no code", "no id", "one more", "texts", "numbers as ids"],
)
def test_a_frame_that_holds_no_reports_is_refused(kind: str, change: dict[str, Any], named: str) -> None:
    plan = plan_of("spl", SIZES)
    columns = {
        name: column for name, column in {**columns_of(reports_to(plan)), **change}.items() if column is not None
    }
    with pytest.raises(ReportError, match=f"'{named}'") as fault:
        tally(plan, KINDS[kind](columns))
    assert "secret" not in str(fault.value)


def test_nothing_is_counted_in_an_empty_frame() -> None:
    plan = plan_of("spl", SIZES)
    empty = pa.table(columns_of(reports_to(plan))).slice(0, 0)
    assert tally(plan, empty) == tally(plan, [])


def test_pandas_columns_of_mixed_kinds_are_refused_without_a_quotation() -> None:
    plan = plan_of("spl", SIZES)
    frame = pd.DataFrame(_with(columns_of(reports_to(plan)), "id", 3, 12345678))
    with pytest.raises(ReportError) as fault:
        tally(plan, frame)
    assert "12345678" not in str(fault.value)
    assert fault.value.__cause__ is None
