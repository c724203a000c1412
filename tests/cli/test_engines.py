"""`--engine` and `--master`, as a person types them."""

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Program

needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17")


@pytest.fixture
def reports(program: Program, schema: Path, data: Path) -> str:
    program("design", schema, "--epsilon", 1, "--mechanism", "smp", "-o", "plan.json")
    program("privatise", data, "-p", "plan.json", "-o", "reports.parquet")
    return "reports.parquet"


@pytest.fixture
def silent_master() -> Iterator[str]:
    with socket.socket() as taken:  # bound, and not listening
        taken.bind(("127.0.0.1", 0))
        yield f"spark://127.0.0.1:{taken.getsockname()[1]}"


@needs_java
def test_a_master_that_does_not_answer(program: Program, reports: str, data: Path, silent_master: str) -> None:
    pytest.importorskip("pyspark")
    cluster = ("-p", "plan.json", "--engine", "spark", "--master", silent_master)
    for words in (("tally", reports, "-o", "counts.json"), ("privatise", data, "-o", "out")):
        before = sorted(Path().iterdir())
        assert silent_master in program(*words, *cluster, code=2).err
        assert sorted(Path().iterdir()) == before


def test_options_without_effect_are_refused(program: Program, reports: str, data: Path, silent_master: str) -> None:
    assert "--master" in program("tally", reports, "-p", "plan.json", "-o", "c", "--master", silent_master, code=2).err
    words = ("privatise", data, "-p", "plan.json", "-o", "out")
    assert "--master" in program(*words, "--master", silent_master, code=2).err
    pytest.importorskip("pyspark")
    assert "--keep-order" in program(*words, "--engine", "spark", "--keep-order", code=2).err
