"""Where the texts of a figure are."""

from collections.abc import Iterator
from itertools import combinations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

TOUCHING = 1.0
"""Boxes that share less than so many pixels are beside each other."""


def collisions(figure: Figure) -> list[tuple[str, str]]:
    """The texts that lie on each other, and with "the edge" those that are cut off."""
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts(figure) if text.get_text().strip()]
    found = []
    for (one, first), (two, second) in combinations(boxes, 2):
        wide = min(first.x1, second.x1) - max(first.x0, second.x0)
        tall = min(first.y1, second.y1) - max(first.y0, second.y0)
        found += [(one, two)] if min(wide, tall) > TOUCHING else []
    page = figure.bbox
    for text, box in boxes:
        outside = max(page.x0 - box.x0, page.y0 - box.y0, box.x1 - page.x1, box.y1 - page.y1)
        found += [(text, "the edge")] if outside > TOUCHING else []
    return found


def texts(figure: Figure) -> Iterator[Text]:
    """Every text that is drawn."""
    yield from figure.texts
    for legend in figure.legends:
        yield from legend.get_texts()
    for axes in figure.axes:
        yield from _texts(axes)


def _texts(axes: Axes) -> Iterator[Text]:
    yield from (axes.xaxis.label, axes.yaxis.label)
    yield from (child for child in axes.get_children() if isinstance(child, Text))
    legend = axes.get_legend()
    yield from legend.get_texts() if legend else ()
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        for tick in axis.get_major_ticks():
            if low <= tick.get_loc() <= high:
                yield from (label for label in (tick.label1, tick.label2) if label.get_visible())
