"""A comparison of mechanisms and methods -> figure. Needs the extra `plot`."""

from collections.abc import Mapping, Sequence
from itertools import chain, cycle
from typing import TYPE_CHECKING, Any

from privtally.names import HideAmong
from privtally.plots.estimate import shown_figure
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
    plain_axes,
    wrapped,
)

if TYPE_CHECKING:
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
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    figure = shown_figure()(figsize=(6.4, 4.6), layout="constrained")
    axes = figure.subplots()
    for name, look in _looks(list(dict.fromkeys(row["name"] for row in rows))).items():
        best: dict[float, Mapping[str, Any]] = {}
        for row in sorted((row for row in rows if row["name"] == name), key=lambda row: (row["epsilon"], row["mse"])):
            best.setdefault(row["epsilon"], row)
        errors = [row["mse"] for row in best.values()]
        reach = [min(2 * (row["standard_error"] or 0), 0.9 * row["mse"]) for row in best.values()]
        axes.errorbar(list(best), errors, yerr=reach, label=name, markersize=6, capsize=2, linewidth=1.4, **look)
    budgets = sorted({row["epsilon"] for row in rows})
    axes.set(xscale="log", yscale="log", xlabel="privacy budget ε", ylabel="mean squared error of a share")
    axes.set_xticks(budgets, [f"{budget:g}" for budget in budgets])
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.12f}".rstrip("0").rstrip(".")))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
    plain_axes(axes)
    legend_below(figure, axes)
    return figure


def _looks(names: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """A look for each mechanism: its own, else one that no other has here, else one with hollow marks."""
    known = {name: MECHANISM_STYLES[name] for name in names if name in MECHANISM_STYLES}
    free = [look for look in SERIES if look not in known.values()]
    hollow = cycle({**look, "markerfacecolor": "white"} for look in SERIES)
    left = chain(free, hollow)
    return {name: known.get(name) or next(left) for name in names}


def _draw_by_method(rows: Sequence[Mapping[str, Any]]) -> "Figure":
    """Every mechanism's error under each method, the best at the top."""
    from matplotlib.ticker import LogLocator, NullLocator

    methods, names = sorted({row["method"] for row in rows}), list(dict.fromkeys(row["name"] for row in rows))
    shown = [wrapped(name, NAME_WIDTH) for name in names]
    each = max(METHOD_HEIGHT * (len(methods) + 1), LINE * (max(name.count("\n") for name in shown) + 1.5))
    figure = shown_figure()(figsize=(5.4, 1.6 + each * len(names)), layout="constrained")
    axes = figure.subplots()
    for place, method in enumerate(methods):
        mine = [row for row in rows if row["method"] == method]
        # One below the other, so that equal errors do not hide each other.
        below = METHOD_HEIGHT / each * (place - len(methods) / 2 + 0.5)
        axes.errorbar(
            [row["percentage_points"] for row in mine],
            [names.index(row["name"]) + below for row in mine],
            xerr=list(map(_reach, mine)),
            **{"linestyle": "none", "markersize": 5, "label": method, **METHOD_MARKERS[method]},
        )
    axes.set(xscale="log", xlabel="percentage points, measured")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter("± {x:g}")
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
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator

    with drawing(()):
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        axes = figure.subplots()
        for place, (among, points) in enumerate(by_budget.items()):
            # Smaller and smaller, so that equal errors do not hide each other.
            axes.plot(*zip(*points, strict=True), label=_in_words(among), markersize=9 - 2 * place, **SERIES[place])
        budgets = sorted({budget for points in by_budget.values() for budget, _ in points})
        axes.set(xscale="log", yscale="log", xlabel="privacy budget ε", ylabel="percentage points to expect")
        axes.set_xticks(budgets, [f"{budget:g}" for budget in budgets])
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("± {x:g}")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_minor_locator(NullLocator())
        plain_axes(axes)
        legend_below(figure, axes)
        figure.draw_without_rendering()
    return figure


def _in_words(among: HideAmong) -> str:
    if among == 1:
        return "a report says which question it answers"
    return "all are shown" if among == "all" else f"hidden among {among}"
