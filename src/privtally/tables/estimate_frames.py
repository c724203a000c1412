"""An estimate as a DataFrame: the columns of its CSV."""

from importlib.util import find_spec
from typing import Any, Literal

import narwhals as nw

from privtally.documents.estimate import Estimate
from privtally.errors import DocumentError

Library = Literal["pandas", "polars", "pyarrow"]

_TEXTS = ("attribute", "label", "among")


def estimate_frame(estimate: Estimate, library: Library) -> Any:
    """A row for each label (see `Estimate.table`); an interval that is missing is null."""
    if find_spec(library) is None:
        raise DocumentError(f"a frame of {library} needs that library; install it with: pip install {library}")
    names, rows = estimate.table()
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    return nw.from_dict(columns, {name: _kind(name) for name in names}, backend=library).to_native()


def _kind(name: str) -> Any:
    if name == "round":
        return nw.Int64
    return nw.String if name in _TEXTS else nw.Float64
