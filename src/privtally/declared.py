"""The categories that the types of a frame's columns declare. Nothing here is ever read off the data.

A Polars or DuckDB Enum is a list that somebody wrote down. A Polars Categorical and an Arrow dictionary hold whatever
values the column happens to have: a label that nobody gave would be missing, and the list itself would tell who is in
the data. A pandas category may be either, and nothing in the frame says which, so that its dtype has to be named.
"""

from collections.abc import Mapping
from typing import Any

from privtally.errors import SchemaError

_READ_OFF = "holds the categories that are in its data"


def declared_labels(frame: Any, categories: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The labels of every column, by its type or by the dtype in `categories`, which has `.categories`."""
    import narwhals as nw

    try:
        found = nw.from_native(frame)
    except TypeError:
        raise SchemaError(f"a schema needs a frame of Polars, DuckDB or pandas, not {type(frame).__name__}") from None
    columns = found.collect_schema()
    unknown = [name for name in categories if name not in columns]
    if unknown:
        raise SchemaError(f"the frame has no column '{unknown[0]}' of which categories are given")
    labels = {}
    for name, kind in columns.items():
        if name in categories:
            labels[name] = _listed(name, categories[name])
        elif found.implementation.is_pandas_like():
            raise SchemaError(
                f"column '{name}': pandas does not say whether categories were declared or read off the data; name the "
                f"dtype: categories={{'{name}': dtype}}"
            )
        elif isinstance(kind, nw.Enum):
            labels[name] = tuple(kind.categories)
        else:
            what = _READ_OFF if kind == nw.Categorical else "declares no categories"
            raise SchemaError(
                f"column '{name}' {what}; answers are never read off the data: make it an Enum, or leave it out"
            )
    return labels


def _listed(name: str, dtype: Any) -> tuple[str, ...]:
    stated = getattr(dtype, "categories", None)
    if stated is None:
        raise SchemaError(f"column '{name}' needs a dtype that lists its categories, such as pandas.CategoricalDtype")
    return tuple(stated)
