"""Answers from CSV files as people have them: what is taken, and what a refusal says without quoting an answer."""

from pathlib import Path

import pytest

from privtally.errors import RecordError
from privtally.schema import Records, Schema
from privtally.tables import answers
from privtally.tables.answers import joined, open_table
from privtally.tables.database import say_ignored

SECRET = "zzz-my-secret-answer"
ONE = Schema.of({"smokes": ["no", "yes"]})
TWO = Schema.of({"smokes": ["no", "yes"], "café": ["jamais", "très"]})


def read(path: Path, content: str, schema: Schema = TWO) -> Records:
    path.write_bytes(content.encode())
    with open_table(path, schema) as table:
        return joined(table.batches())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data.csv"


def refusal(path: Path, content: str, schema: Schema = TWO) -> str:
    with pytest.raises(RecordError) as fault:
        read(path, content, schema)
    assert SECRET not in str(fault.value)
    return str(fault.value)


@pytest.mark.parametrize("cell", ["", " ", "\t"])
def test_a_blank_cell_is_said_to_be_blank(path: Path, cell: str) -> None:
    said = refusal(path, f"smokes,café\nyes,{cell}\n")
    assert "'café'" in said
    assert "is blank" in said


@pytest.mark.parametrize(("delimiter", "name"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
@pytest.mark.parametrize("quote", ["", '"'])
def test_another_delimiter_is_named(path: Path, delimiter: str, name: str, quote: str) -> None:
    content = f"{quote}smokes{quote}{delimiter}{quote}café{quote}\n{SECRET}{delimiter}très\n"
    assert name in refusal(path, content)


def test_a_name_may_hold_another_delimiter(path: Path) -> None:
    schema = Schema.of({"a;b": ["x", "y"], "a": ["x", "y"]})
    assert read(path, "a;b,a\nx,y\n", schema).codes.tolist() == [[0, 1]]


def test_a_long_ignored_field_is_ignored(path: Path) -> None:
    long = "x" * 300_000
    assert len(read(path, f'note,smokes,café\n"{long}",yes,très\n')) == 1


def test_every_bad_row_is_reported_at_once(path: Path) -> None:
    rows = ["yes,très"] * 3 + [f"{SECRET},très"] + [f"yes,{SECRET}"] * 13 + ["no"]
    said = refusal(path, "smokes,café\n" + "\n".join(rows) + "\n")
    assert "line 5" in said
    assert "line 14" in said
    assert "line 15" not in said
    assert "'smokes'" in said
    assert "'café'" in said
    assert "15 rows" in said


def test_nothing_comes_after_a_bad_row(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "BATCH", 2)
    path.write_text("smokes\nyes\nyes\nbad\nyes\nyes\nyes\n")
    given: list[int] = []
    with open_table(path, ONE) as table, pytest.raises(RecordError, match="line 4"):
        given.extend(len(records) for records in table.batches())
    assert given == [2]


def test_a_long_list_of_ignored_columns_is_shortened(path: Path) -> None:
    header = ",".join(["smokes", *(f"column {place} {'x' * 900}" for place in range(1_000))])
    path.write_text(header + "\n" + "yes" + "," * 1_000 + "\n")
    with open_table(path, ONE) as table:
        assert len(joined(table.batches())) == 1
        said = say_ignored(table.names[1:])
    assert len(said) < 1_000
    assert "990" in said


def test_a_long_list_of_missing_columns_is_shortened(path: Path) -> None:
    schema = Schema.of({f"question {own}": ["x", "y"] for own in range(500)})
    assert len(refusal(path, "a,b\nx,y\n", schema)) < 1_000


def test_a_file_without_line_ends_is_refused() -> None:
    with pytest.raises(RecordError, match="line 1"), open_table(Path("/dev/zero"), ONE) as table:
        joined(table.batches())
