"""What pictures share: colours that every reader can tell apart, a look for each mechanism, and plain axes.

Every two colours of `COLOURS` differ for readers who see no red, no green or no blue, and in grey; all stand out from
white. Whatever has a colour has a marker, a dash or a place of its own too.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLACK, BLUE, VERMILION, PURPLE = "#000000", "#0072b2", "#d55e00", "#cc79a7"
DARK_GREEN, BROWN = "#004834", "#863b00"
COLOURS = (BLUE, VERMILION, BLACK, PURPLE, DARK_GREEN, BROWN)
"""Okabe and Ito's, of which green and a second vermilion are darker: theirs are too alike in grey."""
BAR, TRUTH = "#9fd0ef", "#e69f00"
"""What is filled: a bar, which has an edge, and a mark with a black edge."""
GRID, MUTED = "#d9d9d9", "#4f5a65"

DASHES: Sequence[Any] = ("-", "--", ":", "-.", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)))
SERIES: Sequence[Mapping[str, Any]] = tuple(
    {"color": colour, "marker": marker, "linestyle": dash}
    for colour, marker, dash in zip(COLOURS, "oDsv^P", DASHES, strict=True)
)
"""The looks of lines in one panel; there are no more."""
MECHANISM_STYLES: Mapping[str, Mapping[str, Any]] = dict(
    zip(("rs-fd", "corr-rr", "spl", "smp", "rs-rfd", "cond-rr"), SERIES, strict=True)
)


def plain_axes(axes: "Axes", grid: Literal["both", "x"] = "both") -> None:
    """A light grid behind the data, and no frame at the top and on the right."""
    axes.grid(axis=grid, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def legend_below(figure: "Figure", axes: "Axes") -> None:
    """What is drawn in these axes, named below the figure, in as many columns as it is wide."""
    handles, labels = axes.get_legend_handles_labels()
    for columns in range(min(len(labels), 6), 0, -1):
        legend = figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)
        if columns == 1 or legend.get_window_extent().width < figure.bbox.width:
            return
        legend.remove()
