"""Two-way table -> heat map, and all of them -> a grid. Needs the extra `plot`."""

from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from privtally.collector.pairs import PairEstimate, PairEstimates
from privtally.documents.estimate import NORMAL_95
from privtally.exact.types import Floats
from privtally.plots.estimate import LABEL_WIDTH, MOST_LABELS, most_frequent
from privtally.plots.style import BLUE, GRID, VERMILION, and_others, drawing, new_figure, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_WRITTEN = 12
"""Up to so many labels of each attribute every cell has its number in it."""
CELL, NARROW = (1.0, 0.6), (0.3, 0.25)
"""The inches of a cell with a number in it, and of one without: wide and tall."""
DARK = 0.715
"""Cells with a larger share of the largest frequency are dark enough for white letters."""
FRAME_WIDTH, FRAME_HEIGHT = 2.9, 1.9
"""The inches of what stands around the cells."""
MOST_QUESTIONS, MOST_IN_GRID = 12, 16
"""A grid has so many questions at most, the first ones, each with its so many most frequent labels."""
SMALL = (0.38, 0.26)
"""The inches of a cell in a grid."""
IN_GRID = "Points more (blue) or less (orange) than without a connection; grey: no more than errors give"


def draw(pair: PairEstimate, *, top: int = MOST_LABELS) -> "Figure":
    """How frequent each two labels are together: the darker the more frequent, with numbers where there is room.

    Of more labels than `top` the most frequent ones are drawn.
    """
    table = np.array(pair.frequencies)
    shown = rows, columns = [most_frequent(table.sum(axis=axis).tolist(), top) for axis in (1, 0)]
    percent = 100 * table[np.ix_(rows, columns)]
    reaches = 100 * NORMAL_95 * np.array(pair.standard_errors)[np.ix_(rows, columns)]
    written = max(percent.shape) <= MOST_WRITTEN
    labels = [[own[code] for code in order] for own, order in zip(pair.labels, shown, strict=True)]
    wide, tall = CELL if written else NARROW
    with drawing([*pair.attributes, *labels[0], *labels[1]]):
        below = FRAME_HEIGHT if written else FRAME_HEIGHT + LABEL_WIDTH
        size = max(FRAME_WIDTH + wide * len(columns), 5.0), max(below + tall * len(rows), 3.5)
        figure = new_figure(*size)
        panel = figure.subplots()
        darkest = max(float(percent.max()), 1e-9)
        image = panel.imshow(percent, cmap="Blues", vmin=0, vmax=darkest, aspect="auto")
        figure.colorbar(image, ax=panel, label="share of people", format="{x:g} %")
        panel.set_yticks(range(len(rows)), [wrapped(own, LABEL_WIDTH, lines=3 if written else 1) for own in labels[0]])
        under = [wrapped(own, 0.9 * wide if written else LABEL_WIDTH, lines=3 if written else 1) for own in labels[1]]
        panel.set_xticks(range(len(columns)), under, rotation=0 if written else 90)
        hidden = [len(own) - len(order) for own, order in zip(pair.labels, shown, strict=True)]
        panel.set_ylabel(_title(pair.attributes[0], hidden[0], tall * len(rows)))
        panel.set_xlabel(_title(pair.attributes[1], hidden[1], wide * len(columns)))
        for place in np.ndindex(percent.shape if written else (0, 0)):
            text = f"{percent[place]:.1f} %\n± {reaches[place]:.1f}"
            ink = "white" if percent[place] > DARK * darkest else "black"
            panel.text(place[1], place[0], text, ha="center", va="center", color=ink, fontsize=9)
        figure.suptitle(
            wrapped(_headline(pair, reaches, written=written), size[0] - 0.3, size=11, lines=5), fontsize=11
        )
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
    return figure


def _title(attribute: str, hidden: int, room: float) -> str:
    """An attribute's name, and how many of its labels are not shown."""
    return wrapped(attribute, max(room, 2.0), lines=2) + (f"\n({and_others(hidden)})" if hidden else "")


