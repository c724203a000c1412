"""What campaigns are expected to score -> figure. Needs the extra `plot`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from privtally.names import HideAmong
from privtally.plots.style import SERIES, legend_below, plain_axes
from privtally.plots.text import drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
