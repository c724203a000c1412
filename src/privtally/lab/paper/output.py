"""What `privtally reproduce` leaves behind: pictures, CSV files and results.json, each written whole."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

from privtally.documents.estimate import csv_of
from privtally.files import write_bytes
from privtally.lab.paper.others import Other
from privtally.lab.paper.panels import X_LABELS, Conventions, Panel, figure_name, panels
from privtally.lab.paper.reproduce import Result
from privtally.plots import estimate as picture
from privtally.plots.paper import ErrorPanel, Point, draw_errors

HEADER = ("id", "dataset", "epsilon", "method", "x_name", "x", "mse", "standard_error", "published", "z")


def write_results(results: Sequence[Result], conventions: Conventions, directory: Path, *, draw: bool) -> None:
    """A CSV file and a picture for each figure and table, and results.json at the end."""
    for figure, group in groupby(results, key=lambda result: result.figure):
        mine = list(group)
        rows = [[{**asdict(result), **result.settings}[name] for name in HEADER] for result in mine]
        drawn = None
        if draw:
            chosen = {result.id for result in mine}
            shown = [_shown(panel, mine) for panel in panels(conventions) if panel.id in chosen]
            drawn = draw_errors(f"{figure_name(figure)}, conventions: {conventions}", shown)
        write_other(figure, Other(HEADER, rows, drawn), directory)
    text = json.dumps([asdict(result) for result in results], indent=1)
    write_bytes(directory / "results.json", text.encode() + b"\n")


def _shown(panel: Panel, results: Sequence[Result]) -> ErrorPanel:
    """A panel's points for the picture; the rows of a table are told apart by their budget."""
    mine = [r for r in results if r.id == panel.id and r.settings["epsilon"] == panel.shown.get("epsilon", r.x)]
    points: dict[str, list[Point]] = {
        method: [Point(r.x, r.mse, r.standard_error, r.published) for r in mine if r.method == method]
        for method in panel.methods
    }
    return ErrorPanel(panel.title, X_LABELS[panel.x_name], panel.x, points)


def write_other(name: str, other: Other, directory: Path) -> None:
    """A CSV file, and a picture if there is one."""
    write_bytes(directory / f"{name}.csv", csv_of(other.header, other.rows))
    if other.figure is not None:
        path = directory / f"{name}.png"
        write_bytes(path, picture.render(other.figure, path))
