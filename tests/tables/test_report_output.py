"""Reports written to files of every kind: whole, as others read them, under the mode of the file that they replace."""

from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from privtally.documents.report import ID_BYTES, Reports
from privtally.lab.population import seeded
from privtally.names import MechanismName
from privtally.participant.respond import respond_many
from privtally.schema import Records
from privtally.tables.report_output import Gathered, write_reports
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


@pytest.mark.parametrize("sizes", [(3, 2), (16, 256), (300, 65_536)])
@pytest.mark.parametrize("mechanism", ["spl", "smp"])
def test_others_read_parquet_as_it_was_written(
    tmp_path: Path, sizes: tuple[int, int], mechanism: MechanismName
) -> None:
    plan, path, generator = first_plan(sizes, 1.0, mechanism), tmp_path / "r.parquet", np.random.default_rng(1)
    outputs, silences, rows = plan.mechanism.outputs, plan.mechanism.silences, 1_000
    ids = generator.integers(0, 256, (rows, ID_BYTES), dtype=np.uint8)
    codes = np.stack([generator.integers(0, output, rows, dtype=np.uint32) for output in outputs], axis=1)
    with Gathered(plan) as gathered:
        gathered.add(Reports(plan, ids, codes))
        write_reports(path, plan, gathered)
    stated = [
        tuple(None if code == silence else code for code, silence in zip(row, silences, strict=True))
        for row in codes.tolist()
    ]
    expected = sorted((bytes(name), *row) for name, row in zip(ids, stated, strict=True))
    with duckdb.connect() as connection:
        assert connection.execute(f"FROM '{path}'").fetchall() == expected
    assert pl.read_parquet(path).rows() == expected
    table = pq.read_table(path)
    assert list(zip(*(column.to_pylist() for column in table.columns), strict=True)) == expected
    assert table.column_names == ["id", "q1", "q2"]
    assert table.schema.metadata == {b"format": b"privtally.reports/1", b"plan": plan.digest.encode()}
    assert table.schema.types[0] == "binary"
