"""Answers from files of every kind: the same records whatever holds them, and refusals that quote no answer."""

import gzip
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privtally.errors import DocumentError, PrivtallyError, RecordError
from privtally.exact.randomness import SystemSource
from privtally.schema import Attribute, Schema
from privtally.tables import answers as answer_files
from privtally.tables.answers import joined, open_answers, open_table
from privtally.tables.database import text
from tests.scale import scaled

SECRET = "zzz-my-secret-answer"
CAFE = Schema.of({"smokes": ["no", "yes"], "café": ["jamais", "très"]})
WIDE = Schema(
    (
        Attribute("smokes", ("no", "yes"), optional=True),
        Attribute("age", bins=(0, 18, 65, 120)),
        Attribute("height", bins=(0.0, 1.5, 2.5), decimals=True),
        Attribute("town", merged=(("Bonn", "Köln"), ("Lyon",))),
    )
)
ROWS: list[dict[str, Any]] = [
    {"smokes": "yes", "age": 17, "height": 1.25, "town": "Köln"},
    {"smokes": None, "age": 18, "height": 2.0, "town": "Lyon"},
    {"smokes": "no answer", "age": 120, "height": 1.5, "town": "Bonn"},
]
CODES = [[1, 0, 0, 0], [2, 1, 1, 1], [2, 2, 1, 0]]
SUFFIXES = ["csv", "csv.gz", "ndjson", "jsonl.gz", "parquet"]


def read(paths: Path | Sequence[Path], schema: Schema = CAFE, *, coded: bool = False) -> list[list[int]]:
    with open_answers([paths] if isinstance(paths, Path) else paths, schema, coded=coded) as answers:
        return answers.read_all().codes.tolist()  # type: ignore[no-any-return]  # lists of integers


def refusal(paths: Path | Sequence[Path], schema: Schema = CAFE, *, coded: bool = False) -> PrivtallyError:
    with pytest.raises(PrivtallyError) as fault:
        read(paths, schema, coded=coded)
    assert SECRET not in str(fault.value)
    assert fault.value.__cause__ is None
    assert "\n" not in str(fault.value)
    return fault.value


def write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """Rows in a file of the kind that its name states, by DuckDB alone."""
    source = path.with_name("source.json")
    source.write_text(json.dumps(rows))
    kind = "json" if ".csv" not in path.name and path.suffix != ".parquet" else path.name.split(".")[1]
    packing = ", COMPRESSION gzip" if path.suffix == ".gz" else ""
    duckdb.connect().execute(
        f"COPY (FROM read_json({text(source)}, hive_partitioning = false)) TO {text(path)} (FORMAT {kind}{packing})"
    )
    source.unlink()
    return path


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_kind_of_file_gives_the_same_records(tmp_path: Path, suffix: str) -> None:
    assert read(write(tmp_path / f"data.{suffix}", ROWS), WIDE) == CODES


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_codes_instead_of_labels(tmp_path: Path, suffix: str) -> None:
    rows = [dict(zip(WIDE.names, row, strict=True)) for row in CODES]
    path = write(tmp_path / f"data.{suffix}", [*rows, {**rows[0], "smokes": None}])
    assert read(path, WIDE, coded=True) == [*CODES, [2, 0, 0, 0]]
    bad = write(tmp_path / f"bad.{suffix}", [*rows, {**rows[0], "town": 2}])
    said = refusal(bad, WIDE, coded=True)
    assert isinstance(said, RecordError)
    assert "town" in str(said)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_value_outside_the_schema_is_named_by_its_place(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"data.{suffix}", [*ROWS, {**ROWS[0], "town": SECRET}])
    said = refusal(path, WIDE)
    assert isinstance(said, RecordError)
    assert "town" in str(said)
    assert "row 4" in str(said) or "line 5" in str(said)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_null_where_an_answer_is_needed_is_refused(tmp_path: Path, suffix: str) -> None:
    assert "blank" in str(refusal(write(tmp_path / f"data.{suffix}", [*ROWS, {**ROWS[0], "age": None}]), WIDE))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_missing_column_is_named_and_another_one_ignored(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"data.{suffix}", [{"smokes": "yes", "person": SECRET}])
    said = str(refusal(path))
    assert "café" in said
    path = write(tmp_path / f"more.{suffix}", [{"smokes": "yes", "café": "très", "person": SECRET}])
    with open_answers([path], CAFE) as answers:
        assert answers.read_all().codes.tolist() == [[1, 1]]
        assert list(answers.ignored) == ([] if "json" in suffix else ["person"])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_names_and_labels_may_be_typed_with_accents_apart(tmp_path: Path, suffix: str) -> None:
    rows = [{"smokes": "yes", "cafe\u0301": "tre\u0300s"}, {"smokes": "no", "cafe\u0301": "jamais"}]
    assert read(write(tmp_path / f"data.{suffix}", rows)) == [[1, 1], [0, 0]]


