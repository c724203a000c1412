"""The paper's published numbers: facts, with their source, in `published.json`."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def _all() -> Any:
    return json.loads(files("privtally.lab.paper").joinpath("published.json").read_text(encoding="utf-8"))


def published_error(key: str, method: str, x: float) -> float | None:
    """The published mean squared error of a method at x in a panel, or None if there is none."""
    panel = _all()["mse"].get(key, {})
    return float(panel[method][panel["x"].index(x)]) if method in panel else None


def published_correlations(kind: str, rho: float) -> Mapping[str, float]:
    """Table 2: the correlation of each pair of attributes in SynA or SynB."""
    table = _all()["correlations"]
    return dict(zip(table["pairs"], table[kind][f"{rho:g}"], strict=True))
