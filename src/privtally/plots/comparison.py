"""A comparison of mechanisms and methods -> figure. Needs the extra `plot`."""

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain, cycle
from typing import TYPE_CHECKING, Any

from privtally.names import HideAmong
from privtally.plots.style import (
    BLACK,
    BLUE,
    LINE,
    MECHANISM_STYLES,
    PURPLE,
    SERIES,
    VERMILION,
    drawing,
    legend_below,
    log_axis,
    new_figure,
    plain_axes,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


METHOD_MARKERS: Mapping[str, Mapping[str, Any]] = {
    "paper": {"marker": "o", "markerfacecolor": "white", "color": VERMILION},
    "paper+simplex": {"marker": "o", "color": VERMILION},
    "unbiased": {"marker": "s", "markerfacecolor": "white", "color": BLUE},
    "unbiased+simplex": {"marker": "s", "color": BLUE},
    "likelihood": {"marker": "D", "color": BLACK},
    "its own": {"marker": "^", "color": PURPLE},
}
NAME_WIDTH, METHOD_HEIGHT = 1.6, 0.13
"""The inches of a mechanism's name, and of a method beside it."""


def draw_comparison(rows: Sequence[Mapping[str, Any]]) -> "Figure":
    """How mechanisms did: against the budget where there are several, else one below the other under each method.

    The rows are those that `privtally compare --json` prints, each with the `name` of its mechanism.
    """
    several = len({row["epsilon"] for row in rows}) > 1
    with drawing(row["name"] for row in rows):
        figure = _draw_by_budget(rows) if several else _draw_by_method(rows)
        figure.draw_without_rendering()
    return figure


def _draw_by_budget(rows: Sequence[Mapping[str, Any]]) -> "Figure":
    """The mean squared error of every mechanism with its best method, a line each, with twice its standard error."""
    figure = new_figure(6.4, 4.6)
    axes = figure.subplots()
    for name, look in _looks(list(dict.fromkeys(row["name"] for row in rows))).items():
        best: dict[float, Mapping[str, Any]] = {}
        for row in sorted((row for row in rows if row["name"] == name), key=lambda row: (row["epsilon"], row["mse"])):
            best.setdefault(row["epsilon"], row)
        errors = [row["mse"] for row in best.values()]
        reach = [min(2 * (row["standard_error"] or 0), 0.9 * row["mse"]) for row in best.values()]
        axes.errorbar(list(best), errors, yerr=reach, label=name, markersize=6, capsize=2, linewidth=1.4, **look)
    budgets = {row["epsilon"] for row in rows}
    _against_budgets(axes, budgets, lambda value, _: f"{value:.12f}".rstrip("0").rstrip("."))
    axes.set_ylabel("mean squared error of a share")
    legend_below(figure, axes)
    return figure


def _against_budgets(axes: "Axes", budgets: Collection[float], labels: str | Callable[[float, float], str]) -> None:
    """Both axes logarithmic, with a tick for each budget below and these labels on the left."""
    from matplotlib.ticker import NullLocator

    axes.set(xscale="log", yscale="log", xlabel="privacy budget ε")
    axes.set_xticks(sorted(budgets), [f"{budget:g}" for budget in sorted(budgets)])
    axes.xaxis.set_minor_locator(NullLocator())
    log_axis(axes.yaxis, labels)
    plain_axes(axes)


def _looks(names: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """A look for each mechanism: its own, else one that no other has here, else one with hollow marks."""
    known = {name: MECHANISM_STYLES[name] for name in names if name in MECHANISM_STYLES}
    free = [look for look in SERIES if look not in known.values()]
    hollow = cycle({**look, "markerfacecolor": "white"} for look in SERIES)
    left = chain(free, hollow)
    return {name: known.get(name) or next(left) for name in names}


def _draw_by_method(rows: Sequence[Mapping[str, Any]]) -> "Figure":
    """Every mechanism's error under each method, the best at the top."""
    methods, names = sorted({row["method"] for row in rows}), list(dict.fromkeys(row["name"] for row in rows))
    shown = [wrapped(name, NAME_WIDTH) for name in names]
    row_height = max(METHOD_HEIGHT * (len(methods) + 1), LINE * (max(name.count("\n") for name in shown) + 1.5))
    figure = new_figure(5.4, 1.6 + row_height * len(names))
    axes = figure.subplots()
    for place, method in enumerate(methods):
        of_method = [row for row in rows if row["method"] == method]
        # One below the other, so that equal errors do not hide each other.
        below = METHOD_HEIGHT / row_height * (place - len(methods) / 2 + 0.5)
        axes.errorbar(
            [row["percentage_points"] for row in of_method],
            [names.index(row["name"]) + below for row in of_method],
            xerr=list(map(_reach, of_method)),
            **{"linestyle": "none", "markersize": 5, "label": method, **METHOD_MARKERS[method]},
        )
    axes.set(xscale="log", xlabel="percentage points, measured")
    log_axis(axes.xaxis, "± {x:g}")
    axes.set_title(f"ε = {rows[0]['epsilon']:g}", fontsize=10)
    plain_axes(axes)
    axes.set_yticks(range(len(names)), shown)
    axes.invert_yaxis()
    legend_below(figure, axes)
    return figure


def _reach(row: Mapping[str, Any]) -> float:
    """Two standard errors of what was measured, from those of the mean squared error, whose root it is."""
    if not row["mse"] or row["standard_error"] is None:
        return 0.0
    return float(row["percentage_points"] * row["standard_error"] / row["mse"])


def draw_advice(by_budget: Mapping[HideAmong, Sequence[tuple[float, float]]]) -> "Figure":
    """The ± in percentage points against the budget, a line for each number of questions to hide among."""
    with drawing(()):
        figure = new_figure(6.4, 4.2)
        axes = figure.subplots()
        for place, (among, points) in enumerate(by_budget.items()):
            # Smaller and smaller, so that equal errors do not hide each other.
            axes.plot(*zip(*points, strict=True), label=_in_words(among), markersize=9 - 2 * place, **SERIES[place])
        _against_budgets(axes, {budget for points in by_budget.values() for budget, _ in points}, "± {x:g}")
        axes.set_ylabel("percentage points to expect")
        legend_below(figure, axes)
        figure.draw_without_rendering()
    return figure


def _in_words(among: HideAmong) -> str:
    if among == 1:
        return "a report says which question it answers"
    return "all are shown" if among == "all" else f"hidden among {among}"