@pytest.mark.parametrize("suffix", [suffix for suffix in SUFFIXES if suffix not in ("csv", "ndjson")])
def test_a_file_that_is_cut_short_is_refused_as_such(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"data.{suffix}", [{"smokes": "yes", "café": "très"}] * 3_000)
    whole = path.read_bytes()
    for kept in (len(whole) - 1, len(whole) // 2, 20, 3, 0):
        path.write_bytes(whole[:kept])
        assert isinstance(refusal(path), DocumentError)


def test_an_ndjson_file_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.ndjson"
    path.write_text('{"smokes": "yes", "café": "très"}\n{"smokes": "' + SECRET)
    assert isinstance(refusal(path), DocumentError)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_empty_file_and_one_that_is_not_there(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"data.{suffix}"
    assert "data" in str(refusal(path))
    path.write_bytes(b"")
    refusal(path)


def test_dictionaries_of_another_order_bytes_and_large_text_in_parquet(tmp_path: Path) -> None:
    labels = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["très", SECRET, "jamais"]))
    table = pa.table({"café": labels.take(pa.array([0, 2])), "smokes": pa.array([b"no", b"yes"])})
    pq.write_table(table, tmp_path / "data.parquet")
    assert read(tmp_path / "data.parquet") == [[0, 1], [1, 0]]
    large = pa.table({"smokes": pa.array(["yes"], pa.large_string()), "café": pa.array(["très".encode()])})
    pq.write_table(large, tmp_path / "large.parquet")
    assert read(tmp_path / "large.parquet") == [[1, 1]]
    pq.write_table(pa.table({"smokes": [b"\xff\xfe"], "café": ["très"]}), tmp_path / "bytes.parquet")
    assert "smokes" in str(refusal(tmp_path / "bytes.parquet"))


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.string()])
def test_numbers_of_every_type_fall_into_bins(tmp_path: Path, kind: pa.DataType) -> None:
    schema = Schema((Attribute("age", bins=(0, 18, 65, 120)),))
    ages = pa.array([0, 17, 18, 120]).cast(kind)
    pq.write_table(pa.table({"age": ages}), tmp_path / "data.parquet")
    assert read(tmp_path / "data.parquet", schema) == [[0], [0], [1], [2]]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e300, 17.5, -1.0])
def test_floats_that_are_no_whole_number_of_the_range_are_refused(tmp_path: Path, value: float) -> None:
    pq.write_table(pa.table({"age": [value]}), tmp_path / "data.parquet")
    assert "age" in str(refusal(tmp_path / "data.parquet", Schema((Attribute("age", bins=(0, 18, 65)),))))


@pytest.mark.parametrize("packing", ["", ".gz"])
def test_csv_as_programs_write_it(tmp_path: Path, packing: str) -> None:
    """A byte order mark, CRLF, quoted commas, newlines and quotation marks, blank lines and columns nobody wants."""
    schema = Schema.of({"a,b": ["x\u00a0y", 'say "no"', "p, q"], "c": ["1", "2"]})
    content = '\ufeff"a,b",note,c\r\n"x\u00a0y","line 1\r\nline 2",1\r\n"say ""no""",,"2"\r\n"p, q",x,1\r\n'
    path = tmp_path / f"data.csv{packing}"
    path.write_bytes(gzip.compress(content.encode()) if packing else content.encode())
    assert read(path, schema) == [[0, 0], [1, 1], [2, 0]]


@pytest.mark.parametrize("packing", ["", ".gz"])
@pytest.mark.parametrize(
    ("header", "word"),
    [("smokes,café,smokes", "twice"), ("smokes;café", "semicolons"), ("Smokes,café", "smokes"), ('"smokes,café', "")],
)
def test_headers_that_do_not_fit(tmp_path: Path, packing: str, header: str, word: str) -> None:
    content = f"{header}\n{SECRET},{SECRET}\n".encode()
    path = tmp_path / f"data.csv{packing}"
    path.write_bytes(gzip.compress(content) if packing else content)
    assert word in str(refusal(path))


def test_columns_that_differ_by_capitals_are_not_mixed_up(tmp_path: Path) -> None:
    schema = Schema.of({"a": ["x", "y"], "A_1": ["x", "y"], "A": ["x", "y"]})
    (tmp_path / "data.csv").write_text("a,A,A_1\nx,y,x\ny,x,x\n")
    assert read(tmp_path / "data.csv", schema) == [[0, 0, 1], [1, 0, 0]]
    (tmp_path / "data.ndjson").write_text('{"a": "x", "A": "y", "A_1": "x"}\n')
    assert "capitals" in str(refusal(tmp_path / "data.ndjson", schema))


