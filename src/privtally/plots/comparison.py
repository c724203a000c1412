"""A comparison of mechanisms and methods -> figure. Needs the extra `plot`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from privtally.plots.style import BLACK, BLUE, VERMILION, legend_below, plain_axes
from privtally.plots.text import LINE, drawing, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METHOD_MARKERS: Mapping[str, Mapping[str, Any]] = {
    "paper": {"marker": "o", "markerfacecolor": "white", "color": VERMILION},
    "paper+simplex": {"marker": "o", "color": VERMILION},
    "unbiased": {"marker": "s", "markerfacecolor": "white", "color": BLUE},
    "unbiased+simplex": {"marker": "s", "color": BLUE},
    "likelihood": {"marker": "D", "color": BLACK},
}
NAME_WIDTH, PANEL_WIDTH, METHOD_HEIGHT = 1.6, 2.8, 0.13
"""The inches of a mechanism's name, of a panel beside the names, and of a method in it."""


def draw_comparison(rows: Sequence[Mapping[str, Any]]) -> "Figure":
    """A panel for each budget: every mechanism's error under each method, the best at the top of the first.

    The rows are those that `privtally compare --json` prints.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator

    epsilons = list(dict.fromkeys(row["epsilon"] for row in rows))
    methods = sorted({row["method"] for row in rows})
    names = list(dict.fromkeys(map(_name, rows)))
    with drawing(names):
        shown = [wrapped(name, NAME_WIDTH) for name in names]
        each = max(METHOD_HEIGHT * (len(methods) + 1), LINE * (max(name.count("\n") for name in shown) + 1.5))
        width = max(NAME_WIDTH + PANEL_WIDTH * len(epsilons), 5.4)
        figure = Figure(figsize=(width, 1.6 + each * len(names)), layout="constrained")
        panels = figure.subplots(1, len(epsilons), squeeze=False, sharey=True)[0]
        for axes, epsilon in zip(panels, epsilons, strict=True):
            for place, method in enumerate(methods):
                mine = [row for row in rows if row["epsilon"] == epsilon and row["method"] == method]
                # One below the other, so that equal errors do not hide each other.
                below = METHOD_HEIGHT / each * (place - len(methods) / 2 + 0.5)
                axes.errorbar(
                    [row["percentage_points"] for row in mine],
                    [names.index(_name(row)) + below for row in mine],
                    xerr=list(map(_reach, mine)),
                    **{"linestyle": "none", "markersize": 5, "label": method, **METHOD_MARKERS[method]},
                )
            axes.set(xscale="log", xlabel="percentage points, measured")
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.xaxis.set_major_formatter("± {x:g}")
            axes.set_title(f"ε = {epsilon:g}", fontsize=10)
            plain_axes(axes)
        panels[0].set_yticks(range(len(names)), shown)
        panels[0].invert_yaxis()
        legend_below(figure, panels[0])
        figure.draw_without_rendering()
    return figure


def _reach(row: Mapping[str, Any]) -> float:
    """Two standard errors of what was measured, from those of the mean squared error, whose root it is."""
    if not row["mse"] or row["standard_error"] is None:
        return 0.0
    return float(row["percentage_points"] * row["standard_error"] / row["mse"])


def _name(row: Mapping[str, Any]) -> str:
    groups, pivots = row["groups"], row["pivots"]
    words = [row["mechanism"]]
    words += [f"{len(groups)} groups"] if groups else []
    words += [f"{pivots} pivots"] if pivots > 1 else []
    words += [row["rule"]] if row["rule"] else []
    return ", ".join(words)
