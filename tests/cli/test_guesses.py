"""What people type first in a terminal: it works, or one sentence names the right thing."""

from pathlib import Path

import pytest

from privtally.version import SOFTWARE
from tests.cli.conftest import SCHEMA, Program, write_data, write_schema
from tests.cli.test_bad_input import refused


@pytest.fixture(autouse=True)
def _answers(tmp_path: Path) -> None:
    write_data(tmp_path / "answers.csv", 300, seed=1)
    (tmp_path / "answers.toml").write_text(SCHEMA)


def test_the_budget(program: Program) -> None:
    assert "ε = 2" in program("run", "answers.csv", "-e", 2).out
    files = {"run": "answers.csv", "compare": "answers.csv", "advise": "answers.toml"}
    for command in (*map(" ".join, files.items()), "design answers.toml -o plan.json"):
        assert refused(program, *command.split(), "--eps", 2).endswith("did you mean --epsilon?")


def test_a_spreadsheet_is_exported_first(program: Program) -> None:
    Path("answers.xlsx").write_bytes(b"PK\x03\x04")
    for words in (("run", "answers.xlsx"), ("run", "answers.xlsx", "-s", "answers.toml")):
        assert "export the sheet as answers.csv" in refused(program, *words)
    assert "export it as CSV" in refused(program, "init", "new.toml", "--from-csv", "answers.xlsx")


@pytest.mark.parametrize("written", ["corr-rr", "Corr-RR", "corr_rr"])
def test_a_mechanism_is_spelled_as_people_spell_it(program: Program, written: str) -> None:
    for words in (("--mechanism", written), ("-m", written), (f"--mechanism={written}",)):
        assert "corr-rr" in program("run", "answers.csv", *words, "--plot", "out.png").out
    assert Path("out.png").stat().st_size
    assert "rs-fd" in program("run", "answers.csv", "-m", "RS+FD").out
    assert "did you mean corr-rr?" in refused(program, "run", "answers.csv", "--mechanism", "corrr")


def test_the_directory_that_run_wrote_is_estimated(program: Program) -> None:
    program("run", "answers.csv", "-m", "corr-rr", "-o", "job")
    assert program("estimate", "job/", "--json").json() == program("estimate", "job", "--json").json()
    assert "+ 270 private reports" in program("estimate", "job/").out
    assert "the directory that run -o wrote" in refused(program, "estimate")
    assert "privtally run -o wrote" in refused(program, "estimate", "answers.csv")


def test_a_shape_stands_for_a_schema(program: Program) -> None:
    four = write_schema("four.json", dict.fromkeys("abcd", "1234"))
    assert program("advise", "4x4", "--people", 500).out == program("advise", four, "--people", 500).out
    assert "needs 2 to" in refused(program, "advise", "4x1")


def test_a_comparison_is_drawn(program: Program) -> None:
    words = ("--epsilon", "0.5,1,2", "--plot", "c.png", "--mechanisms", "SPL,Corr_RR", "--runs", 1, "--workers", 1)
    assert "Best at ε = 0.5" in program("compare", "answers.csv", *words).out
    assert Path("c.png").read_bytes().startswith(b"\x89PNG")


def test_help_and_version(program: Program) -> None:
    assert program("help", "run").out == program("run", "-h").out == program("run", "--help").out
    assert program("help").out == program("--help").out
    assert program("help", "campaign", "create").out == program("campaign", "create", "--help").out
    assert program("version").out.strip() == program("--version").out.strip() == SOFTWARE
    assert "no command nothing" in refused(program, "help", "nothing")


def test_serve_prints_the_address_to_open(program: Program) -> None:
    assert "privtally serve prints the address" in refused(program, "open")
