"""Sentences on a terminal break between words; in a file or a pipe every sentence is one line."""

import io

import pytest
from rich.table import Table

from privtally.cli.console import WrappingConsole

SENTENCE = "Whoever reads a long sentence on a terminal wants to see words whole. " * 4
PATH = "a/directory/" * 12 + "plan.json"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")


def test_a_terminal_has_whole_words_within_its_width() -> None:
    terminal = Terminal()
    WrappingConsole(file=terminal).print(SENTENCE)
    lines = terminal.getvalue().splitlines()
    assert len(lines) == 4
    assert max(map(len, lines)) <= 80
    assert " ".join(lines).split() == SENTENCE.split()


def test_a_long_path_stays_in_one_piece() -> None:
    terminal = Terminal()
    WrappingConsole(file=terminal).print(f"Written: {PATH}")
    assert PATH in terminal.getvalue()


def test_elsewhere_a_sentence_is_one_line() -> None:
    file = io.StringIO()
    WrappingConsole(file=file).print(SENTENCE)
    assert file.getvalue() == SENTENCE + "\n"


@pytest.mark.parametrize("file", [io.StringIO(), Terminal()])
def test_a_table_fits_everywhere(file: io.StringIO) -> None:
    table = Table("question", "answers")
    table.add_row(SENTENCE, SENTENCE)
    WrappingConsole(file=file).print(table)
    assert max(map(len, file.getvalue().splitlines())) <= 80
