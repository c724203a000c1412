"""The paper's results -> figures; a method has the same colour, line and marker everywhere. Needs the extra `plot`."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from privtally.plots.style import (
    BAR,
    BLUE,
    MECHANISM_STYLES,
    SERIES,
    drawing,
    legend_below,
    log_axis,
    new_figure,
    plain_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Point:
    """A method's mean squared error at x, its standard error, and the published value where there is one."""

    x: float
    mse: float
    standard_error: float | None
    published: float | None


@dataclass(frozen=True)
class ErrorPanel:
    """One panel: the points of each method."""

    title: str
    x_label: str
    ticks: Sequence[float]
    points: Mapping[str, Sequence[Point]]


@drawing(())
def draw_errors(title: str, panels: Sequence[ErrorPanel]) -> "Figure":
    """One figure: a panel beside the other, our means with twice their standard error, published values hollow."""
    figure = new_figure(4.2 * len(panels), 4.0)
    all_axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, panel in zip(all_axes, panels, strict=True):
        step = 0.08 * (panel.ticks[1] - panel.ticks[0])
        for place, (method, points) in enumerate(panel.points.items()):
            # A little beside one another, so that equal errors do not hide each other.
            _draw_method(axes, method, points, (place - len(panel.points) / 2 + 0.5) * step)
        axes.set(yscale="log", xticks=panel.ticks, xlabel=panel.x_label)
        log_axis(axes.yaxis, "{x:g}")
        axes.set_title(panel.title, fontsize=10)
        plain_axes(axes)
    all_axes[0].set_ylabel("mean squared error")
    if any(point.published is not None for panel in panels for points in panel.points.values() for point in points):
        all_axes[0].plot([], [], "o", markersize=9, color="grey", markerfacecolor="none", label="published (hollow)")
    legend_below(figure, all_axes[0])
    figure.suptitle(title, fontsize=11)
    return figure


def _draw_method(axes: "Axes", method: str, points: Sequence[Point], beside: float) -> None:
    style = dict(MECHANISM_STYLES[method.lower().replace("+", "-")])
    x = [point.x + beside for point in points]
    spread = [2 * (point.standard_error or 0) for point in points]
    look: dict[str, Any] = {"markersize": 5, "capsize": 2, "linewidth": 1.3, "label": method}
    axes.errorbar(x, [point.mse for point in points], yerr=spread, **look, **style)
    published = [math.nan if point.published is None else point.published for point in points]
    axes.plot(x, published, **{**style, "linestyle": "none", "markersize": 9, "markerfacecolor": "none"})


@drawing(())
def draw_lines(
    title: str, x_label: str, y_label: str, x: Sequence[float], lines: Mapping[str, Sequence[float]]
) -> "Figure":
    """One panel of at most six lines with different colours, markers and dashes."""
    figure = new_figure(5.6, 4.2)
    axes = figure.subplots()
    for (label, values), look in zip(lines.items(), SERIES, strict=False):
        axes.plot(x, values, label=label, linewidth=1.5, markevery=0.1, markersize=4, **look)
    axes.set(xlabel=x_label, ylabel=y_label)
    axes.set_title(title, fontsize=11)
    plain_axes(axes)
    legend_below(figure, axes)
    return figure


@drawing(())
def draw_bars(title: str, bars: Mapping[str, Sequence[float]]) -> "Figure":
    """The distribution of each attribute side by side."""
    figure = new_figure(2.6 * len(bars), 3.2)
    all_axes = figure.subplots(1, len(bars), squeeze=False, sharey=True)[0]
    for axes, (name, values) in zip(all_axes, bars.items(), strict=True):
        axes.bar(range(len(values)), values, color=BAR, edgecolor=BLUE)
        axes.set(xticks=range(len(values)), xlabel=f"code of {name}")
        axes.spines[["top", "right"]].set_visible(False)
    all_axes[0].set_ylabel("relative frequency")
    figure.suptitle(title, fontsize=11)
    return figure