def _headline(pair: PairEstimate, reaches: Floats, *, written: bool) -> str:
    reach = "± is half of a 95 % interval" if written else f"95 % intervals of at most ± {reaches.max():.1f} points"
    warning = "; ± is as large as the shares" if pair.noisy else ""
    return f"{pair.reports:,} private reports answer both questions; {reach}{warning}"


def draw_all(pairs: PairEstimates) -> "Figure":
    """All two-way tables in a grid, less the products of their margins; grey is what errors would give in some cell."""
    from matplotlib.colors import LinearSegmentedColormap

    bound = NormalDist().inv_cdf(1 - 0.025 / sum(np.size(table.frequencies) for table in pairs.tables))
    labels: dict[str, Sequence[str]] = {}
    orders: dict[str, list[int]] = {}  # the same of a question in all its tables
    cells: dict[tuple[str, str], Floats] = {}
    for table in pairs.tables:
        shares = np.array(table.frequencies)
        margins = [shares.sum(axis=axis) for axis in (1, 0)]
        for name, margin in zip(table.attributes, margins, strict=True):
            orders.setdefault(name, most_frequent(margin.tolist(), MOST_IN_GRID))
        order = [orders[name] for name in table.attributes]
        for name, every, codes in zip(table.attributes, table.labels, order, strict=True):
            labels[name] = [every[code] for code in codes]
        beyond = shares - np.outer(*margins)
        clear = np.where(np.abs(beyond) > bound * np.array(table.standard_errors), 100 * beyond, np.nan)
        cells[table.attributes] = clear[np.ix_(*order)].T
        cells[table.attributes[::-1]] = clear[np.ix_(*order)]
    shown = list(labels)[:MOST_QUESTIONS]
    most = 1.4 * max(float(np.nanmax(np.abs(own), initial=0)) for own in cells.values()) or 1.0  # so black is readable
    colours = LinearSegmentedColormap.from_list("more", [VERMILION, "white", BLUE]).with_extremes(bad=GRID)
    wide, tall = [len(labels[name]) for name in shown[:-1]], [len(labels[name]) for name in shown[1:]]
    size = max(SMALL[0] * sum(wide) + 2.5, 6.0), SMALL[1] * sum(tall) + 3.0
    with drawing([*shown, *(label for name in shown for label in labels[name])]):
        figure = new_figure(*size)
        panels: Any = figure.subplots(len(tall), len(wide), squeeze=False, width_ratios=wide, height_ratios=tall)
        for row, column in np.ndindex(panels.shape):
            panel, (under, beside) = panels[row, column], (shown[column], shown[row + 1])
            own = cells.get((under, beside), np.full((tall[row], wide[column]), np.nan))
            panel.set_visible(column <= row)
            asked = (under, beside) in cells
            panel.imshow(own, cmap=colours, vmin=-most, vmax=most, aspect="auto", alpha=None if asked else 0.0)
            if not asked:
                panel.text(0.5, 0.5, "–", transform=panel.transAxes, ha="center", va="center")
            ticks = [[wrapped(label, LABEL_WIDTH, lines=1) for label in labels[name]] for name in (under, beside)]
            last, first = row == len(tall) - 1, column == 0
            panel.set_xticks(range(wide[column] if last else 0), ticks[0] if last else [], rotation=90)
            panel.set_yticks(range(tall[row] if first else 0), ticks[1] if first else [])
            panel.set_xlabel(wrapped(under, 1.4, lines=2) if last else "")
            panel.set_ylabel(wrapped(beside, 1.4, lines=2) if first else "")
            for place in zip(*np.nonzero(~np.isnan(own)), strict=True):
                text = f"{own[place]:+.0f}" if abs(own[place]) >= 1 else f"{own[place]:+.1f}"
                panel.text(place[1], place[0], text, ha="center", va="center", fontsize=7)
        figure.suptitle(wrapped(IN_GRID, size[0] - 0.3, size=11, lines=4), fontsize=11)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
    return figure
