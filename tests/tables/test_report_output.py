"""Reports written to files of every kind: whole, under the mode of the file that they replace."""

from pathlib import Path

import numpy as np
import pytest

from privtally.errors import DocumentError
from privtally.lab.seed import seeded
from privtally.participant.respond import respond_many
from privtally.schema import Records
from privtally.tables.gathering import Gathered
from privtally.tables.report_output import write_reports
from tests.support import first_plan

PLAN = first_plan((3, 3), 1.0, "smp")


def written(path: Path) -> None:
    with Gathered(PLAN) as gathered:
        gathered.add(respond_many(PLAN, Records(PLAN.schema, np.zeros((20, 2), dtype=np.uint8)), seeded(1)))
        write_reports(path, PLAN, gathered)


@pytest.mark.parametrize("kind", ["ndjson", "csv", "csv.gz", "parquet"])
def test_a_file_that_is_replaced_keeps_its_mode_and_nothing_else_is_left(tmp_path: Path, kind: str) -> None:
    fresh, old = tmp_path / f"fresh.{kind}", tmp_path / f"old.{kind}"
    old.write_bytes(b"old")
    old.chmod(0o600)
    for path in (fresh, old):
        written(path)
    assert old.read_bytes() == fresh.read_bytes()
    assert old.stat().st_mode & 0o777 == 0o600
    assert sorted(tmp_path.iterdir()) == [fresh, old]


def test_a_place_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError):
        written(tmp_path / "no" / "reports.csv")
