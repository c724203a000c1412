"""A comparison of mechanisms and methods -> figure. Needs the extra `plot`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from privtally.plots.style import legend_below, plain_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METHOD_MARKERS: Mapping[str, Mapping[str, Any]] = {
    "paper": {"marker": "o", "markerfacecolor": "none", "color": "#d55e00"},
    "paper+simplex": {"marker": "o", "color": "#d55e00"},
    "unbiased": {"marker": "s", "markerfacecolor": "none", "color": "#0072b2"},
    "unbiased+simplex": {"marker": "s", "color": "#0072b2"},
    "pooled": {"marker": "D", "color": "#009e73"},
}


def draw_comparison(rows: Sequence[Mapping[str, Any]]) -> "Figure":
    """A panel for each budget: every mechanism's error under each method, the best at the top of the first.

    The rows are those that `privtally compare --json` prints.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator

    epsilons = list(dict.fromkeys(row["epsilon"] for row in rows))
    names = list(dict.fromkeys(map(_name, rows)))
    figure = Figure(figsize=(1.5 + 3.6 * len(epsilons), 1.6 + 0.4 * len(names)), layout="constrained")
    panels = figure.subplots(1, len(epsilons), squeeze=False, sharey=True)[0]
    methods = sorted({row["method"] for row in rows})
    for axes, epsilon in zip(panels, epsilons, strict=True):
        for place, method in enumerate(methods):
            mine = [row for row in rows if row["epsilon"] == epsilon and row["method"] == method]
            below = 0.16 * (place - len(methods) / 2 + 0.5)  # so that equal errors do not hide each other
            axes.errorbar(
                [row["percentage_points"] for row in mine],
                [names.index(_name(row)) + below for row in mine],
                xerr=list(map(_reach, mine)),
                **{"linestyle": "none", "markersize": 6, "label": method, **METHOD_MARKERS[method]},
            )
        axes.set(xscale="log", xlabel="± percentage points, measured")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_title(f"ε = {epsilon:g}", fontsize=10)
        plain_axes(axes)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].invert_yaxis()
    legend_below(figure, panels[0])
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
