"""Where the panels of a picture stand: each as tall as its labels need. Everything is in inches."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from privtally.plots.text import LINE, and_others, width, wrapped

PANEL_WIDTH, ALONE_WIDTH = 3.6, 5.4
"""Two panels side by side can be read where a page gives them 600 pixels; one alone has more room."""
LABEL_WIDTH, MARGIN = 1.35, 0.12
"""The room for labels, and around a panel."""
BAR, GAP = 0.2, 0.16
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
    return max(BAR, (label.count("\n") + 1) * LINE) + GAP


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
