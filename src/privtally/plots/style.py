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


def luminance(colour: Sequence[float]) -> float:
    """How light a colour of red, green and blue between 0 and 1 is (WCAG 2's relative luminance)."""
    red, green, blue = (own / 12.92 if own <= 0.04045 else ((own + 0.055) / 1.055) ** 2.4 for own in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Sequence[float], other: Sequence[float]) -> float:
    """WCAG 2's contrast ratio, from 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def ink_on(ground: Sequence[float]) -> Literal["black", "white"]:
    """The colour of letters that stand out from a ground."""
    return "black" if contrast((0, 0, 0), ground) >= contrast((1, 1, 1), ground) else "white"


def plain_axes(axes: "Axes", grid: Literal["both", "x"] = "both") -> None:
    """A light grid behind the data, and no frame at the top and on the right."""
    axes.grid(axis=grid, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def legend_below(figure: "Figure", axes: "Axes") -> float:
    """What is drawn in these axes, named below the figure in as many columns as fit; how many inches tall it is."""
    handles, labels = axes.get_legend_handles_labels()
    for columns in range(min(len(labels), 6), 0, -1):
        legend = figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)
        taken = legend.get_window_extent()
        if columns == 1 or taken.width < figure.bbox.width:
            break
        legend.remove()
    return float(taken.height / figure.dpi)
