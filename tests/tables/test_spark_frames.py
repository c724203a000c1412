"""Frames of PySpark, on a session in this machine."""

import shutil
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from privtally.documents.plan import design
from privtally.errors import RecordError
from privtally.schema import Attribute, Schema
from privtally.tables.frame_answers import open_data, privatise
from privtally.tables.frame_reports import tally

pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java"),
    pytest.mark.filterwarnings("ignore::FutureWarning:pyspark"),
]
SCHEMA = Schema((Attribute("a.b", ("x", "y")), Attribute("c", bins=(0, 10, 20), optional=True)))
ROWS = [("x", 5, "left alone"), ("y", None, ""), ("y", 19, "")]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about versions of pandas
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        for option in ("spark.driver.host", "spark.driver.bindAddress"):
            builder = builder.config(option, "127.0.0.1")
        session = builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()
        yield session
        session.stop()


def test_answers_come_from_a_frame_of_spark(spark: Any) -> None:
    with open_data(spark.createDataFrame(ROWS, ["a.b", "c", "other`s"]), SCHEMA) as answers:
        assert answers.read_all().codes.tolist() == [[0, 0], [1, 2], [1, 1]]
        assert list(answers.ignored) == ["other`s"]


def test_a_bad_answer_is_not_quoted(spark: Any) -> None:
    frame = spark.createDataFrame([("zzz-secret", 5)], ["a.b", "c"])
    with pytest.raises(RecordError, match=r"row 1: attribute 'a\.b'") as fault, open_data(frame, SCHEMA) as answers:
        answers.read_all()
    assert "secret" not in str(fault.value)


def test_reports_are_a_frame_of_spark_that_is_drawn_once(spark: Any) -> None:
    plan = design(SCHEMA, 1.0, "smp")
    made = privatise(plan, spark.createDataFrame(ROWS, ["a.b", "c", "other"]))
    assert made.collect() == made.collect()
    assert made.columns == ["id", "q1", "q2"]
    assert tally(plan, made) == tally(plan, made.toArrow())
    assert tally(plan, made).counts.reports == 3
