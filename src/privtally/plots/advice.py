"""What campaigns are expected to score -> figure. Needs the extra `plot`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from privtally.plots.style import MECHANISM_STYLES, legend_below, plain_axes
from privtally.plots.text import drawing, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curves = Mapping[str, Sequence[tuple[float, float]]]
"""For each mechanism points (x, half the width of a 95 % interval in percentage points)."""


def draw_advice(by_budget: Curves, by_secrecy: Curves, epsilon: float) -> "Figure":
    """What to expect against the budget, and at the budget that was asked about against the pivot's secrecy."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator

    with drawing(()):
        figure = Figure(figsize=(7.2, 4.0), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        by_guess = {name: [(100 * guess, points) for guess, points in own] for name, own in by_secrecy.items()}
        for axes, curves in ((left, by_budget), (right, by_guess)):
            for place, (name, points) in enumerate(curves.items()):
                # Smaller and smaller, so that equal errors do not hide each other.
                axes.plot(*zip(*points, strict=True), label=name, markersize=9 - place, **MECHANISM_STYLES[name])
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_minor_locator(NullLocator())
            axes.yaxis.set_major_formatter("± {x:g}")
            plain_axes(axes)
        left.set_xscale("log")
        budgets = sorted({budget for points in by_budget.values() for budget, _ in points})
        left.set_xticks(budgets, [f"{budget:g}" for budget in budgets])
        left.xaxis.set_minor_locator(NullLocator())
        left.set(xlabel="privacy budget ε", ylabel="percentage points to expect")
        right.xaxis.set_major_formatter("{x:g} %")
        guessed = "how often somebody may guess which question was really used"
        right.set(xlabel=wrapped(f"{guessed}, at ε = {epsilon:g}", 2.9), xlim=(0, 105))
        legend_below(figure, left)
        figure.draw_without_rendering()
    return figure
