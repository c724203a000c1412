"""synthesise: made-up people beside a document that says how they were made."""

import csv
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Program, write_data
from tests.cli.test_bad_input import refused


@pytest.fixture
def history(program: Program, schema: Path, tmp_path: Path) -> list[str]:
    """A plan of pairs and its counts."""
    write_data(tmp_path / "one.csv", 3_000, seed=1)
    program("design", schema, "-e", 6, "-m", "pairs", "-o", "plan-1.json")
    program("privatise", "--plan", "plan-1.json", "one.csv", "-o", "reports-1.ndjson")
    program("tally", "--plan", "plan-1.json", "reports-1.ndjson", "-o", "counts-1.json")
    return ["plan-1.json", "counts-1.json"]


def test_a_table_with_replicates_and_how_it_was_made(program: Program, history: list[str]) -> None:
    names = "smokes,drinks"
    said = program("synthesise", *history, "--rows", 500, "-o", "made.csv", "--keep", names, "--intervals", 2)
    assert "500 made-up people from 3,000 private reports" in said.out
    assert "smokes and drinks" in said.out
    tables = [
        list(csv.reader(Path(name).read_text().splitlines())) for name in ("made.csv", "made-1.csv", "made-2.csv")
    ]
    assert [len(table) for table in tables] == [501] * 3
    assert tables[0][0] == ["sleeps badly", "smokes", "drinks"]
    assert tables[0] != tables[1] != tables[2]
    facts = json.loads(Path("made.json").read_text())
    assert facts["format"] == "privtally.synthetic/1"
    assert (facts["rows"], facts["replicates"], facts["people"]) == (500, 2, 3_000)
    assert ["smokes", "drinks"] in [link["attributes"] for link in facts["kept"]]
    assert facts["provenance"]["mechanism"] == "pairs"
    printed = program("synthesise", "--phase", *history, "-o", "made.csv", "--json", "--seed", 1).json()
    assert printed["synthesis"] == json.loads(Path("made.json").read_text())


def test_a_directory_of_run_without_pairs(program: Program, schema: Path, tmp_path: Path) -> None:
    write_data(tmp_path / "one.csv", 500, seed=1)
    program("run", "one.csv", "--schema", schema, "-e", 2, "-m", "smp", "-o", "job")
    said = program("synthesise", "job", "-o", "made.csv", "--rows", 50)
    assert "every column by itself, as no report answers two questions" in said.out


def test_everything_is_written_or_nothing(program: Program, history: list[str]) -> None:
    Path("made-2.csv").mkdir()
    assert "made-2.csv" in refused(program, "synthesise", *history, "-o", "made.csv", "--intervals", 2)
    assert not Path("made.json").exists()
    assert not Path("made.csv").exists()
    assert not [path for path in Path().iterdir() if path.name.endswith(".draft")]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "needs PLAN COUNTS"),
        (["plan-1.json"], "needs PLAN COUNTS"),
        (["plan-1.json", "counts-1.json", "--keep", "smokes"], "a pair to keep needs two questions"),
        (["plan-1.json", "counts-1.json", "--keep", "smokes,age"], "there is no question 'age'"),
        (["plan-1.json", "counts-1.json", "--rows", "0"], "1 to 10,000,000 rows"),
    ],
)
def test_refusals(program: Program, history: list[str], words: list[str], sentence: str) -> None:
    assert history
    assert sentence in refused(program, "synthesise", *words, "-o", "made.csv")
    assert not Path("made.json").exists()


def test_outputs(program: Program, history: list[str]) -> None:
    assert "must end in .csv" in refused(program, "synthesise", *history, "-o", "made.json")
    assert "is an input as well" in refused(program, "synthesise", *history, "-o", "plan-1.csv")


def test_a_document_of_another_kind_stays(program: Program, history: list[str]) -> None:
    Path("survey.json").write_text("{}")
    assert "is something else" in refused(program, "synthesise", *history, "-o", "survey.csv")
    assert Path("survey.json").read_text() == "{}"
    program("synthesise", *history, "-o", "made.csv", "--rows", 5)
    program("synthesise", *history, "-o", "made.csv", "--rows", 6)


def test_all_pairs_in_a_picture_and_in_sentences(program: Program, history: list[str]) -> None:
    pytest.importorskip("matplotlib")
    said = program("estimate", "--phase", *history, "--pairs", "--plot", "grid.svg")
    assert Path("grid.svg").read_text().startswith("<?xml")
    assert "Written: grid.svg" in said.err
