"""What `privtally reproduce` leaves behind: pictures, CSV files and results.json, each written whole."""

import csv
import io
import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from privtally.files import write_bytes
from privtally.lab.paper.others import Other
from privtally.lab.paper.panels import X_LABELS, Conventions, Panel, figure_name, panels
from privtally.lab.paper.reproduce import Result
from privtally.plots import estimate as picture
from privtally.plots.paper import ErrorPanel, Point, draw_errors


def write_results(results: Sequence[Result], conventions: Conventions, directory: Path, *, draw: bool) -> None:
    """A CSV file and a picture for each figure and table, and results.json at the end."""
    for figure, group in groupby(results, key=lambda result: result.id.rstrip("abc")):
        mine = list(group)
        header = ["id", "dataset", "epsilon", "method", "x_name", "x", "mse", "standard_error", "published", "z"]
        rows = [
            [r.id, r.dataset, r.settings["epsilon"], r.method, r.x_name, r.x, r.mse, r.standard_error, r.published, r.z]
            for r in mine
        ]
        write_bytes(directory / f"{figure}.csv", csv_bytes(header, rows))
        if draw:
            chosen = {result.id for result in mine}
            shown = [_shown(panel, mine) for panel in panels(conventions) if panel.id in chosen]
            path = directory / f"{figure}.png"
            drawn = draw_errors(f"{figure_name(figure)}, conventions: {conventions}", shown)
            write_bytes(path, picture.render(drawn, path))
    body = [result.body() for result in results]
    write_bytes(directory / "results.json", json.dumps(body, indent=1).encode() + b"\n")


def _shown(panel: Panel, results: Sequence[Result]) -> ErrorPanel:
    """A panel's points for the picture; the rows of a table are told apart by their budget."""
    budgets = {panel.setting(x).epsilon for x in panel.x}
    mine = [result for result in results if result.id == panel.id and result.settings["epsilon"] in budgets]
    points: dict[str, list[Point]] = {
        method: [Point(r.x, r.mse, r.standard_error, r.published) for r in mine if r.method == method]
        for method in panel.methods
    }
    return ErrorPanel(panel.title, X_LABELS[panel.x_name], panel.x, points)


def write_other(name: str, other: Other, directory: Path) -> None:
    """A CSV file, and a picture if there is one."""
    write_bytes(directory / f"{name}.csv", csv_bytes(other.header, other.rows))
    if other.figure is not None:
        path = directory / f"{name}.png"
        write_bytes(path, picture.render(other.figure, path))


def csv_bytes(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> bytes:
    """Rows as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()