@pytest.mark.parametrize("packing", ["", ".gz"])
def test_one_column(tmp_path: Path, packing: str) -> None:
    path = tmp_path / f"data.csv{packing}"
    optional = Schema((Attribute("smokes", ("no", "yes"), optional=True),))
    content = b"smokes\nyes\n\nno\n"
    path.write_bytes(gzip.compress(content) if packing else content)
    assert read(path, optional) == [[1], [2], [0]]
    assert "blank" in str(refusal(path, Schema.of({"smokes": ["no", "yes"]})))


@pytest.mark.parametrize("kind", ["ndjson", "csv.gz", "parquet"])
def test_a_pipe_that_the_engine_would_have_to_read_twice_is_refused(tmp_path: Path, kind: str) -> None:
    pipe = tmp_path / f"data.{kind}"
    os.mkfifo(pipe)
    assert "pipe" in str(refusal(pipe))


def test_directories_patterns_and_names_with_special_letters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    yes, no = {"smokes": "yes", "café": "très"}, {"smokes": "no", "café": "jamais"}
    lake = tmp_path / "lake"
    (lake / "smokes=no").mkdir(parents=True)
    (lake / "_temporary").mkdir()
    write(lake / "smokes=no" / "b.parquet", [yes])
    write(lake / "a.csv", [no])
    for hidden in ("_temporary/c.csv", ".d.csv", "_SUCCESS", "notes.txt"):
        (lake / hidden).write_text(SECRET)
    assert read(lake) == [[0, 0], [1, 1]]
    assert read(lake / "*.csv") == [[0, 0]]
    assert read(lake / "**" / "*.parquet") == [[1, 1]]
    for name in ("a[1].parquet", "a*.parquet", "a?.csv", "~x.parquet", "it's.ndjson"):
        monkeypatch.chdir(tmp_path)
        write(tmp_path / name, [yes])
        write(tmp_path / "a1.parquet", [no])
        assert read(Path(name)) == [[1, 1]]
    assert isinstance(refusal(tmp_path / "none*.csv"), DocumentError)
    (tmp_path / "empty").mkdir()
    assert isinstance(refusal(tmp_path / "empty"), DocumentError)


def test_a_file_under_two_names_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "data.csv", [{"smokes": "yes", "café": "très"}])
    (tmp_path / "link.csv").symlink_to(path)
    for other in (path, tmp_path / "link.csv", tmp_path / "x" / ".." / "data.csv", tmp_path):
        assert "twice" in str(refusal([path, other]))


def test_rows_are_known_beforehand_in_parquet_alone(tmp_path: Path) -> None:
    paths = [write(tmp_path / name, [{"smokes": "yes", "café": "très"}] * 3) for name in ("a.parquet", "b.parquet")]
    with open_answers(paths, CAFE) as answers:
        assert answers.rows == 6
    with open_answers([*paths, write(tmp_path / "c.csv", ROWS)], CAFE) as answers:
        assert answers.rows == 0


ONE = Schema.of({"smokes": ["no", "yes"]})


def csv(directory: Path, content: str) -> Path:
    path = directory / "data.csv"
    path.write_bytes(content.encode())
    return path


@pytest.mark.parametrize("cell", ["", " ", "\t"])
def test_a_blank_cell_is_said_to_be_blank(tmp_path: Path, cell: str) -> None:
    said = str(refusal(csv(tmp_path, f"smokes,café\nyes,{cell}\n")))
    assert "'café'" in said
    assert "is blank" in said


