"""Answers in frames of every library: what is taken, and what a refusal says without quoting an answer."""

import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privtally.documents.plan import design
from privtally.errors import DocumentError, RecordError
from privtally.lab.population import seeded
from privtally.mechanisms.named import NAMED
from privtally.names import MECHANISMS, MechanismName
from privtally.participant.respond import respond_many
from privtally.schema import Attribute, Records, Schema
from privtally.tables.frames import privatise, records_of
from tests.tables.frame_kinds import KINDS, Columns, relation

SECRET = "zzz-my-secret-answer"
SCHEMA = Schema(
    (
        Attribute("smokes", ("no", "yes")),
        Attribute("café", ("jamais", "très", "日本"), optional=True),
        Attribute("age", bins=(0, 20, 60, 99)),
    )
)
COLUMNS: Columns = {
    "id": [5, 6, 7],
    "age": [19, 20, 99],
    "café": ["très", None, "日本"],
    "smokes": ["yes", "no", "yes"],
}
CODES = [[1, 1, 0], [0, 3, 1], [1, 2, 2]]
ONE = Schema.of({"smokes": ["no", "yes"]})
SINGLE = [name for name in MECHANISMS if not NAMED[name].learns]


def read(frame: Any, schema: Schema = SCHEMA, *, coded: bool = False) -> Records:
    return records_of(frame, schema, codes=coded)[0]


def refusal(frame: Any, schema: Schema = SCHEMA) -> str:
    with pytest.raises(RecordError) as fault:
        read(frame, schema)
    assert SECRET not in str(fault.value)
    assert fault.value.__cause__ is None
    return str(fault.value)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_found_by_name_and_others_left_alone(kind: str) -> None:
    records, ignored = records_of(KINDS[kind](COLUMNS), SCHEMA, codes=False)
    assert records.codes.tolist() == CODES
    assert ignored == ("id",)


@pytest.mark.parametrize("kind", KINDS)
def test_codes_are_taken_where_they_are_said_to_be(kind: str) -> None:
    coded = dict(zip(SCHEMA.names, zip(*CODES, strict=True), strict=True))
    assert read(KINDS[kind]({name: list(column) for name, column in coded.items()}), coded=True).codes.tolist() == CODES


@pytest.mark.parametrize("kind", KINDS)
def test_a_bad_value_is_named_by_row_and_attribute_and_not_quoted(kind: str) -> None:
    said = refusal(KINDS[kind]({**COLUMNS, "café": ["très", SECRET, "très"], "age": [1, 2, 100]}))
    assert "row 2: question 'café'" in said
    assert "row 3: question 'age'" in said


@pytest.mark.parametrize("kind", KINDS)
def test_a_null_is_refused_where_an_answer_is_needed(kind: str) -> None:
    said = refusal(KINDS[kind]({**COLUMNS, "smokes": ["yes", None, "no"]}))
    assert "row 2: question 'smokes' is blank" in said


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_column_and_an_empty_frame_are_refused(kind: str) -> None:
    assert "'age'" in refusal(KINDS[kind]({"smokes": ["no"], "café": ["très"]}))
    empty = duckdb.sql("SELECT 'no' AS smokes WHERE false") if kind == "duckdb" else KINDS[kind]({"smokes": []})
    assert "no rows" in refusal(empty, ONE)


OTHER_ORDER = ["yes", "other", "no"]
REORDERED: Mapping[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame({"smokes": pd.Categorical(["no", "yes", "no"], categories=OTHER_ORDER)}),
    "polars Enum": lambda: pl.DataFrame({"smokes": pl.Series(["no", "yes", "no"], dtype=pl.Enum(OTHER_ORDER))}),
    "polars Categorical": lambda: pl.DataFrame({"smokes": ["yes", "no", "yes", "no"]}).cast(pl.Categorical)[1:],
    "pyarrow": lambda: pa.table({"smokes": pa.DictionaryArray.from_arrays(pa.array([2, 0, 2]), pa.array(OTHER_ORDER))}),
    "duckdb": lambda: duckdb.sql("SELECT unnest(['no', 'yes', 'no'])::ENUM ('yes', 'other', 'no') AS smokes"),
}


