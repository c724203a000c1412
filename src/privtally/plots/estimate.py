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
from privtally.plots.panels import (
    ALONE_WIDTH,
    MARGIN,
    PANEL_WIDTH,
    TITLE_LINE,
    Panel,
    columns_for,
    panel,
    place,
    rows_of,
)
from privtally.plots.panels import BAR as BAR_HEIGHT
from privtally.plots.style import BAR, BLACK, BLUE, MUTED, TRUTH, VERMILION, legend_below, plain_axes
from privtally.plots.text import LINE, drawing, no_boxes_named, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg")
MOST_LABELS = 40
"""More labels than this in one attribute cannot be told apart in a picture; the most frequent ones are drawn."""
DOTS_AN_INCH = 150
MOST_INCHES, FRAME = 80.0, 2.5
"""A picture is at most 12,000 pixels tall; its title and legend take less than FRAME of it."""

SLIVERS = 0.2
"""A panel that needs no more than this share of the common scale has its own."""

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
    from matplotlib import style

    suffix = path.suffix.lower()
    dateless: dict[str, Any] = {"Date": None} if suffix == ".svg" else {}
    ground: dict[str, Any] = {"facecolor": "white", "transparent": False}  # for pages with a dark ground
    room = io.BytesIO()
    # The same figure gives the same bytes, whatever style the caller has chosen.
    with no_boxes_named(), style.context(["default", {"svg.hashsalt": "privtally"}]):
        figure.savefig(room, format=suffix[1:], dpi=DOTS_AN_INCH, metadata=dateless, **ground)
    return room.getvalue()


def draw(
    estimate: Estimate | TopEstimate, truth: Mapping[str, Sequence[float]] | None = None, *, top: int = MOST_LABELS
) -> "Figure":
    """One panel for each attribute: the frequency of each label with its 95 % interval, and the truth if known.

    Of more labels than `top` the most frequent ones are drawn, and the panel says how many others there are.
    """
    from privtally.plots.shown import ShownFigure

    names = list(estimate.attributes)
    attributes: list[AttributeEstimate | TopLabels] = [estimate.attributes[name] for name in names]
    orders = [most_frequent(own.frequencies, top) for own in attributes]
    room = ALONE_WIDTH if len(names) == 1 else PANEL_WIDTH
    with drawing(
        [*names, *(own.labels[code] for own, order in zip(attributes, orders, strict=True) for code in order)]
    ):
        panels = [
            panel(name, [own.labels[code] for code in order], _size(own) - len(order), room)
            for name, own, order in zip(names, attributes, orders, strict=True)
        ]
        most = MOST_INCHES - FRAME
        columns = columns_for([own.height for own in panels], most)
        rows = rows_of([own.height for own in panels], columns, most)
        drawn = len(rows) * columns
        figure = ShownFigure(figsize=(room * columns, 1.0))
        axes = [figure.add_axes((0, 0, 1, 1)) for _ in panels[:drawn]]
        for own, texts, attribute, name, order in zip(axes, panels, attributes, names, orders, strict=False):
            _draw_attribute(own, attribute, order, texts, None if truth is None else truth[name])
        notes = "" if drawn >= len(names) else f"\nthe first {drawn} of {len(names)} questions"
        notes += "" if _one_scale(axes) else "\nnot all questions have the same scale"
        title = wrapped(headline(estimate), room * columns - 2 * MARGIN, size=11, lines=5) + notes
        foot = legend_below(figure, max(axes, key=lambda own: len(own.get_legend_handles_labels()[1])))
        figure.set_size_inches(room * columns, sum(rows) + foot + (title.count("\n") + 1) * TITLE_LINE + 2 * MARGIN)
        figure.suptitle(title, fontsize=11, y=1 - MARGIN / figure.get_figheight())
        place(axes, panels[:drawn], rows, columns, foot)
        figure.draw_without_rendering()  # texts are made while the fonts are in force
    return figure


