"""Polars as an engine: Parquet files scanned and computed as a stream. Needs the extra `polars`."""

import io
from collections.abc import Sequence
from pathlib import Path

import polars as pl
from nanoarrow import ipc

ROWS_AT_ONCE = 2_500_000
"""How many reports' ids are compared at once."""


class PolarsLibrary:
    """See `library`."""

    faults: tuple[type[Exception], ...] = (pl.exceptions.PolarsError, OSError)
    failed = "Polars cannot read the reports; leave --engine out, then DuckDB does"

    def scan(self, paths: Sequence[Path]) -> pl.LazyFrame:
        table = pl.scan_parquet(list(paths), glob=False, hive_partitioning=False)
        return table.with_columns(pl.col("id").bin.size().alias("bytes"))

    def collect(self, table: pl.LazyFrame) -> ipc.InputStream:
        content = io.BytesIO()
        # Polars would hand over bytes as views, which nanoarrow 0.9 does not read.
        table.collect(engine="streaming").write_ipc_stream(content, compat_level=pl.CompatLevel.oldest())
        content.seek(0)
        return ipc.InputStream.from_readable(content)

    def pieces(self, rows: int, groups: int) -> int:  # noqa: ARG002  # what takes memory is the ids
        return max(1, -(-rows // ROWS_AT_ONCE))
