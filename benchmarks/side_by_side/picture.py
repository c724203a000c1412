"""How cost grows with people, attributes and labels, in one picture. matplotlib is imported when drawing only."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.side_by_side.drive_privtally import MECHANISMS
from benchmarks.side_by_side.scaling import AT, Cost
from privtally.plots.style import MECHANISM_STYLES, legend_below, plain_axes

AXES = {"people": "people", "attributes": "attributes", "size": "labels of each attribute"}


def draw(costs: Mapping[str, Sequence[Cost]]) -> Any:
    """CPU seconds of privatising, tallying and estimating; a grey line is what "in proportion" looks like."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.8), layout="constrained")
    for axes, (what, label) in zip(figure.subplots(1, 3), AXES.items(), strict=True):
        own = costs[what]
        values = sorted({getattr(each, what) for each in own})
        last = min(each.total for each in own if getattr(each, what) == values[-1])
        axes.plot(
            values,
            [last * value / values[-1] for value in values],
            color="#7f7f7f",
            linewidth=0.8,
            label="in proportion",
        )
        for name, mechanism in MECHANISMS.items():
            mine = [each for each in own if each.mechanism == name]
            places = [getattr(each, what) for each in mine]
            axes.plot(places, [each.total for each in mine], label=name, markersize=5, **MECHANISM_STYLES[mechanism])
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.minorticks_off()
        axes.set_xticks(
            values, [f"{value:,}" if value < 10_000 else f"{value:.0e}".replace("e+0", "e") for value in values]
        )
        axes.set_xlabel(label)
        axes.set_title(_rest(what), fontsize=9)
        plain_axes(axes)
    first = figure.axes[0]
    first.set_ylabel("CPU seconds")
    legend_below(figure, first)
    return figure


def _rest(what: str) -> str:
    """What stays the same while one of the three grows."""
    words = {"people": f"{AT['people']:,} people", "attributes": f"{AT['attributes']} attributes"}
    words["size"] = f"{AT['size']} labels"
    return ", ".join(word for name, word in words.items() if name != what)


def save(costs: Mapping[str, Sequence[Cost]], path: Path) -> None:
    """Write the picture."""
    draw(costs).savefig(path, dpi=120)