def _one_scale(axes: Sequence[Any]) -> bool:
    """Give panels the same scale, except where all bars of one would be slivers; whether all have it.

    Matplotlib's own sharex takes time that grows with the square of the panels.
    """
    starts, ends = zip(*(own.get_xlim() for own in axes), strict=True)
    together = [own for own, end in zip(axes, ends, strict=True) if end > SLIVERS * max(ends)]
    for own in together:
        own.set_xlim(min(starts), max(ends))
    return len(together) == len(axes)


def headline(estimate: Estimate | TopEstimate) -> str:
    """What an estimate is and where it came from, in one line."""
    source = estimate.provenance
    reports = sum(phase.reports for phase in source.phases)
    how = f"{source.mechanism}, ε = {source.phases[0].epsilon:g}, method {estimate.method}"
    return f"Totals estimated from {reports:,} private reports ({how})"


def most_frequent(frequencies: Sequence[float], most: int = MOST_LABELS) -> list[int]:
    """The codes of the most frequent labels, in the labels' order."""
    return sorted(sorted(range(len(frequencies)), key=lambda code: -frequencies[code])[:most])


def _size(attribute: AttributeEstimate | TopLabels) -> int:
    """How many labels an attribute has, shown or not."""
    return attribute.of if isinstance(attribute, TopLabels) else len(attribute.labels)


def _draw_attribute(
    axes: Any,
    attribute: AttributeEstimate | TopLabels,
    order: Sequence[int],
    texts: Panel,
    truth: Sequence[float] | None,
) -> None:
    places = texts.places
    percent, errors = _percent(attribute, order)
    what = "95 % interval, all at once" if isinstance(attribute, TopLabels) else "95 % interval"
    what = "± s.e., without the bias" if attribute.low is msgspec.UNSET else what
    bars = {"height": BAR_HEIGHT, "color": BAR, "edgecolor": BLUE, "linewidth": 0.6}
    axes.barh(places, percent, label="estimated share of people", **bars)
    axes.errorbar(percent, places, xerr=errors, fmt="o", color=BLACK, markersize=3.5, capsize=3, label=what)
    if isinstance(attribute, AttributeEstimate) and attribute.answered is not msgspec.UNSET:
        _draw_answered(axes, attribute.answered, order, places)
    if truth is not None:
        look = {"color": TRUTH, "markersize": 5, "markeredgecolor": BLACK, "markeredgewidth": 0.8, "zorder": 5}
        axes.plot(100 * np.array(truth)[order], places, "D", label="truth", **look)
    axes.set_yticks(places, texts.labels)
    if texts.note:
        under = {"xycoords": ("axes fraction", "data"), "xytext": (-7, 0), "textcoords": "offset points"}
        axes.annotate(texts.note, (0, texts.body - LINE / 2), ha="right", va="center", color=MUTED, **under)
    axes.locator_params(axis="x", nbins=4)
    axes.xaxis.set_major_formatter("{x:g} %")
    axes.axvline(0, color=BLACK, linewidth=0.6)
    plain_axes(axes, "x")


def _draw_answered(axes: Any, answered: Frequencies, order: Sequence[int], places: Sequence[float]) -> None:
    """The frequencies among those who answered, below those among everybody."""
    drawn = [(height, code) for height, code in zip(places, order, strict=True) if code < len(answered.labels)]
    percent, errors = _percent(answered, [code for _, code in drawn])
    look = {"color": VERMILION, "markersize": 4, "capsize": 2, "elinewidth": 0.8, "markerfacecolor": "white"}
    heights = [height + BAR_HEIGHT / 2 for height, _ in drawn]
    axes.errorbar(percent, heights, xerr=errors, fmt="s", label="of those who answered", **look)


def _percent(found: Frequencies | TopLabels, order: Sequence[int]) -> tuple[Floats, Floats]:
    """Frequencies in percent, and how far their intervals (or standard errors) reach down and up."""
    percent = 100 * np.array(found.frequencies)[order]
    if found.low is msgspec.UNSET or found.high is msgspec.UNSET:
        return percent, 100 * np.array([found.standard_errors] * 2)[:, order]
    return percent, np.abs(100 * np.array([found.low, found.high])[:, order] - percent)
