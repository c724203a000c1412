"""Spark on a real cluster: the same counts, and one report a record, also when a worker is killed during the job."""

import csv
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pytest
from hypothesis import Phase, given, settings

from privtally.collector.tally import Tallied
from privtally.errors import DocumentError, EngineError, RecordError
from privtally.tables.database import engine
from privtally.tables.engines import EngineChoice, open_reports
from privtally.tables.library import LibraryReports
from privtally.tables.report_files import tally_files
from privtally.tables.report_input import DuckReports
from privtally.tables.tallying import tally_table
from tests.support import first_plan
from tests.tables.made_up_reports import Table, reference, tables, write

pytest.importorskip("pyspark", reason="needs the extra: pip install 'privtally[spark]'")
pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17"),
    pytest.mark.xdist_group("spark"),
]

from privtally.tables import spark, spark_privatise  # noqa: E402
from privtally.tables.spark import spark_session  # noqa: E402
from tests.tables.spark_cluster import Cluster, DyingAttempt, DyingLibrary, cluster_in  # noqa: E402

SPARK = EngineChoice("spark")
PLAN = first_plan((2, 3))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster_in(tmp_path_factory.mktemp("cluster")) as running, spark_session(running.master) as session:
        session.conf.set("spark.sql.shuffle.partitions", 2)
        yield running


def executors() -> int:
    with spark_session(None) as session:
        return int(session.sparkContext._jsc.sc().getExecutorMemoryStatus().size()) - 1


@pytest.mark.usefixtures("cluster")
@settings(max_examples=3, phases=[Phase.generate])
@given(table=tables())
def test_spark_agrees_with_the_reference(table: Table) -> None:
    with TemporaryDirectory() as directory:
        files = write(table, Path(directory))
        with open_reports(SPARK, table.plan, files) as reports:
            assert tally_table(table.plan, reports) == reference(table)


def write_answers(directory: Path, files: int, rows: int) -> list[Path]:
    """Each record stands once in all files: nobody has the same row in two of them."""
    paths = [directory / f"answers{number}.csv" for number in range(files)]
    for path in paths:
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([PLAN.schema.names, *([label for label in row] for row in [first_labels()] * rows)])
    return paths


def first_labels() -> list[str]:
    return [attribute.labels[0] for attribute in PLAN.schema.attributes]
