"""The paper's figures in one style: the same colour, line and marker for a method everywhere, readable in grey."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from privtally.lab.advise import Curves
from privtally.lab.compare import Comparison
from privtally.lab.paper.panels import X_LABELS, Panel, figure_name
from privtally.lab.paper.reproduce import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLES: Mapping[str, Mapping[str, Any]] = {
    "SPL": {"color": "#000000", "marker": "o", "linestyle": ":"},
    "RS+FD": {"color": "#0072b2", "marker": "s", "linestyle": "--"},
    "RS+RFD": {"color": "#009e73", "marker": "^", "linestyle": "-."},
    "Corr-RR": {"color": "#d55e00", "marker": "D", "linestyle": "-"},
    "SMP": {"color": "#cc79a7", "marker": "v", "linestyle": (0, (3, 1, 1, 1, 1, 1))},
}


def draw_errors(panels: Sequence[Panel], results: Sequence[Result]) -> "Figure":
    """One figure: a panel beside the other, our means with twice their standard error, published values hollow."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    figure = Figure(figsize=(4.2 * len(panels), 4.0), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axis, panel in zip(axes, panels, strict=True):
        mine = [result for result in results if _belongs(result, panel)]
        for method in panel.methods:
            points = [result for result in mine if result.method == method]
            # A little beside one another, so that equal errors do not hide each other.
            beside = (panel.methods.index(method) - len(panel.methods) / 2 + 0.5) * 0.02 * (panel.x[1] - panel.x[0]) * 4
            _draw_method(axis, method, points, beside)
        axis.set_yscale("log")
        axis.set_xticks(panel.x)
        axis.set_xticks([], minor=True)
        axis.set_xlabel(X_LABELS[panel.x_name])
        axis.set_title(panel.title, fontsize=10)
        axis.grid(which="major", color="#d9d9d9", linewidth=0.6)
        axis.grid(which="minor", axis="y", color="#eeeeee", linewidth=0.4)
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("mean squared error")
    handles, labels = axes[0].get_legend_handles_labels()
    if any(result.published is not None for result in results):
        handles.append(Line2D([], [], linestyle="none", marker="o", markersize=9, color="grey", markerfacecolor="none"))
        labels.append("published (hollow)")
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    conventions = results[0].settings["conventions"] if results else ""
    figure.suptitle(f"{figure_name(panels[0].figure)}, conventions: {conventions}", fontsize=11)
    return figure


def _draw_method(axis: Any, method: str, points: Sequence[Result], beside: float) -> None:
    style = STYLES[method]
    x = [point.x + beside for point in points]
    axis.errorbar(
        x,
        [point.mse for point in points],
        yerr=[2 * (point.standard_error or 0) for point in points],
        markersize=5,
        capsize=2,
        linewidth=1.3,
        label=method,
        **style,
    )
    known = [(point.x + beside, point.published) for point in points if point.published is not None]
    if known:
        axis.plot(
            [place for place, _ in known],
            [value for _, value in known],
            linestyle="none",
            marker=style["marker"],
            markersize=9,
            markerfacecolor="none",
            markeredgecolor=style["color"],
        )


def draw_lines(
    title: str, x_label: str, y_label: str, x: Sequence[float], lines: Mapping[str, Sequence[float]]
) -> "Figure":
    """One panel of lines with different dashes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 4.2), layout="constrained")
    axis = figure.subplots()
    for (label, values), style in zip(lines.items(), _line_styles(), strict=False):
        axis.plot(x, values, label=label, linewidth=1.5, **style)
    axis.set_xlabel(x_label)
    axis.set_ylabel(y_label)
    axis.set_title(title, fontsize=11)
    axis.grid(color="#d9d9d9", linewidth=0.6)
    axis.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=min(len(lines), 5), frameon=False)
    return figure


def draw_bars(title: str, bars: Mapping[str, Sequence[float]]) -> "Figure":
    """The distribution of each attribute side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.6 * len(bars), 3.2), layout="constrained")
    axes = figure.subplots(1, len(bars), squeeze=False, sharey=True)[0]
    for axis, (name, values) in zip(axes, bars.items(), strict=True):
        axis.bar(range(len(values)), values, color="#0072b2", alpha=0.7)
        axis.set_xticks(range(len(values)))
        axis.set_xlabel(f"code of {name}")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("relative frequency")
    figure.suptitle(title, fontsize=11)
    return figure


