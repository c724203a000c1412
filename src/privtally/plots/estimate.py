"""Estimate -> figure. Needs the extra `plot`."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import accumulate, chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from privtally.collector.summaries import TopEstimate, TopLabels
from privtally.documents.estimate import AttributeEstimate, Estimate, Frequencies, headline
from privtally.errors import DocumentError
from privtally.exact.types import Floats
from privtally.files import write_bytes
from privtally.plots.style import (
    BAR,
    BLACK,
    BLUE,
    LINE,
    MUTED,
    TRUTH,
    VERMILION,
    and_others,
    drawing,
    legend_below,
    new_figure,
    no_boxes_named,
    plain_axes,
    width,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


PANEL_WIDTH, ALONE_WIDTH = 3.6, 5.4
"""In inches, as all sizes here. Two panels side by side can be read where a page gives them 600 pixels."""
LABEL_WIDTH, MARGIN = 1.35, 0.12
"""The room for labels, and around a panel."""
BAR_HEIGHT, GAP = 0.2, 0.16
"""How tall a bar is, and the space below a label."""
TITLE_SIZE, TITLE_LINE, TICKS = 11.0, 0.2, 0.42
"""A question's letters and lines, and what is below its bars."""
MOST_COLUMNS = 3


@dataclass(frozen=True)
class Panel:
    """A question's texts, wrapped."""

    title: str
    labels: Sequence[str]
    """Of its bars, from top to bottom."""
    note: str
    """What is below the last label."""

    @property
    def places(self) -> list[float]:
        """How far below the top the middle of each label is."""
        heights = [_height(label) for label in self.labels]
        return [end - own / 2 for end, own in zip(accumulate(heights), heights, strict=True)]

    @property
    def body(self) -> float:
        """How tall the part with the bars is."""
        return sum(map(_height, self.labels)) + (LINE + GAP if self.note else 0)

    @property
    def head(self) -> float:
        return (self.title.count("\n") + 1) * TITLE_LINE + MARGIN

    @property
    def height(self) -> float:
        return self.head + self.body + TICKS

    @property
    def label_width(self) -> float:
        lines = [line for label in [*self.labels, self.note] for line in label.split("\n")]
        return max(map(width, lines)) + MARGIN


def _height(label: str) -> float:
    return max(BAR_HEIGHT, (label.count("\n") + 1) * LINE) + GAP


def panel(title: str, labels: Sequence[str], others: int, room: float) -> Panel:
    """A panel with so many other labels that are not shown."""
    title = wrapped(title, room - 2 * MARGIN, size=TITLE_SIZE)
    return Panel(title, [wrapped(label, LABEL_WIDTH) for label in labels], and_others(others))


def rows_of(heights: Sequence[float], columns: int, most: float) -> list[float]:
    """How tall each row of panels is, for as many rows as fit; one there always is."""
    rows = [max(heights[start : start + columns]) for start in range(0, len(heights), columns)]
    fitting = sum(end <= most for end in accumulate(rows))
    return rows[: max(fitting, 1)]


def columns_for(heights: Sequence[float], most: float) -> int:
    """Two columns, or more where two would be too tall."""
    least = min(len(heights), 2)
    fits = (columns for columns in range(least, MOST_COLUMNS + 1) if sum(rows_of(heights, columns, 1e9)) <= most)
    return next(fits, min(MOST_COLUMNS, len(heights)))


def place(axes: Sequence[Any], panels: Sequence[Panel], rows: Sequence[float], columns: int, below: float) -> None:
    """Put every panel in its place in a figure of the right size; labels of a column end on one line."""
    figure = axes[0].figure
    wide, tall = figure.get_size_inches()
    room = wide / columns
    label_widths = [max(own.label_width for own in panels[column::columns]) for column in range(columns)]
    tops = [below + sum(rows[row:]) for row in range(len(rows))]
    for number, (own, texts) in enumerate(zip(axes, panels, strict=True)):
        row, column = divmod(number, columns)
        left, inside = column * room + MARGIN + label_widths[column], room - 3 * MARGIN - label_widths[column]
        bottom = tops[row] - texts.head - texts.body
        own.set_position((left / wide, bottom / tall, inside / wide, texts.body / tall))
        own.set_ylim(texts.body, 0)
        own.set_title(texts.title, loc="left", x=-label_widths[column] / inside, fontsize=TITLE_SIZE, pad=5)


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


def check_drawing(path: str | Path | None) -> None:
    """Refuse a picture that cannot be drawn, or written where a file is named, before any work is done."""
    path = None if path is None else Path(path)
    if path is not None and path.suffix.lower() not in SUFFIXES:
        raise DocumentError(f"{path}: a picture must end in {' or '.join(SUFFIXES)}")
    if not available():
        raise DocumentError(HOW_TO_INSTALL)
    if path is not None and not path.parent.is_dir():
        raise DocumentError(f"cannot write {path}: there is no directory {path.parent}")


def written(figure: "Figure", path: str | Path | None) -> "Figure":
    """A figure, in a file as well if one is named."""
    if path is not None:
        write_bytes(Path(path), render(figure, Path(path)))
    return figure


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
    names = list(estimate.attributes)
    attributes: list[AttributeEstimate | TopLabels] = [estimate.attributes[name] for name in names]
    orders = [most_frequent(own.frequencies, top) for own in attributes]
    room = ALONE_WIDTH if len(names) == 1 else PANEL_WIDTH
    labels = [[own.labels[code] for code in order] for own, order in zip(attributes, orders, strict=True)]
    with drawing([*names, *chain.from_iterable(labels)]):
        others = [_size(own) - len(order) for own, order in zip(attributes, orders, strict=True)]
        panels = [panel(*texts, room) for texts in zip(names, labels, others, strict=True)]
        most = MOST_INCHES - FRAME
        columns = columns_for([own.height for own in panels], most)
        rows = rows_of([own.height for own in panels], columns, most)
        drawn = len(rows) * columns
        figure = new_figure(room * columns, 1.0, layout=None)
        axes = [figure.add_axes((0, 0, 1, 1)) for _ in panels[:drawn]]
        for own, texts, attribute, name, order in zip(axes, panels, attributes, names, orders, strict=False):
            _draw_attribute(own, attribute, order, texts, None if truth is None else truth[name])
        title = wrapped(headline(estimate.provenance, estimate.method), room * columns - 2 * MARGIN, size=11, lines=5)
        title += "" if drawn >= len(names) else f"\nthe first {drawn} of {len(names)} questions"
        title += "" if _one_scale(axes) else "\nnot all questions have the same scale"
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


def _percent(shares: Frequencies | TopLabels, order: Sequence[int]) -> tuple[Floats, Floats]:
    """Frequencies in percent, and how far their intervals (or standard errors) reach down and up."""
    percent = 100 * np.array(shares.frequencies)[order]
    return percent, np.abs(100 * bounds(shares)[:, order] - percent)


def bounds(shares: Frequencies | TopLabels) -> Floats:
    """Where the interval of each label begins and ends, or one standard error to each side: two rows."""
    if shares.low is msgspec.UNSET or shares.high is msgspec.UNSET:
        middle, errors = np.array(shares.frequencies), np.array(shares.standard_errors)
        return np.array([middle - errors, middle + errors])
    return np.array([shares.low, shares.high])