@pytest.mark.parametrize("kind", REORDERED)
def test_categories_in_another_order_keep_their_labels(kind: str) -> None:
    assert read(REORDERED[kind](), ONE).codes.tolist() == [[0], [1], [0]]


def test_pieces_of_a_column_may_have_dictionaries_of_their_own() -> None:
    pieces = [pa.array(["no", "yes"]).dictionary_encode(), pa.array(["yes", "no"]).dictionary_encode()]
    assert read(pa.table({"smokes": pa.chunked_array(pieces)}), ONE).codes.tolist() == [[0], [1], [1], [0]]


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([3, 4, 3], dtype="int8"),
        pd.Series([3.0, 4.0, 3.0]),
        pd.Series([3, "4", 3], dtype=object),
        pd.Series([3, 4, 3], dtype="category"),
        pd.Series(["3", "4", "3"], dtype="string[pyarrow]"),
    ],
    ids=lambda values: str(values.dtype),
)
def test_a_number_is_spelled_as_a_person_would(values: Any) -> None:
    assert read(pd.DataFrame({"n": values}), Schema.of({"n": ["3", "4"]})).codes.tolist() == [[0], [1], [0]]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, ""])
def test_everything_that_pandas_calls_missing_is_a_skipped_answer(missing: object) -> None:
    schema = Schema((Attribute("a", ("x", "y"), optional=True),))
    assert read(pd.DataFrame({"a": pd.Series(["x", missing], dtype=object)}), schema).codes.tolist() == [[0], [2]]


def test_the_index_of_pandas_is_no_column() -> None:
    frame = pd.DataFrame({"smokes": ["no", "yes"]}, index=pd.Index([7, 7], name="café"))
    assert read(frame, ONE).codes.tolist() == [[0], [1]]
    assert "'café'" in refusal(frame, Schema.of({"café": ["jamais", "très"]}))


@pytest.mark.parametrize("values", [[["no"], ["yes"]], [b"\xff", b"no"], [{"a": 1}, {"a": 2}]], ids=repr)
def test_what_is_neither_text_nor_number_is_refused(values: list[Any]) -> None:
    for kind in ("pandas", "polars", "pyarrow"):
        with pytest.raises((RecordError, DocumentError)) as fault:
            read(KINDS[kind]({"smokes": values}), ONE)
        assert fault.value.__cause__ is None


def test_the_type_of_a_mixed_column_is_not_guessed_from_its_first_rows() -> None:
    values = pd.Series([1] * 5_000 + [SECRET], dtype=object)
    assert "row 5,001" in refusal(pd.DataFrame({"n": values}), Schema.of({"n": ["1", "2"]}))


def test_names_are_the_same_however_they_were_typed() -> None:
    frame = pl.DataFrame({"cafe\u0301": ["tre\u0300s"], "^.*$": ["x"]})
    assert read(frame, Schema.of({"café": ["jamais", "très"]})).codes.tolist() == [[1]]


@pytest.mark.parametrize(
    ("frame", "schema"),
    [
        (pd.DataFrame([["no", "no"]], columns=["smokes", "smokes"]), ONE),
        (pd.DataFrame({"café": ["a"], "cafe\u0301": ["b"]}), Schema.of({"café": ["a", "b"]})),
        (pl.DataFrame({"A": ["x"], "a": ["y"]}), Schema.of({"A": ["x", "y"], "a": ["x", "y"]})),
    ],
    ids=["twice", "the same in another form", "differ in case"],
)
def test_a_column_that_is_there_twice_is_refused(frame: Any, schema: Schema) -> None:
    with pytest.raises((DocumentError, RecordError), match="two columns"):
        read(frame, schema)


