"""Frequencies round by round -> figure. Needs the extra `plot`."""

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from privtally.documents.estimate import Estimate, Frequencies
from privtally.errors import EstimateError
from privtally.plots.estimate import FRAME, MOST_INCHES, TITLE_SIZE, bounds, most_frequent, rows_of
from privtally.plots.style import SERIES, and_others, drawing, new_figure, plain_axes, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_LINES = len(SERIES)
"""More lines than this in one panel cannot be told apart; the most frequent labels of the last round are drawn."""
WIDTH, PANEL_HEIGHT, LEGEND_WIDTH = 6.4, 2.0, 1.6
ROW = 0.2
"""The inches of a line of a legend."""


def draw_rounds(estimate: Estimate, *, top: int = MOST_LINES) -> "Figure":
    """One panel for each attribute: a line over the rounds for each label, with its 95 % intervals as a band.

    Of more labels than `top`, which is at most MOST_LINES, the most frequent ones of the last round are drawn.
    """
    if estimate.rounds is msgspec.UNSET:
        raise EstimateError("this estimate has no rounds to draw; make it with --by-round")
    numbers = [estimated.round for estimated in estimate.rounds]
    names = list(estimate.attributes)
    last = estimate.rounds[-1].attributes
    orders = {name: most_frequent(last[name].frequencies, min(top, MOST_LINES)) for name in names}
    labels = {name: [last[name].labels[code] for code in order] for name, order in orders.items()}
    with drawing([*names, *chain.from_iterable(labels.values())]):
        legends = {name: [wrapped(label, LEGEND_WIDTH) for label in labels[name]] for name in names}
        lines = [sum(label.count("\n") + 1 for label in legends[name]) for name in names]
        heights = [max(PANEL_HEIGHT, 0.8 + ROW * count) for count in lines]
        rows = rows_of(heights, 1, MOST_INCHES - FRAME)
        drawn = names[: len(rows)]
        figure = new_figure(WIDTH, sum(rows) + 0.6)
        panels = figure.subplots(len(rows), 1, squeeze=False, height_ratios=rows).ravel()
        for panel, name in zip(panels, drawn, strict=True):
            by_round = [estimated.attributes[name] for estimated in estimate.rounds]
            _draw_attribute(panel, name, numbers, by_round, orders[name], legends[name])
        left_out = "" if len(drawn) == len(names) else f"; the first {len(drawn)} of {len(names)} questions"
        bands = "bands are ± s.e., without the bias" if not estimate.has_intervals else "bands are 95 % intervals"
        how = f"{estimate.provenance.mechanism}, method {estimate.method}; {bands}"
        title = f"{len(numbers)} rounds, {how}{left_out}"
        figure.suptitle(wrapped(title, WIDTH - 0.3, size=11), fontsize=11)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
    return figure


def _draw_attribute(
    panel: Any,
    name: str,
    numbers: Sequence[int],
    by_round: Sequence[Frequencies],
    order: Sequence[int],
    legend: Sequence[str],
) -> None:
    for code, label, look in zip(order, legend, SERIES, strict=False):
        percent = 100 * np.array([shares.frequencies[code] for shares in by_round])
        low, high = (100 * np.array([bounds(shares)[end, code] for shares in by_round]) for end in (0, 1))
        panel.fill_between(numbers, low, high, color=look["color"], alpha=0.15, linewidth=0)
        panel.plot(numbers, percent, label=label, markersize=4, **look)
    hidden = len(by_round[-1].labels) - len(order)
    left_out = f" ({and_others(hidden)})" if hidden else ""
    title = wrapped(name + left_out, WIDTH - LEGEND_WIDTH - 1.2, size=TITLE_SIZE)
    panel.set_title(title, loc="left", fontsize=TITLE_SIZE)
    panel.set_xticks(list(numbers))
    panel.set_xlabel("round")
    panel.yaxis.set_major_formatter("{x:g} %")
    panel.set_ylabel("share of people")
    if min(min(shares.frequencies) for shares in by_round) >= 0:
        panel.set_ylim(bottom=0)
    panel.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    plain_axes(panel)
