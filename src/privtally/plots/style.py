"""What the lab's pictures share: a colour, marker and line for each mechanism, readable in grey, and plain axes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MECHANISM_STYLES: Mapping[str, Mapping[str, Any]] = {
    "spl": {"color": "#000000", "marker": "o", "linestyle": ":"},
    "rs-fd": {"color": "#0072b2", "marker": "s", "linestyle": "--"},
    "rs-rfd": {"color": "#009e73", "marker": "^", "linestyle": "-."},
    "corr-rr": {"color": "#d55e00", "marker": "D", "linestyle": "-"},
    "cond-rr": {"color": "#56b4e9", "marker": "P", "linestyle": (0, (5, 1))},
    "smp": {"color": "#cc79a7", "marker": "v", "linestyle": (0, (3, 1, 1, 1, 1, 1))},
}


def plain_axes(axes: "Axes", grid: Literal["both", "x"] = "both") -> None:
    """A light grid behind the data, and no frame at the top and on the right."""
    axes.grid(axis=grid, color="#d9d9d9", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def legend_below(figure: "Figure", axes: "Axes") -> None:
    """What is drawn in these axes, named below the figure."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 6), frameon=False)
