"""The tables of the pages that the program computes are those that it computes today."""

import re

import pytest
from tools.figures import FIGURES, SURVEYS, WITHIN, WITHIN_BUDGETS, alike, between, people_for_an_error

from privtally.lab.advise import recommend
from tools import ROOT

TABLES = [(file, name) for file, tables in FIGURES.items() for name in tables]


def written(file: str, name: str) -> str:
    """What stands on the page."""
    found = between(name).search((ROOT / file).read_text())
    assert found is not None
    return found[2].strip()


@pytest.mark.parametrize(("file", "name"), TABLES)
def test_a_table_is_what_the_program_computes(file: str, name: str) -> None:
    make = FIGURES[file][name]
    if make is not people_for_an_error:  # whose search takes seconds
        assert written(file, name) == make()


def test_so_many_people_are_enough_and_fewer_are_not() -> None:
    rows = written("docs/guide/how-many-people.md", "people").splitlines()[2:]
    for row, (questions, answers, guess) in zip(rows, SURVEYS, strict=True):
        cells = [int(cell.replace(",", "")) for cell in re.findall(r" ([\d,]+) (?=\|)", row)]
        for people, epsilon in zip(cells, WITHIN_BUDGETS, strict=True):
            fewer = round((people - 10 ** (len(str(people)) - 2)) / 1.005)  # found within 0.5 %, then rounded up
            enough, too_few = (
                recommend(alike(questions, answers), epsilon, many, max_pivot_guess=guess).points
                for many in (people, fewer)
            )
            assert enough <= WITHIN < too_few, row
