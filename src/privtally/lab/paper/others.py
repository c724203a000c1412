"""The paper's figures and tables without errors: Figure 2 (copy probabilities) and 12 (the data), Tables 2 and 3."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from privtally.collector.learn.rules import proposition
from privtally.exact.arrays import Floats
from privtally.lab.paper.datasets import load_dataset
from privtally.lab.paper.panels import REAL, Conventions, synthetic
from privtally.lab.paper.published import published_correlations
from privtally.mechanisms.channel import randomized_response
from privtally.plots.paper import draw_bars, draw_lines

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURE_2_EPSILON, FIGURE_2_PEOPLE = 0.5, 18_000
SYNB_PARENTS = {0.1: (0, 1, 2), 0.5: (0, 1, 2), 0.9: (0, 0, 2)}
"""The parents of X2, X3, X4 that the published correlations of SynB show."""


@dataclass(frozen=True)
class Other:
    """Rows for a CSV file, and a picture where people would rather look."""

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    figure: "Figure | None" = None


def make_other(name: str, conventions: Conventions, directory: Path | None, *, draw: bool) -> Other:
    """One of the figures and tables without errors."""
    if name == "fig_2":
        return _figure_2(draw=draw)
    if name == "table_2":
        return _table_2(conventions)
    if name == "table_3":
        return _table_3(directory)
    return _figure_12(REAL[name[-1]][0], directory, draw=draw)


def _figure_2(*, draw: bool) -> Other:
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
    return Other(["f_j", *lines], np.column_stack([target, *lines.values()]).tolist(), figure)


def _table_2(conventions: Conventions) -> Other:
    """Pearson correlations of each two attributes, exact for the population's law, next to the published sample's."""
    rows = []
    for kind in ("SynA", "SynB"):
        for rho, parents in SYNB_PARENTS.items():
            law = synthetic(conventions, kind, 4, rho, "uniform").law(parents)
            for pair, published in published_correlations(kind, rho).items():
                one, two = (int(name[1:]) - 1 for name in pair.split(","))
                rows.append([kind, rho, pair, _correlation(law, one, two), published])
    return Other(["dataset", "rho", "pair", "correlation", "published"], rows)


def _correlation(law: Floats, one: int, two: int) -> float:
    codes = np.indices(law.shape)[[one, two]].reshape(2, -1)
    covariance = np.cov(codes, aweights=law.ravel(), ddof=0)
    return float(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]))


def _table_3(directory: Path | None) -> Other:
    """The real datasets: attributes, labels, people, and the range of correlations."""
    rows = []
    for name, _ in REAL.values():
        codes = load_dataset(name, directory).codes.astype(float)
        people, width = codes.shape
        pairs = np.abs(np.corrcoef(codes.T))[np.triu_indices(width, 1)].tolist()
        rows.append([name, width, int(codes.max()) + 1, people, min(pairs), max(pairs)])
    return Other(["dataset", "d", "k", "n", "smallest_correlation", "largest_correlation"], rows)


def _figure_12(name: str, directory: Path | None, *, draw: bool) -> Other:
    """The relative frequencies of a real dataset's attributes."""
    frequencies = load_dataset(name, directory).frequencies()
    rows = [[own, code, value] for own, values in frequencies.items() for code, value in enumerate(values)]
    return Other(["attribute", "code", "frequency"], rows, draw_bars(name, frequencies) if draw else None)
