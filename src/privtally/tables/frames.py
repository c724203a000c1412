"""DataFrames of other libraries, none of which has to be installed: what our engine reads of them, and makes of theirs.

narwhals says which library a frame is of. Answers and reports then go through DuckDB as those in files do.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import duckdb
import nanoarrow as na
import narwhals as nw
from narwhals.exceptions import DuplicateError

from privtally.errors import DocumentError
from privtally.tables.arrow import Stream
from privtally.tables.database import engine, name

Native = Any
"""A frame as its own library has it: pandas, Polars (eager or lazy), PyArrow, DuckDB or PySpark."""


class Kind(NamedTuple):
    """The frames of one library."""

    gather: Callable[[Native, Sequence[str]], Any]
    """Some columns of a frame, in this process, as our engine takes them."""
    make: Callable[[Stream, str, Native], Native]
    """A frame like another one, of what is selected from a table."""


@dataclass(frozen=True, repr=False)
class Frame:
    """A frame that was recognised. It may be raw data and never prints itself."""

    native: Native
    library: str
    columns: tuple[str, ...]
    kind: Kind

    @property
    def where(self) -> str:
        """What refusals call it."""
        return f"the {self.library} frame"

    def gather(self, columns: Sequence[str]) -> Any:
        """Some of its columns, as our engine takes them."""
        return self.kind.gather(self.native, columns)

    def alike(self, table: Stream, select: str) -> Native:
        """A frame of the same library, of what is selected from a table."""
        try:
            return self.kind.make(table, select, self.native)
        except Exception:  # every library has errors of its own kind
            if table.fault is not None:
                raise table.fault from None
            raise


def recognise(data: Any) -> Frame | None:
    """A frame of one of the libraries; None if the data is something else."""
    try:
        found = nw.from_native(data)
        columns = tuple(found.collect_schema().names())
    except TypeError:
        return None
    except DuplicateError:
        raise DocumentError("the frame has two columns of the same name; rename one of them") from None
    library = str(found.implementation)
    if library not in _KINDS:
        raise DocumentError(f"frames of {library} are not read; convert it to one of {', '.join(_KINDS)}")
    return Frame(data, library, columns, _KINDS[library])


class _AsArrow:
    """A table as Arrow only: our engine reads no relation of another connection, and Polars with pyarrow alone."""

    def __init__(self, table: Native) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def _from_polars(frame: Native, columns: Sequence[str]) -> Any:
    from polars import selectors

    return _AsArrow(frame.lazy().select(selectors.by_name(*columns)).collect())


def _from_spark(frame: Native, columns: Sequence[str]) -> Any:
    quoted = [column.replace("`", "``") for column in columns]
    return frame.select(*(f"`{column}`" for column in quoted)).toArrow()


def _to_pandas(table: Stream, select: str, _: Native) -> Native:
    with engine() as connection:
        made = duckdb.from_arrow(table, connection=connection).project(select).df()
    # Integers that may be null, whether by chance one is or not.
    codes = {column: kind.name.replace("uint", "UInt") for column, kind in made.dtypes.items() if column != "id"}
    return made.astype(codes).assign(id=made["id"].map(bytes))  # the engine's bytearrays cannot be keys


def _to_polars(table: Stream, select: str, like: Native) -> Native:
    import polars as pl

    with engine() as connection:
        # Not the relation itself: Polars would keep its type, of which DuckDB complains when the process ends.
        made = pl.DataFrame(na.ArrayStream(duckdb.from_arrow(table, connection=connection).project(select)))
    return made.lazy() if isinstance(like, pl.LazyFrame) else made


def _to_pyarrow(table: Stream, select: str, _: Native) -> Native:
    import pyarrow as pa

    with engine() as connection:
        return pa.table(duckdb.from_arrow(table, connection=connection).project(select))


def _to_duckdb(table: Stream, select: str, _: Native) -> Native:
    """A relation of DuckDB's default connection: which one another relation is of cannot be known."""
    return duckdb.from_arrow(table).project(select)


def _to_spark(table: Stream, select: str, like: Native) -> Native:
    import pyarrow as pa

    made = _to_pyarrow(table, select, like)
    kinds = [(column, pa.binary() if column == "id" else pa.int32()) for column in made.column_names]
    return like.sparkSession.createDataFrame(made.cast(pa.schema(kinds)))  # it has no unsigned integers


_SPARK = Kind(_from_spark, _to_spark)
_KINDS = {
    "pandas": Kind(lambda frame, columns: frame[list(columns)], _to_pandas),
    "polars": Kind(_from_polars, _to_polars),
    "pyarrow": Kind(lambda frame, columns: frame.select(list(columns)), _to_pyarrow),
    "duckdb": Kind(lambda frame, columns: _AsArrow(frame.project(", ".join(map(name, columns)))), _to_duckdb),
    "pyspark": _SPARK,
    "pyspark[connect]": _SPARK,
}
"""By narwhals' name of the library."""
