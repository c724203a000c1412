"""Polars as an engine: Parquet files scanned and computed as a stream. Needs the extra `polars`."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

ROWS_AT_ONCE = 2_500_000
"""How many reports' ids are compared at once."""


class PolarsLibrary:
    """See `library`."""

    faults: tuple[type[Exception], ...] = (pl.exceptions.PolarsError, OSError)

    def scan(self, paths: Sequence[Path]) -> pl.LazyFrame:
        table = pl.scan_parquet(list(paths), glob=False, hive_partitioning=False)
        return table.with_columns(pl.col("id").bin.size().alias("bytes"))

    def collect(self, table: pl.LazyFrame) -> pl.DataFrame:
        return table.collect(engine="streaming")

    def pieces(self, rows: int, groups: int) -> int:  # noqa: ARG002  # what takes memory is the ids
        return max(1, -(-rows // ROWS_AT_ONCE))
