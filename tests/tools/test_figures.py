"""The tables of the pages that the program computes are those that it computes today."""

import re

import pytest
from tools.figures import FIGURES, SURVEYS, WITHIN, WITHIN_BUDGETS, alike, between

from privtally.lab.advise import recommend
from tools import ROOT

TABLES = [(file, name) for file, tables in FIGURES.items() for name, make in tables.items()]


def written(file: str, name: str) -> str:
    """What stands on the page."""
    found = between(name).search((ROOT / file).read_text())
    assert found is not None
    return found[2].strip()


@pytest.mark.parametrize(("file", "name"), TABLES)
def test_a_table_is_what_the_program_computes(file: str, name: str) -> None:
    assert written(file, name) == FIGURES[file][name]()


def test_so_many_people_are_enough_and_fewer_are_not() -> None:
    rows = written("docs/guide/how-many-people.md", "people").splitlines()[2:]
    for row, (questions, answers, among) in zip(rows, SURVEYS, strict=True):
        cells = [int(cell.replace(",", "")) for cell in re.findall(r"\| ([\d,]+) (?=\|)", row)]
        for people, epsilon in zip(cells, WITHIN_BUDGETS, strict=True):
            fewer = round((people - 10 ** (len(str(people)) - 2)) / 1.005)  # found within 0.5 %, then rounded up
            enough, too_few = (
                recommend(alike(questions, answers), epsilon, many, hide_among=among).points for many in (people, fewer)
            )
            assert enough <= WITHIN < too_few, row


def test_what_pages_say_first_is_in_their_tables() -> None:
    people = (ROOT / "docs/guide/how-many-people.md").read_text()
    stated = re.findall(r"\| 4 questions, 4 answers \| ([\w ]+) \|.* ([\d,]+) \|$", people, re.MULTILINE)
    assert len(stated) == 2
    for used, many in stated:
        assert f" {many} " in people.split("\n## ")[0], used
