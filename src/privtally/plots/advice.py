"""What campaigns are expected to score -> figure. Needs the extra `plot`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from privtally.plots.style import MECHANISM_STYLES, legend_below, plain_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curves = Mapping[str, Sequence[tuple[float, float]]]
"""For each mechanism points (x, half the width of a 95 % interval in percentage points)."""


def draw_advice(by_budget: Curves, by_secrecy: Curves, epsilon: float) -> "Figure":
    """What to expect against the budget, and at the budget that was asked about against the pivot's secrecy."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator

    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, curves in ((left, by_budget), (right, by_secrecy)):
        for name, points in curves.items():
            axes.plot(*zip(*points, strict=True), label=name, markersize=5, **MECHANISM_STYLES[name])
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter("{x:g}")
        plain_axes(axes)
    left.set_xscale("log")
    budgets = sorted({budget for points in by_budget.values() for budget, _ in points})
    left.set_xticks(budgets, [f"{budget:g}" for budget in budgets])
    left.xaxis.set_minor_locator(NullLocator())
    left.set(xlabel="privacy budget ε", ylabel="expect ± percentage points")
    right.set(xlabel=f"how often the question used may be guessed, at ε = {epsilon:g}", xlim=(0, 1.05))
    legend_below(figure, left)
    return figure
