"""Schemas from frames: declared categories only."""

from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privtally.errors import SchemaError
from privtally.schema import Schema

MOODS = ["très bien", "bien", "mal"]
DECLARED = pd.CategoricalDtype(MOODS)
EXPECTED = Schema.of({"mood": MOODS})


def values(dtype: Any) -> pl.DataFrame:
    return pl.DataFrame({"mood": pl.Series(["mal"], dtype=dtype)})


def test_an_enum_declares_its_labels_in_order_whatever_the_data_holds() -> None:
    assert Schema.from_frame(values(pl.Enum(MOODS))) == EXPECTED
    assert Schema.from_frame(values(pl.Enum(MOODS)).lazy()) == EXPECTED
    listed = ", ".join(f"'{mood}'" for mood in MOODS)
    assert Schema.from_frame(duckdb.sql(f"SELECT 'mal'::ENUM ({listed}) AS mood")) == EXPECTED


def test_the_categories_of_pandas_are_named() -> None:
    frame = pd.DataFrame({"mood": pd.Series(["mal"], dtype=DECLARED)})
    assert Schema.from_frame(frame, {"mood": DECLARED}) == EXPECTED
    assert Schema.from_frame(frame.astype(str), {"mood": DECLARED}) == EXPECTED


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"mood": ["mal", "bien"]}).astype("category"),
        pd.DataFrame({"mood": pd.Categorical(["mal", "bien"], ordered=True)}),
        pd.DataFrame({"mood": pd.Series(["mal"], dtype=DECLARED)}),
        values(pl.Categorical),
        values(pl.String),
        pl.DataFrame({"mood": [1, 2]}),
        pa.table({"mood": pa.array(["mal", "bien"]).dictionary_encode()}),
    ],
    ids=["pandas", "pandas, ordered", "pandas, declared", "Categorical", "String", "Int64", "dictionary"],
)
def test_what_may_be_read_off_the_data_is_refused(frame: Any) -> None:
    with pytest.raises(SchemaError, match="'mood'") as fault:
        Schema.from_frame(frame)
    assert "bien" not in str(fault.value)


@pytest.mark.parametrize(
    ("frame", "categories", "word"),
    [
        (5, {}, "int"),
        (values(pl.String), {"other": DECLARED}, "'other'"),
        (values(pl.String), {"mood": pd.CategoricalDtype()}, "'mood'"),
        (values(pl.String), {"mood": pl.String()}, "'mood'"),
        (values(pl.String), {"mood": pd.CategoricalDtype([1.5, 2.5])}, "'mood'"),
        (values(pl.Enum(["mal"])), {}, "'mood'"),
    ],
)
def test_what_declares_nothing_is_refused(frame: Any, categories: dict[str, Any], word: str) -> None:
    with pytest.raises(SchemaError, match=word):
        Schema.from_frame(frame, categories)
