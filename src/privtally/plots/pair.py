"""Two-way table -> heat map. Needs the extra `plot`."""

from typing import TYPE_CHECKING

import numpy as np

from privtally.collector.pairs import PairEstimate
from privtally.plots.estimate import MOST_LABELS, shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_WRITTEN = 12
"""Up to so many labels of each attribute every cell has its number in it."""
CELL, FRAME = 0.75, 2.2
"""The inches of a cell with a number, and of what stands around the cells."""


def draw(pair: PairEstimate) -> "Figure":
    """How frequent each two labels are together: the darker the more frequent, with numbers where there is room.

    Of many labels the most frequent ones are drawn.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    table = np.array(pair.frequencies)
    rows, columns = (_most_frequent(table.sum(axis=axis)) for axis in (1, 0))
    percent, errors = (100 * np.array(each)[np.ix_(rows, columns)] for each in (table, pair.standard_errors))
    written = max(percent.shape) <= MOST_WRITTEN
    cell = CELL if written else CELL / 3
    with mpl.rc_context({"font.family": "sans-serif", "font.size": 10, "text.parse_math": False}):
        size = max(FRAME + 1.6 * cell * len(columns), 5.0), max(FRAME + cell * len(rows), 3.5)
        figure = Figure(figsize=size, layout="constrained")
        panel = figure.subplots()
        shown = panel.imshow(percent, cmap="Blues", vmin=0, vmax=max(float(percent.max()), 1e-9), aspect="auto")
        figure.colorbar(shown, ax=panel, label="share of people, %")
        panel.set_yticks(range(len(rows)), [shortened(pair.labels[0][code]) for code in rows])
        panel.set_xticks(range(len(columns)), [shortened(pair.labels[1][code]) for code in columns], rotation=45)
        panel.set_ylabel(shortened(pair.attributes[0], 48))
        panel.set_xlabel(shortened(pair.attributes[1], 48))
        for place in np.ndindex(percent.shape if written else (0, 0)):
            colour = "white" if percent[place] > 0.6 * percent.max() else "black"
            text = f"{percent[place]:.1f}\n± {errors[place]:.1f}"
            panel.text(place[1], place[0], text, ha="center", va="center", color=colour, fontsize=8)
        warning = "\nthe standard errors are as large as the entries" if pair.noisy else ""
        figure.suptitle(f"{pair.reports:,} private reports of both, ± one standard error{warning}", fontsize=11)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
    return figure


def _most_frequent(frequencies: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> list[int]:
    """The most frequent labels that a picture has room for, in their order."""
    return sorted(np.argsort(-frequencies, kind="stable")[:MOST_LABELS].tolist())
