"""reproduce: a figure or table of the paper; and the pictures, CSV files and results.json that the command writes."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from privtally.collector.copies import proposition
from privtally.documents.estimate import csv_of
from privtally.errors import DocumentError, naming_arguments
from privtally.exact.types import Floats
from privtally.files import silently, write_bytes
from privtally.lab.compare import Tabular
from privtally.lab.paper import experiments
from privtally.lab.paper.data import data_directory, load_dataset, published_correlations
from privtally.lab.paper.experiments import (
    OTHER_IDS,
    REAL,
    X_LABELS,
    Conventions,
    Panel,
    Result,
    choose_ids,
    figure_name,
    panels,
    synthetic,
)
from privtally.mechanisms.channels import randomized_response
from privtally.plots import estimate as picture
from privtally.plots.paper import ErrorPanel, Point, draw_bars, draw_errors, draw_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure


FIGURE_2_EPSILON, FIGURE_2_PEOPLE = 0.5, 18_000
SYNB_PARENTS = {0.1: (0, 1, 2), 0.5: (0, 1, 2), 0.9: (0, 0, 2)}
"""The parents of X2, X3, X4 that the published correlations of SynB show."""


@dataclass(frozen=True, repr=False)
class Reproduction(Tabular):
    """A figure or table of the paper: the rows of a table, and a picture where people would rather look."""

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    figure: "Figure | None" = None

    def table(self) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        return self.header, self.rows

    def plot(self, path: str | Path | None = None) -> "Figure":
        """The picture, written to a .png or .svg file if one is named; refused for a table of numbers alone."""
        picture.check_drawing(path)
        if self.figure is None:
            raise DocumentError("this table of the paper has no picture; print it, or use to_pandas()")
        return picture.written(self.figure, path)


@naming_arguments
def reproduce(
    name: str,
    *,
    runs: int = 100,
    seed: int = 1,
    as_written: bool = False,
    data_dir: str | Path | None = None,
    workers: int = 1,
) -> Reproduction:
    """A figure or table of the paper, such as "fig_3", "fig_3a" or "table_6", with the published numbers beside ours.

    With `as_written` it follows the paper's text where the published numbers do not. Real data is looked for in
    `data_dir`, else in PRIVTALLY_DATA_DIR, else downloaded.
    """
    conventions: Conventions = "as-written" if as_written else "published"
    directory, chosen = data_directory(None if data_dir is None else Path(data_dir)), choose_ids([name])
    if chosen[0] in OTHER_IDS:
        if len(chosen) > 1:
            raise DocumentError(f"{name} has several panels; name one of {', '.join(chosen)}")
        return make_other(chosen[0], conventions, directory, draw=picture.available())
    how: Any = {"runs": runs, "seed": seed, "workers": workers, "directory": directory, "advance": silently}
    results = experiments.reproduce(chosen, conventions, **how)
    (found,) = by_figure(results, conventions, draw=picture.available()).values()
    return found


def make_other(name: str, conventions: Conventions, directory: Path | None, *, draw: bool) -> Reproduction:
    """One of the figures and tables without errors."""
    if name == "fig_2":
        return _figure_2(draw=draw)
    if name == "table_2":
        return _table_2(conventions)
    if name == "table_3":
        return _table_3(directory)
    return _figure_12(REAL[name[-1]][0], directory, draw=draw)


def _figure_2(*, draw: bool) -> Reproduction:
    """Proposition 1's copy probability against the target's frequency, for two labels."""
    scale = float(randomized_response(Fraction(FIGURE_2_EPSILON), 2).scale)
    target = np.linspace(0.01, 0.99, 99)
    pair = np.stack([target, 1 - target], axis=-1)
    lines = {
        f"f_s = {pivot}": proposition(np.full_like(pair, [pivot, 1 - pivot]), pair, scale, FIGURE_2_PEOPLE).tolist()
        for pivot in (0.1, 0.3, 0.7, 0.9)
    }
    title = f"Copy probability of Proposition 1, k = 2, ε = {FIGURE_2_EPSILON}, n2 = {FIGURE_2_PEOPLE:,}"
    figure = draw_lines(title, "f_j, the other attribute", "p_y", target.tolist(), lines) if draw else None
    return Reproduction(["f_j", *lines], np.column_stack([target, *lines.values()]).tolist(), figure)


def _table_2(conventions: Conventions) -> Reproduction:
    """Pearson correlations of each two attributes, exact for the population's law, next to the published sample's."""
    rows = []
    for kind in ("SynA", "SynB"):
        for rho, parents in SYNB_PARENTS.items():
            law = synthetic(conventions, kind, 4, rho, "uniform").law(parents)
            for pair, published in published_correlations(kind, rho).items():
                one, two = (int(name[1:]) - 1 for name in pair.split(","))
                rows.append([kind, rho, pair, _correlation(law, one, two), published])
    return Reproduction(["dataset", "rho", "pair", "correlation", "published"], rows)


def _correlation(law: Floats, one: int, two: int) -> float:
    codes = np.indices(law.shape)[[one, two]].reshape(2, -1)
    covariance = np.cov(codes, aweights=law.ravel(), ddof=0)
    return float(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]))


def _table_3(directory: Path | None) -> Reproduction:
    """The real datasets: attributes, labels, people, and the range of correlations."""
    rows = []
    for name, _ in REAL.values():
        codes = load_dataset(name, directory).codes.astype(float)
        people, width = codes.shape
        pairs = np.abs(np.corrcoef(codes.T))[np.triu_indices(width, 1)].tolist()
        rows.append([name, width, int(codes.max()) + 1, people, min(pairs), max(pairs)])
    return Reproduction(["dataset", "d", "k", "n", "smallest_correlation", "largest_correlation"], rows)


def _figure_12(name: str, directory: Path | None, *, draw: bool) -> Reproduction:
    """The relative frequencies of a real dataset's attributes."""
    frequencies = load_dataset(name, directory).frequencies()
    rows = [[own, code, value] for own, values in frequencies.items() for code, value in enumerate(values)]
    return Reproduction(["attribute", "code", "frequency"], rows, draw_bars(name, frequencies) if draw else None)


HEADER = ("id", "dataset", "epsilon", "method", "x_name", "x", "mse", "standard_error", "published", "z")


def by_figure(results: Sequence[Result], conventions: Conventions, *, draw: bool) -> dict[str, Reproduction]:
    """The rows of each figure and table, with its picture if it is drawn."""
    made = {}
    for figure, group in groupby(results, key=lambda result: result.figure):
        mine = list(group)
        rows = [[{**asdict(result), **result.settings}[name] for name in HEADER] for result in mine]
        drawn = None
        if draw:
            chosen = {result.id for result in mine}
            shown = [_shown(panel, mine) for panel in panels(conventions) if panel.id in chosen]
            drawn = draw_errors(f"{figure_name(figure)}, conventions: {conventions}", shown)
        made[figure] = Reproduction(HEADER, rows, drawn)
    return made


def write_results(results: Sequence[Result], conventions: Conventions, directory: Path, *, draw: bool) -> None:
    """A CSV file and a picture for each figure and table, and results.json at the end."""
    for figure, made in by_figure(results, conventions, draw=draw).items():
        write_other(figure, made, directory)
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


def write_other(name: str, other: Reproduction, directory: Path) -> None:
    """A CSV file, and a picture if there is one."""
    write_bytes(directory / f"{name}.csv", csv_of(other.header, other.rows))
    if other.figure is not None:
        path = directory / f"{name}.png"
        write_bytes(path, picture.render(other.figure, path))
