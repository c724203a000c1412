"""Estimate -> figure. Needs the extra `plot`."""

import io
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from privtally.documents.estimate import AttributeEstimate, Estimate
from privtally.errors import DocumentError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ESTIMATE_COLOUR, TRUTH_COLOUR, GRID_COLOUR = "#1f5a8a", "#d98c21", "#d9d9d9"
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
    suffix = path.suffix.lower()
    # No date in the file: the same figure gives the same bytes.
    metadata: dict[str, Any] = {"Date": None} if suffix == ".svg" else {}
    import matplotlib as mpl

    room = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "privtally"}):
        figure.savefig(room, format=suffix[1:], dpi=DOTS_AN_INCH, metadata=metadata)
    return room.getvalue()


def draw(estimate: Estimate, truth: Mapping[str, Sequence[float]] | None = None) -> "Figure":
    """One panel for each attribute: the frequency of each label with its 95 % interval, and the truth if known."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"font.family": "sans-serif", "font.size": 10, "text.parse_math": False}):
        names = list(estimate.attributes)
        columns, rows, height = _grid([len(attribute.labels) for attribute in estimate.attributes.values()])
        drawn = names[: rows * columns]
        figure = Figure(figsize=(PANEL_WIDTH * columns, rows * height + FOOT), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for panel, name in zip(panels, drawn, strict=False):
            _draw_attribute(panel, estimate.attributes[name], name, None if truth is None else truth[name])
        starts, ends = zip(*(panel.get_xlim() for panel in panels[: len(drawn)]), strict=True)
        for panel in panels:
            panel.set_xlim(min(starts), max(ends))  # sharex takes time that grows with the square of the panels
        for panel in panels[len(drawn) :]:
            panel.set_axis_off()
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
        left_out = "" if len(drawn) == len(names) else f"\nthe first {len(drawn)} of {len(names)} attributes"
        figure.suptitle(_title(estimate) + left_out, fontsize=11)
        # Text is laid out once, while the fonts above are in force.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
    return figure


def _grid(sizes: Sequence[int]) -> tuple[int, int, float]:
    """How many columns and rows of panels there are, and how many inches a row is tall.

    Two columns if they are not too tall, else more, and at last fewer rows than there are attributes.
    """
    height = max(2.0, 0.8 + 0.4 * min(max(sizes), MOST_LABELS))
    most_rows = int((MOST_INCHES - FOOT) / height)
    columns = min(max(min(len(sizes), 2), -(-len(sizes) // most_rows)), MOST_COLUMNS)
    return columns, min(-(-len(sizes) // columns), most_rows), height


def _draw_attribute(panel: Any, attribute: AttributeEstimate, name: str, truth: Sequence[float] | None) -> None:
    order = sorted(range(len(attribute.labels)), key=lambda code: -attribute.frequencies[code])[:MOST_LABELS]
    order.sort()
    places = range(len(order))
    percent = [100 * attribute.frequencies[code] for code in order]
    to_each_side, what = _errors(attribute)
    errors = [[100 * side[code] for code in order] for side in to_each_side]
    panel.barh(places, percent, height=0.55, color=ESTIMATE_COLOUR, alpha=0.35, label="estimate")
    panel.errorbar(percent, places, xerr=errors, fmt="o", color=ESTIMATE_COLOUR, markersize=4, capsize=3, label=what)
    if truth is not None:
        panel.plot(
            [100 * truth[code] for code in order], places, "D", color=TRUTH_COLOUR, markersize=6,
            markeredgecolor="black", markeredgewidth=0.6, label="truth", zorder=5,
        )  # fmt: skip
    panel.set_yticks(list(places), [_short(attribute.labels[code]) for code in order])
    panel.invert_yaxis()
    panel.set_title(
        _short(name, 48) + ("" if len(order) == len(attribute.labels) else f" (top {MOST_LABELS})"), loc="left"
    )
    panel.set_xlabel("share of people, %")
    panel.grid(axis="x", color=GRID_COLOUR, linewidth=0.6)
    panel.set_axisbelow(True)
    panel.axvline(0, color="black", linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)


def _errors(attribute: AttributeEstimate) -> tuple[tuple[Sequence[float], Sequence[float]], str]:
    """How far an error bar reaches to the left and to the right of each frequency, and what it shows.

    That is the estimate's own interval, or the standard error where the estimate has a bias and so no interval.
    """
    if attribute.low is msgspec.UNSET or attribute.high is msgspec.UNSET:
        return (attribute.standard_errors, attribute.standard_errors), "± s.e., without the bias"
    left = [own - low for own, low in zip(attribute.frequencies, attribute.low, strict=True)]
    right = [high - own for own, high in zip(attribute.frequencies, attribute.high, strict=True)]
    return (left, right), "95 % interval"


def _title(estimate: Estimate) -> str:
    phases = estimate.provenance.phases
    people = sum(phase.reports for phase in phases)
    return (
        f"{people:,} private reports, {estimate.provenance.mechanism}, "
        f"ε = {phases[0].epsilon:g} each, method {estimate.method}"
    )


def _short(text: str, longest: int = 24) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
