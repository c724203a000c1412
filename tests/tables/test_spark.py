"""Spark on a real cluster: the same counts, one report a record also when a worker is killed, and frames of PySpark."""

import shutil
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pytest
from hypothesis import Phase, given, settings

from privtally.documents.plan import design
from privtally.errors import DocumentError, EngineError, RecordError
from privtally.schema import Attribute, Schema
from privtally.tables.database import engine
from privtally.tables.engines import EngineChoice, open_reports, tally_files
from privtally.tables.frames import privatise, records_of, tally
from privtally.tables.tallying import tally_table
from tests.scale import scaled
from tests.support import first_plan
from tests.tables.made_up_reports import Table, reference, tables, write
from tests.tables.test_report_files import facts

pytest.importorskip("pyspark", reason="needs the extra: pip install 'privtally[spark]'")
pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas"),
    pytest.mark.filterwarnings("ignore::FutureWarning:pyspark"),
]

from privtally.tables import spark  # noqa: E402  # after the skip
from privtally.tables.spark import spark_session  # noqa: E402  # after the skip
from tests.tables.spark_cluster import QUICK_JAVA, Cluster, DyingAttempt, DyingReports, cluster_in  # noqa: E402  # after the skip

SPARK = EngineChoice("spark")
PLAN = first_plan((2, 3))
ROWS = [40, 50, 60]
"""How many answers are in each file."""
SCHEMA = Schema((Attribute("a.b", ("x", "y")), Attribute("c", bins=(0, 10, 20), optional=True)))
PEOPLE = [("x", 5, "left alone"), ("y", None, ""), ("y", 19, "")]
# Planning and compiling anew cost more than they save in jobs of so few rows.
OPTIONS = {
    "spark.driver.extraJavaOptions": QUICK_JAVA,
    "spark.executor.extraJavaOptions": QUICK_JAVA,
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    words = " ".join(f"--conf '{option}={value}'" for option, value in OPTIONS.items())
    with pytest.MonkeyPatch.context() as patch, cluster_in(tmp_path_factory.mktemp("cluster")) as running:
        patch.setenv("PYSPARK_SUBMIT_ARGS", f"{words} pyspark-shell")
        with spark_session(running.master):
            yield running


@pytest.fixture
def session(cluster: Cluster) -> Iterator[Any]:
    with spark_session(cluster.master) as active:
        yield active


@pytest.mark.usefixtures("cluster")
@settings(max_examples=scaled(1, 3), phases=[Phase.generate])
@given(table=tables())
def test_spark_agrees_with_the_reference(table: Table) -> None:
    with TemporaryDirectory() as directory:
        files = write(table, Path(directory))
        with open_reports(SPARK, table.plan, files) as reports:
            assert facts(tally_table(table.plan, reports)) == facts(reference(table))


@pytest.mark.full
def test_the_counts_are_the_same_when_a_worker_is_killed(cluster: Cluster, tmp_path: Path) -> None:
    made = spark.privatise_files(PLAN, write_answers(tmp_path), tmp_path / "reports")
    files, marker = sorted((tmp_path / "reports").iterdir()), tmp_path / "died"
    assert made.files == len(files) == len(ROWS)
    expected = tally_files(PLAN, files)
    with engine() as connection, spark_session(cluster.master) as session:
        dying = DyingReports(session, connection, PLAN, files)
        dying.marker = marker
        assert tally_table(PLAN, dying) == expected
    assert marker.exists()
    assert cluster.deaths() == 1
    cluster.start_worker()


def test_a_record_has_one_report_when_a_worker_is_killed(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, written = cluster.deaths(), list[Path]()
    really = spark.publish

    def look_and_publish(room: Path, draft: Path, names: Sequence[str]) -> None:
        written.extend(room.iterdir())
        really(room, draft, names)

    monkeypatch.setattr(spark, "publish", look_and_publish)
    monkeypatch.setattr(spark, "privatise_file", DyingAttempt(tmp_path / "died"))
    answers, output = write_answers(tmp_path), tmp_path / "reports"
    made = spark.privatise_files(PLAN, answers, output)
    assert cluster.deaths() == before + 1
    assert len(written) == len(ROWS) + 1  # one file was written twice, or there is nothing to see here
    with duckdb.connect() as connection:
        rows = f"FROM read_parquet('{output}/*.parquet', filename = true)"
        found = connection.sql(f"SELECT count(*) AS many {rows} GROUP BY filename ORDER BY many").fetchall()
        (ids,) = connection.sql(f"SELECT count(DISTINCT id) {rows}").fetchall()
    assert [many for (many,) in found] == ROWS
    assert ids == (sum(ROWS),)
    assert made.reports == sum(ROWS)
    assert {path.name for path in tmp_path.iterdir()} == {"died", "reports", *(path.name for path in answers)}


@pytest.mark.usefixtures("cluster")
def test_a_bad_row_refuses_everything_and_is_not_quoted(tmp_path: Path) -> None:
    answers = write_answers(tmp_path)
    with answers[1].open("a") as file:
        file.write("zzz-secret,a0\n")
    with pytest.raises(RecordError, match=r"answers1\.csv.*'q0'") as refusal:
        spark.privatise_files(PLAN, answers, tmp_path / "reports")
    assert "secret" not in str(refusal.value)
    assert sorted(tmp_path.iterdir()) == sorted(answers)


def test_another_master_than_that_of_the_session_is_refused(cluster: Cluster) -> None:
    with pytest.raises(EngineError, match="another master"), spark_session("local[1]"):
        pass


def test_a_master_that_does_not_answer_is_named() -> None:
    with socket.socket() as taken:  # bound, and not listening
        taken.bind(("127.0.0.1", 0))
        master = f"spark://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(EngineError, match=master):
            spark.await_master(master)


def test_standard_input_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="standard input"):
        spark.privatise_files(PLAN, [Path("-")], tmp_path / "reports")


@pytest.mark.parametrize("name", ["_draft.parquet", ".draft.parquet"])
def test_a_file_that_spark_would_pass_over_is_refused(name: str) -> None:
    with pytest.raises(EngineError, match="rename"):
        spark.spark_path(Path(name))


def test_answers_come_from_a_frame_of_spark(session: Any) -> None:
    records, ignored = records_of(session.createDataFrame(PEOPLE, ["a.b", "c", "other`s"]), SCHEMA, codes=False)
    assert records.codes.tolist() == [[0, 0], [1, 2], [1, 1]]
    assert ignored == ("other`s",)


def test_a_bad_answer_is_not_quoted(session: Any) -> None:
    frame = session.createDataFrame([("zzz-secret", 5)], ["a.b", "c"])
    with pytest.raises(RecordError, match=r"row 1: question 'a\.b'") as fault:
        records_of(frame, SCHEMA, codes=False)
    assert "secret" not in str(fault.value)


def test_reports_are_a_frame_of_spark_that_is_drawn_once(session: Any) -> None:
    plan = design(SCHEMA, 1.0, "smp")
    made = privatise(plan, session.createDataFrame(PEOPLE, ["a.b", "c", "other"]))
    assert made.collect() == made.collect()
    assert made.columns == ["id", "q1", "q2"]
    assert tally(plan, made) == tally(plan, made.toArrow())
    assert tally(plan, made).reports == 3


def write_answers(directory: Path) -> list[Path]:
    """Files of answers, no two of them with the same number of rows."""
    paths = [directory / f"answers{number}.csv" for number in range(len(ROWS))]
    for path, rows in zip(paths, ROWS, strict=True):
        path.write_text("q0,q1\n" + "".join(f"a{row % 2},a{row % 3}\n" for row in range(rows)))
    return paths