def test_columns_whose_names_differ_in_case_are_told_apart() -> None:
    frame = pl.DataFrame({"A": ["x"], "a": ["y"]})
    assert [read(frame, Schema.of({name: ["x", "y"]})).codes.tolist() for name in "Aa"] == [[[0]], [[1]]]


@pytest.mark.parametrize("data", [5, [("no",)], {"smokes": ["no"]}, pd.Series(["no"], name="smokes"), None])
def test_what_is_no_frame_is_refused(data: object) -> None:
    with pytest.raises(DocumentError, match=type(data).__name__):
        read(data, ONE)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mechanism", SINGLE)
def test_reports_come_in_a_frame_of_the_same_library(kind: str, mechanism: MechanismName) -> None:
    """The same as the plain path gives for the same stream of randomness, in the order of their ids."""
    plan, frame = design(SCHEMA, 1.0, mechanism), KINDS[kind](COLUMNS)
    made = privatise(plan, frame, seeded(1))
    assert type(made) is type(frame)
    expected = sorted(
        respond_many(plan, Records(SCHEMA, np.array(CODES, dtype=np.uint8)), seeded(1)), key=lambda own: own.id
    )
    assert _rows(made) == [(bytes.fromhex(own.id), *own.codes) for own in expected]
    in_order = _rows(privatise(plan, frame, seeded(1), keep_order=True))
    assert in_order != _rows(made)
    assert sorted(in_order) == _rows(made)


def test_reports_in_a_frame_are_small_integers() -> None:
    """Whether by chance every report answers a question or none does, and where all questions are answered."""
    for mechanism in ("smp", "spl"):
        plan = design(SCHEMA, 1.0, mechanism)
        for _ in range(5):
            made = privatise(plan, pl.DataFrame(COLUMNS))
            assert made.schema == {"id": pl.Binary, "q1": pl.UInt8, "q2": pl.UInt8, "q3": pl.UInt8}
            assert [str(kind) for kind in privatise(plan, pd.DataFrame(COLUMNS)).dtypes[1:]] == ["UInt8"] * 3


@pytest.mark.parametrize("kind", ["pandas", "polars", "duckdb"])
def test_no_other_library_is_needed(kind: str) -> None:
    """In a process where the others cannot be imported."""
    others = [name for name in ("pandas", "polars", "pyarrow", "pyspark", "matplotlib") if name != kind]
    make = {
        "pandas": "import pandas; frame = pandas.DataFrame({'a': ['x', 'y']})",
        "polars": "import polars; frame = polars.LazyFrame({'a': ['x', 'y']})",
        "duckdb": "import duckdb; frame = duckdb.sql(\"SELECT unnest(['x', 'y']) AS a\")",
    }
    program = f"""
import sys
sys.modules |= dict.fromkeys({others})
{make[kind]}
import privtally
plan = privtally.design(privtally.Schema.of({{"a": ["x", "y"]}}), 1.0, "spl")
assert privtally.tally(plan, privtally.privatise(plan, frame)).reports == 2
privtally.run(frame, plan.schema, mechanism="spl")._repr_html_()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_lazy_frame_of_reports_is_drawn_once() -> None:
    made = privatise(design(SCHEMA, 1.0, "spl"), pl.LazyFrame(COLUMNS))
    assert made.collect().equals(made.collect())
    of_duckdb = privatise(design(SCHEMA, 1.0, "spl"), relation(COLUMNS))
    assert of_duckdb.fetchall() == of_duckdb.fetchall()


def _rows(frame: Any) -> list[tuple[Any, ...]]:
    """The rows of a frame, None for what is missing."""
    match frame:
        case pd.DataFrame():
            rows = frame.astype(object).where(frame.notna(), None).itertuples(index=False, name=None)
        case pl.LazyFrame():
            rows = frame.collect().iter_rows()
        case pl.DataFrame():
            rows = frame.iter_rows()
        case pa.Table():
            rows = zip(*(column.to_pylist() for column in frame.columns), strict=True)
        case _:
            rows = frame.fetchall()
    return list(rows)
