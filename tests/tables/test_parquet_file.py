"""Parquet files of reports as others read them: DuckDB, PyArrow and Polars find what was written."""

import io
from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from privtally.documents.report import ID_BYTES, Reports
from privtally.exact.arrays import Codes
from privtally.tables.parquet_file import CodeColumn, _packed, write_parquet
from tests.support import first_plan

PLAN = first_plan((3, 3), 1.0, "smp")
Rows = list[tuple[bytes | int | None, ...]]


def written(path: Path, columns: Sequence[CodeColumn], batches: Sequence[Codes], seed: int = 1) -> Rows:
    """Write codes under random ids, and give the rows that must be found."""
    generator, rows = np.random.default_rng(seed), []
    made = []
    for codes in batches:
        ids = generator.integers(0, 256, (len(codes), ID_BYTES), dtype=np.uint8)
        made.append(Reports(PLAN, ids, codes))
        for name, row in zip(ids, codes.tolist(), strict=True):
            stated = (None if code == own.silence else code for own, code in zip(columns, row, strict=True))
            rows.append((bytes(name), *stated))
    with path.open("wb") as file:
        write_parquet(file, columns, {"format": "a", "plan": "b"}, made)
    return rows


def by_duckdb(path: Path) -> Rows:
    with duckdb.connect() as connection:
        return connection.execute(f"FROM '{path}'").fetchall()


def by_pyarrow(path: Path) -> Rows:
    table = pq.read_table(path)
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def by_polars(path: Path) -> Rows:
    return pl.read_parquet(path).rows()


READERS = (by_duckdb, by_pyarrow, by_polars)
SIZES = (1, 2, 3, 4, 5, 16, 17, 100, 256, 257, 5_000, 65_536, 88_573)


@pytest.mark.parametrize("rows", [1, 8, 611, 20_000])
@pytest.mark.parametrize("silent", [False, True])
def test_others_read_what_was_written(tmp_path: Path, rows: int, silent: bool) -> None:
    generator = np.random.default_rng(rows)
    columns = [CodeColumn(f"q{size}", size, size if silent else None) for size in SIZES]
    batches = [
        np.stack([generator.integers(0, size + silent, many, dtype=np.uint32) for size in SIZES], axis=1)
        for many in (rows, 3)
    ]
    expected = written(tmp_path / "r.parquet", columns, batches)
    for reader in READERS:
        assert reader(tmp_path / "r.parquet") == expected


@pytest.mark.parametrize("size", [65_536, 65_537])
def test_many_codes_in_a_large_row_group(tmp_path: Path, size: int) -> None:
    codes = np.random.default_rng(1).integers(0, size, (2 * size, 1), dtype=np.uint32)
    codes[:3, 0] = 0, size - 2, size - 1
    expected = written(tmp_path / "r.parquet", [CodeColumn("q1", size, None)], [codes])
    for reader in READERS:
        assert reader(tmp_path / "r.parquet") == expected


def test_a_column_may_have_no_code_at_all(tmp_path: Path) -> None:
    columns = [CodeColumn("q1", 4, 4), CodeColumn("q2", 4, None)]
    expected = written(tmp_path / "r.parquet", columns, [np.array([[4, 1]] * 100, dtype=np.uint8)])
    for reader in READERS:
        assert reader(tmp_path / "r.parquet") == expected


def test_many_columns_and_many_row_groups(tmp_path: Path) -> None:
    columns = [CodeColumn(f"q{number}", 2, None) for number in range(40)]
    batches = [np.full((number % 5 + 1, 40), number % 2, dtype=np.uint8) for number in range(20)]
    expected = written(tmp_path / "r.parquet", columns, batches)
    for reader in READERS:
        assert reader(tmp_path / "r.parquet") == expected


def test_a_file_says_what_is_in_it(tmp_path: Path) -> None:
    columns = [CodeColumn("q1", 9, 9), CodeColumn("q2", 300, None)]
    codes = np.array([[9, 7], [3, 299], [5, 8], [9, 12]], dtype=np.uint16)
    rows = written(tmp_path / "r.parquet", columns, [codes])
    file = pq.ParquetFile(tmp_path / "r.parquet")
    assert file.metadata.metadata == {b"format": b"a", b"plan": b"b"}
    assert [str(kind) for kind in file.schema_arrow.types] == ["fixed_size_binary[16]", "uint8", "uint16"]
    ids, first, second = (file.metadata.row_group(0).column(own).statistics for own in range(3))
    names = [name for name, *_ in rows if isinstance(name, bytes)]
    assert (ids.min, ids.max, ids.null_count) == (min(names), max(names), 0)
    assert (first.min, first.max, first.null_count) == (3, 5, 2)
    assert (second.min, second.max, second.null_count) == (7, 299, 0)


def test_the_least_and_the_largest_id_are_exact_where_many_begin_alike() -> None:
    ids = np.zeros((40, ID_BYTES), dtype=np.uint8)
    ids[:, 12] = np.random.default_rng(1).permutation(40)
    room = io.BytesIO()
    write_parquet(room, [], {}, [Reports(PLAN, ids, np.zeros((40, 0), dtype=np.uint8))])
    known = pq.ParquetFile(room).metadata.row_group(0).column(0).statistics
    assert (known.min, known.max) == (bytes(16), bytes(12) + b"\x27" + bytes(3))


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 6, 7, 8, 16])
@pytest.mark.parametrize("many", [0, 1, 8, 9, 1_001])
def test_numbers_are_packed_from_the_lowest_bit_on(width: int, many: int) -> None:
    numbers = np.random.default_rng(many).integers(0, 1 << width, many, dtype=np.uint16)
    groups = -(-many // 8)
    total = sum(int(number) << width * place for place, number in enumerate(numbers))
    head = 2 * groups + 1
    length = bytes([head]) if head < 128 else bytes([head & 127 | 128, head >> 7])
    assert _packed(numbers, width) == length + total.to_bytes(groups * width, "little")