METHOD_MARKERS: Mapping[str, Mapping[str, Any]] = {
    "paper": {"marker": "o", "markerfacecolor": "none", "color": "#d55e00"},
    "paper+simplex": {"marker": "o", "color": "#d55e00"},
    "unbiased": {"marker": "s", "markerfacecolor": "none", "color": "#0072b2"},
    "unbiased+simplex": {"marker": "s", "color": "#0072b2"},
    "pooled": {"marker": "D", "color": "#009e73"},
}


def draw_comparison(rows: Sequence[Comparison]) -> "Figure":
    """A panel for each budget: every mechanism's error under each method, the best at the top of the first."""
    from matplotlib.figure import Figure

    epsilons = list(dict.fromkeys(row.epsilon for row in rows))
    names = list(dict.fromkeys(_variant(row) for row in rows))
    figure = Figure(figsize=(1.5 + 3.6 * len(epsilons), 1.6 + 0.4 * len(names)), layout="constrained")
    axes = figure.subplots(1, len(epsilons), squeeze=False, sharey=True)[0]
    methods = sorted({row.method for row in rows})
    for axis, epsilon in zip(axes, epsilons, strict=True):
        for method in methods:
            mine = [row for row in rows if row.epsilon == epsilon and row.method == method]
            axis.errorbar(
                [row.mse for row in mine],
                # A little below one another, so that equal errors do not hide each other.
                [names.index(_variant(row)) + 0.16 * (methods.index(method) - len(methods) / 2 + 0.5) for row in mine],
                xerr=[2 * (row.standard_error or 0) for row in mine],
                linestyle="none",
                markersize=6,
                label=method,
                **METHOD_MARKERS[method],
            )
        axis.set_xscale("log")
        axis.set_xlabel("mean squared error")
        axis.set_title(f"ε = {epsilon:g}", fontsize=10)
        axis.grid(color="#d9d9d9", linewidth=0.6)
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].invert_yaxis()
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _variant(row: Comparison) -> str:
    return row.mechanism if row.rule is None else f"{row.mechanism}, {row.rule}"


def _line_styles() -> list[dict[str, Any]]:
    colours = ["#000000", "#0072b2", "#009e73", "#d55e00", "#cc79a7"]
    return [{"color": c, "linestyle": s} for c, s in zip(colours, ["-", "--", "-.", ":", (0, (5, 1))], strict=True)]


def _belongs(result: Result, panel: Panel) -> bool:
    return result.id == panel.id and result.settings["epsilon"] in {panel.setting(x).epsilon for x in panel.x}


PAPER_NAMES = {"spl": "SPL", "rs-fd": "RS+FD", "corr-rr": "Corr-RR", "smp": "SMP"}


def draw_advice(by_budget: Curves, by_secrecy: Curves, epsilon: float) -> "Figure":
    """Expected errors against the budget, and at the budget that was asked about against the pivot's secrecy."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator

    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for axis, curves in ((left, by_budget), (right, by_secrecy)):
        for name, points in curves.items():
            axis.plot(*zip(*points, strict=True), label=name, markersize=5, **STYLES[PAPER_NAMES[name]])
        axis.set_yscale("log")
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
        axis.yaxis.set_minor_locator(NullLocator())
        axis.yaxis.set_major_formatter("{x:g}")
        axis.grid(color="#d9d9d9", linewidth=0.6)
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
    left.set_xscale("log")
    budgets = sorted({budget for points in by_budget.values() for budget, _ in points})
    left.set_xticks(budgets, [f"{budget:g}" for budget in budgets])
    left.xaxis.set_minor_locator(NullLocator())
    left.set_xlabel("budget ε")
    left.set_ylabel("expected error of a frequency")
    right.set_xlabel(f"how often an observer may name the pivot, at ε = {epsilon:g}")
    right.set_xlim(0, 1.05)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure
