"""Estimate -> figure. Needs the extra `plot`."""

import io
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from privtally.collector.top import TopEstimate, TopLabels
from privtally.documents.estimate import AttributeEstimate, Estimate, Frequencies
from privtally.errors import DocumentError
from privtally.exact.arrays import Floats
from privtally.plots.style import legend_below, plain_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ESTIMATE_COLOUR, ANSWERED_COLOUR = "#1f5a8a", "#a8501a"
SUFFIXES = (".png", ".svg")
MOST_LABELS = 40
"""More labels than this in one attribute cannot be told apart in a picture; the most frequent ones are drawn."""
DOTS_AN_INCH = 150
MOST_INCHES, FOOT = 80.0, 0.9
"""A picture is at most 12,000 pixels tall; its title and legend take FOOT of it."""
MOST_COLUMNS, PANEL_WIDTH = 3, 5.0

HOW_TO_INSTALL = "pictures need matplotlib; install it with: pip install 'privtally[plot]'"


def available() -> bool:
    """Whether pictures can be drawn here."""
    return find_spec("matplotlib") is not None


def check_picture_path(path: Path) -> None:
    """Refuse a picture that cannot be drawn, before any work is done."""
    if path.suffix.lower() not in SUFFIXES:
        raise DocumentError(f"{path}: a picture must end in {' or '.join(SUFFIXES)}")
    if not available():
        raise DocumentError(HOW_TO_INSTALL)
    if not path.parent.is_dir():
        raise DocumentError(f"cannot write {path}: there is no directory {path.parent}")


def render(figure: "Figure", path: Path) -> bytes:
    """A figure as the bytes of a .png or .svg file."""
    import matplotlib as mpl

    suffix = path.suffix.lower()
    dateless: dict[str, Any] = {"Date": None} if suffix == ".svg" else {}
    ground: dict[str, Any] = {"facecolor": "white", "transparent": False}  # for pages with a dark ground
    room = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "privtally"}):  # the same figure gives the same bytes
        figure.savefig(
            room, format=suffix[1:], dpi=DOTS_AN_INCH, facecolor="white", transparent=False, metadata=dateless
        )
    return room.getvalue()


def draw(estimate: Estimate | TopEstimate, truth: Mapping[str, Sequence[float]] | None = None) -> "Figure":
    """One panel for each attribute: the frequency of each label with its 95 % interval, and the truth if known."""
    import matplotlib as mpl

    from privtally.plots.shown import ShownFigure

    with mpl.rc_context({"font.family": "sans-serif", "font.size": 10, "text.parse_math": False}):
        names = list(estimate.attributes)
        columns, rows, height = _grid([len(attribute.labels) for attribute in estimate.attributes.values()])
        drawn = names[: rows * columns]
        figure = ShownFigure(figsize=(PANEL_WIDTH * columns, rows * height + FOOT), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for panel, name in zip(panels, drawn, strict=False):
            _draw_attribute(panel, estimate.attributes[name], name, None if truth is None else truth[name])
        starts, ends = zip(*(panel.get_xlim() for panel in panels[: len(drawn)]), strict=True)
        for panel in panels:
            panel.set_xlim(min(starts), max(ends))  # sharex takes time that grows with the square of the panels
        for panel in panels[len(drawn) :]:
            panel.set_axis_off()
        legend_below(figure, max(panels[: len(drawn)], key=lambda panel: len(panel.get_legend_handles_labels()[1])))
        left_out = "" if len(drawn) == len(names) else f"\nthe first {len(drawn)} of {len(names)} attributes"
        figure.suptitle(headline(estimate) + left_out, fontsize=11)
        # Text is laid out once, while the fonts above are in force.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
    return figure


def headline(estimate: Estimate | TopEstimate) -> str:
    """Where an estimate came from, in one line."""
    source = estimate.provenance
    reports = sum(phase.reports for phase in source.phases)
    how = f"{source.mechanism}, ε = {source.phases[0].epsilon:g} each, method {estimate.method}"
    return f"{reports:,} private reports, {how}"


def most_frequent(frequencies: Sequence[float], most: int = MOST_LABELS) -> list[int]:
    """The codes of the most frequent labels, in the labels' order."""
    return sorted(sorted(range(len(frequencies)), key=lambda code: -frequencies[code])[:most])


def _grid(sizes: Sequence[int]) -> tuple[int, int, float]:
    """How many columns and rows of panels there are, and how many inches a row is tall.

    Two columns if they are not too tall, else more, and at last fewer rows than there are attributes.
    """
    height = max(2.0, 0.8 + 0.4 * min(max(sizes), MOST_LABELS))
    most_rows = int((MOST_INCHES - FOOT) / height)
    columns = min(max(min(len(sizes), 2), -(-len(sizes) // most_rows)), MOST_COLUMNS)
    return columns, min(-(-len(sizes) // columns), most_rows), height


def _draw_attribute(
    panel: Any, attribute: AttributeEstimate | TopLabels, name: str, truth: Sequence[float] | None
) -> None:
    order = most_frequent(attribute.frequencies)
    every = attribute.of if isinstance(attribute, TopLabels) else len(attribute.labels)
    places = range(len(order))
    percent, errors = _percent(attribute, order)
    what = "95 %, all at once" if isinstance(attribute, TopLabels) else "95 % interval"
    what = "± s.e., without the bias" if attribute.low is msgspec.UNSET else what
    panel.barh(places, percent, height=0.55, color=ESTIMATE_COLOUR, alpha=0.35, label="estimate")
    panel.errorbar(percent, places, xerr=errors, fmt="o", color=ESTIMATE_COLOUR, markersize=4, capsize=3, label=what)
    if isinstance(attribute, AttributeEstimate) and attribute.answered is not msgspec.UNSET:
        _draw_answered(panel, attribute.answered, order)
    if truth is not None:
        look = {"color": "#d98c21", "markersize": 6, "markeredgecolor": "black", "markeredgewidth": 0.6, "zorder": 5}
        panel.plot(100 * np.array(truth)[order], places, "D", label="truth", **look)
    panel.set_yticks(list(places), [shortened(attribute.labels[code]) for code in order])
    panel.invert_yaxis()
    left_out = "" if len(order) == every else f" (top {len(order)} of {every:,})"
    panel.set_title(shortened(name, 48) + left_out, loc="left")
    panel.set_xlabel("share of people, %")
    panel.axvline(0, color="black", linewidth=0.6)
    plain_axes(panel, "x")


def _draw_answered(panel: Any, answered: Frequencies, order: Sequence[int]) -> None:
    """The frequencies among those who answered, below those among everybody."""
    drawn = [(place, code) for place, code in enumerate(order) if code < len(answered.labels)]
    percent, errors = _percent(answered, [code for _, code in drawn])
    look = {"color": ANSWERED_COLOUR, "markersize": 4, "capsize": 2, "elinewidth": 0.8, "markerfacecolor": "white"}
    heights = [place + 0.2 for place, _ in drawn]
    panel.errorbar(percent, heights, xerr=errors, fmt="s", label="of those who answered", **look)


def _percent(found: Frequencies | TopLabels, order: Sequence[int]) -> tuple[Floats, Floats]:
    """Frequencies in percent, and how far their intervals (or standard errors) reach down and up."""
    percent = 100 * np.array(found.frequencies)[order]
    if found.low is msgspec.UNSET or found.high is msgspec.UNSET:
        return percent, 100 * np.array([found.standard_errors] * 2)[:, order]
    return percent, np.abs(100 * np.array([found.low, found.high])[:, order] - percent)


def shortened(text: str, longest: int = 24) -> str:
    """A text, cut off where a picture has no room for it."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
