"""The same columns as a frame of each library."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa

Columns = Mapping[str, Sequence[Any]]


def relation(columns: Columns) -> duckdb.DuckDBPyRelation:
    """A relation of a connection of its own."""
    return duckdb.connect().from_arrow(pa.table(dict(columns)))


KINDS: Mapping[str, Callable[[Columns], Any]] = {
    "pandas": lambda columns: pd.DataFrame(columns),
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "polars, lazy": lambda columns: pl.LazyFrame(columns, strict=False),
    "pyarrow": lambda columns: pa.table(dict(columns)),
    "duckdb": relation,
}