@pytest.mark.parametrize(("delimiter", "name"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
@pytest.mark.parametrize("quote", ["", '"'])
def test_another_delimiter_is_named(tmp_path: Path, delimiter: str, name: str, quote: str) -> None:
    content = f"{quote}smokes{quote}{delimiter}{quote}café{quote}\n{SECRET}{delimiter}très\n"
    assert name in str(refusal(csv(tmp_path, content)))


@pytest.mark.parametrize(
    ("schema", "content"), [({"a;b": ["x", "y"], "a": ["x", "y"]}, "a;b,a\nx,y\n"), ({"a;b": ["x", "y"]}, '"a;b"\ny\n')]
)
def test_a_name_may_hold_another_delimiter(tmp_path: Path, schema: dict[str, list[str]], content: str) -> None:
    assert len(read(csv(tmp_path, content), Schema.of(schema))) == 1


def test_a_long_ignored_field_is_ignored(tmp_path: Path) -> None:
    assert len(read(csv(tmp_path, f'note,smokes,café\n"{"x" * 300_000}",yes,très\n'))) == 1


def test_every_bad_row_is_reported_at_once(tmp_path: Path) -> None:
    rows = ["yes,très"] * 3 + [f"{SECRET},très"] + [f"yes,{SECRET}"] * 13 + ["no"]
    said = str(refusal(csv(tmp_path, "smokes,café\n" + "\n".join(rows) + "\n")))
    for stated in ("line 5", "line 14", "'smokes'", "'café'", "15 rows"):
        assert stated in said
    assert "line 15" not in said


def test_nothing_comes_after_a_bad_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_files, "BATCH", 2)
    path, given = csv(tmp_path, "smokes\nyes\nyes\nbad\nyes\nyes\nyes\n"), list[int]()
    with open_table(path, ONE, SystemSource()) as table, pytest.raises(RecordError, match="line 4"):
        given.extend(len(records) for records in table.batches())
    assert given == [2]


def test_long_lists_of_columns_are_shortened(tmp_path: Path) -> None:
    ignored = [f"column {place} {'x' * 900}" for place in range(1_000)]
    notices: list[str] = []
    path = csv(tmp_path, ",".join(["smokes", *ignored]) + "\n" + "yes" + "," * 1_000 + "\n")
    with open_answers([path], ONE, notice=notices.append) as answers:
        assert len(answers.read_all()) == 1
    assert len(notices[0]) < 1_000
    assert "990" in notices[0]
    schema = Schema.of({f"question {place}": ["x", "y"] for place in range(500)})
    assert len(str(refusal(csv(tmp_path, "a,b\nx,y\n"), schema))) < 1_000


def test_a_file_without_line_ends_is_refused() -> None:
    assert "line 1" in str(refusal(Path("/dev/zero"), ONE))


CELLS = st.sampled_from(
    ["no", "yes", "très", "jamais", "", " ", '"no"', '"', '""', "#", "\\", "'", "x", '"yes', 'yes"', "\0", '"a\nb"']
)
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r", "\n\n", " \n", ""])


@given(
    st.lists(st.tuples(st.lists(CELLS, min_size=1, max_size=3), ENDS), max_size=6),
    st.sampled_from(["smokes,café", "café,smokes", "smokes,note,café", '"smokes",café']),
    st.sampled_from(["\n", "\r\n"]),
)
@settings(max_examples=scaled(40, 100))
def test_the_engine_and_the_careful_reader_agree(
    tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[list[str], str]], header: str, end: str
) -> None:
    """The same records or a refusal by both, whatever text a CSV file holds."""
    optional = Schema((Attribute("smokes", ("no", "yes"), optional=True), Attribute("café", ("jamais", "très"))))
    path = tmp_path_factory.getbasetemp() / "agree.csv"
    path.write_text(header + end + "".join(",".join(cells) + stop for cells, stop in lines), newline="")

    def carefully() -> list[list[int]]:
        with open_table(path, optional, SystemSource()) as table:
            return joined(table.batches()).codes.tolist()  # type: ignore[no-any-return]  # lists of integers

    assert outcome(lambda: read(path, optional)) == outcome(carefully)


def outcome(reading: Callable[[], list[list[int]]]) -> list[list[int]] | type[PrivtallyError]:
    try:
        return reading()
    except PrivtallyError as fault:
        return type(fault)


def test_what_the_engine_cannot_read_is_read_again_from_where_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "data.csv"
    rows = ["yes,très", "no,jamais", "yes,jamais"] * 20_000
    path.write_text("smokes,café\n" + "\n".join(rows) + "\r\nno,très\nyes,très\n", newline="")
    found = read(path)
    assert len(found) == 60_002
    assert found[:3] == [[1, 1], [0, 0], [1, 0]]
    assert found[-2:] == [[0, 1], [1, 1]]
    monkeypatch.setattr(answer_files, "cells", _broken)
    assert read(path) == found


def _broken(*_: object) -> None:
    raise duckdb.Error(SECRET)


def test_lines_without_the_key_of_a_question_are_refused_even_if_it_may_be_skipped(tmp_path: Path) -> None:
    schema = Schema(
        (Attribute("smokes", ("no", "yes"), optional=True), Attribute("drinks", ("no", "yes"), optional=True))
    )
    path = tmp_path / "answers.ndjson"
    path.write_text('{"smokes": "no", "Trinks": "yes"}\n{"smokes": null, "Trinks": "no"}\n')
    with open_answers([path], schema) as answers, pytest.raises(RecordError, match="drinks"):
        answers.read_all()
    path.write_text('{"smokes": "no"}\n{"drinks": "yes"}\n')
    with open_answers([path], schema) as answers:
        assert answers.read_all().codes.tolist() == [[0, 2], [2, 1]]
