"""Frequencies round by round -> figure. Needs the extra `plot`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from privtally.documents.estimate import Estimate, Frequencies
from privtally.errors import EstimateError
from privtally.plots.estimate import FOOT, MOST_INCHES, shortened
from privtally.plots.style import plain_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_LINES = 6
"""More lines than this in one panel cannot be told apart; the most frequent labels of the last round are drawn."""
LINES: Sequence[tuple[str, str, str]] = (
    ("#0072b2", "o", "-"),
    ("#d55e00", "s", "--"),
    ("#009e73", "^", "-."),
    ("#cc79a7", "D", ":"),
    ("#000000", "v", "-"),
    ("#7a6a00", "P", "--"),
)
"""Colour, marker and line of each label."""
PANEL_WIDTH, PANEL_HEIGHT = 5.0, 3.0


def draw_rounds(estimate: Estimate) -> "Figure":
    """One panel for each attribute: a line over the rounds for each label, with its 95 % intervals as a band."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    if estimate.rounds is msgspec.UNSET:
        raise EstimateError("this estimate has no rounds to draw; make it with --by-round")
    numbers = [own.round for own in estimate.rounds]
    with mpl.rc_context({"font.family": "sans-serif", "font.size": 10, "text.parse_math": False}):
        names = list(estimate.attributes)
        columns = min(len(names), 2)
        rows = min(-(-len(names) // columns), int((MOST_INCHES - FOOT) / PANEL_HEIGHT))
        drawn = names[: rows * columns]
        figure = Figure(figsize=(PANEL_WIDTH * columns, PANEL_HEIGHT * rows + FOOT), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for panel, name in zip(panels, drawn, strict=False):
            _draw_attribute(panel, name, numbers, [own.attributes[name] for own in estimate.rounds])
        for panel in panels[len(drawn) :]:
            panel.set_axis_off()
        left_out = "" if len(drawn) == len(names) else f"\nthe first {len(drawn)} of {len(names)} attributes"
        bands = "bands are ± s.e., without the bias" if estimate.biased else "bands are 95 % intervals"
        how = f"{estimate.provenance.mechanism}, method {estimate.method}; {bands}"
        figure.suptitle(f"{len(numbers)} rounds, {how}{left_out}", fontsize=11)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
    return figure


def _draw_attribute(panel: Any, name: str, numbers: Sequence[int], found: Sequence[Frequencies]) -> None:
    labels = found[-1].labels
    order = sorted(sorted(range(len(labels)), key=lambda code: -found[-1].frequencies[code])[:MOST_LINES])
    for code, (colour, marker, line) in zip(order, LINES, strict=False):
        percent = 100 * np.array([own.frequencies[code] for own in found])
        low, high = zip(*(_bounds(own, code) for own in found), strict=True)
        panel.fill_between(numbers, 100 * np.array(low), 100 * np.array(high), color=colour, alpha=0.15, linewidth=0)
        look = {"color": colour, "marker": marker, "linestyle": line, "markersize": 4}
        panel.plot(numbers, percent, label=shortened(labels[code]), **look)
    left_out = "" if len(order) == len(labels) else f" (top {len(order)} of {len(labels):,})"
    panel.set_title(shortened(name, 32) + left_out, loc="left")
    panel.set_xticks(list(numbers))
    panel.set_xlabel("round")
    panel.set_ylabel("share of people, %")
    if min(min(own.frequencies) for own in found) >= 0:
        panel.set_ylim(bottom=0)
    panel.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    plain_axes(panel)


def _bounds(found: Frequencies, code: int) -> tuple[float, float]:
    """Where a band begins and ends."""
    if found.low is msgspec.UNSET or found.high is msgspec.UNSET:
        return found.frequencies[code] - found.standard_errors[code], found.frequencies[code] + found.standard_errors[
            code
        ]
    return found.low[code], found.high[code]
