"""Alignments from the command line: declared in a schema, refused where they do not fit, and merged."""

from pathlib import Path

import pytest

from privtally.documents.plan import load_plan
from tests.cli.conftest import Program

ROOT = Path(__file__).parents[2]
SCHEMA = """
[[attributes]]
name = "school"
labels = ["none", "primary", "secondary", "college"]

[[attributes]]
name = "income"
labels = ["low", "high"]

[[alignments]]
classes = [
    { school = ["none", "primary"], income = ["low"] },
    { school = ["secondary", "college"], income = ["high"] },
]
"""
ANSWERS = "school,income\n" + "none,low\ncollege,high\nprimary,low\nsecondary,low\n" * 200


@pytest.fixture
def files(program: Program) -> Program:
    Path("s.toml").write_text(SCHEMA)
    Path("d.csv").write_text(ANSWERS)
    return program


def test_a_campaign_with_questions_of_different_lengths(files: Program) -> None:
    files("run", "d.csv", "-s", "s.toml", "-e", 4, "-m", "corr-rr", "-o", "job")
    said = files("show", "job/plan-2.json").out
    assert "chosen at random" in said
    said = files("run", "d.csv", "-s", "s.toml", "-e", 4, "-m", "corr-rr", "--rule", "proposition", "-o", "two").out
    assert "college" in said


def test_questions_that_share_some_answers_are_asked_with_a_note(files: Program) -> None:
    """One "none" that two questions share says nothing, unless the schema does."""
    Path("some.toml").write_text(
        SCHEMA.partition("[[alignments]]")[0].replace('"low", "high"', '"none", "low", "high"')
    )
    words = ("-s", "some.toml", "-e", 4, "-m", "corr-rr", "-o")
    note = "Questions 'school' and 'income' share some answers but not all"
    assert note in files("run", "d.csv", *words, "job").err
    assert '"kind":"uniform"' in Path("job/plan-2.json").read_text()
    assert note in files("design", "some.toml", *words[2:], "p.json").err
    assert "share" not in files("design", "s.toml", *words[2:], "q.json").err
    assert "share" not in files("design", "some.toml", "-e", 4, "-m", "rs-rfd", "-o", "r.json").err


def test_coarsening_asks_for_classes_and_takes_answers(files: Program) -> None:
    found = files("run", "d.csv", "-s", "s.toml", "-e", 4, "-m", "corr-rr", "--coarsen", "-o", "job", "--json").json()
    assert found["attributes"]["school"]["labels"] == ["none | primary", "secondary | college"]
    files("design", "s.toml", "-e", 1, "-m", "corr-rr", "--coarsen", "-o", "p.json")
    assert load_plan(Path("p.json").read_bytes()).schema.sizes == (2, 2)
    files("privatise", "d.csv", "-p", "p.json", "-o", "r.ndjson")
