"""Estimate -> figure. Needs the extra `plot`."""

import io
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privtally.documents.estimate import Estimate
from privtally.errors import DocumentError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ESTIMATE_COLOUR, TRUTH_COLOUR, GRID_COLOUR = "#1f5a8a", "#d98c21", "#d9d9d9"
SUFFIXES = (".png", ".svg")
MOST_LABELS = 40
"""More labels than this in one attribute cannot be told apart in a picture; the most frequent ones are drawn."""


HOW_TO_INSTALL = "pictures need matplotlib; install it with: pip install 'privtally[plot]'"


def available() -> bool:
    """Whether pictures can be drawn here."""
    return find_spec("matplotlib") is not None


def check_picture_path(path: Path) -> None:
    """Refuse a picture that cannot be drawn, before any work is done."""
    if path.suffix not in SUFFIXES:
        raise DocumentError(f"{path}: a picture must end in {' or '.join(SUFFIXES)}")
    if not available():
        raise DocumentError(HOW_TO_INSTALL)
    if not path.parent.is_dir():
        raise DocumentError(f"cannot write {path}: there is no directory {path.parent}")


def render(figure: "Figure", path: Path) -> bytes:
    """A figure as the bytes of a .png or .svg file."""
    # No date in the file: the same figure gives the same bytes.
    metadata: dict[str, Any] = {"Date": None} if path.suffix == ".svg" else {}
    import matplotlib as mpl

    room = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "privtally"}):
        figure.savefig(room, format=path.suffix[1:], dpi=150, metadata=metadata)
    return room.getvalue()


def draw(estimate: Estimate, truth: Mapping[str, Sequence[float]] | None = None) -> "Figure":
    """One panel for each attribute: the frequency of each label with its 95 % interval, and the truth if known."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"font.family": "sans-serif", "font.size": 10, "text.parse_math": False}):
        count = len(estimate.attributes)
        columns = min(count, 2)
        rows = -(-count // columns)
        shown = [min(len(attribute.labels), MOST_LABELS) for attribute in estimate.attributes.values()]
        figure = Figure(figsize=(5 * columns, rows * max(2.0, 0.8 + 0.4 * max(shown)) + 0.9), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False, sharex=True).ravel()
        for panel, name in zip(panels, estimate.attributes, strict=False):
            _draw_attribute(panel, estimate, name, None if truth is None else truth[name])
        for panel in panels[count:]:
            panel.set_axis_off()
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
        figure.suptitle(_title(estimate), fontsize=11)
        # Text is laid out while the fonts above are in force.
        figure.canvas.draw()
    return figure


def _draw_attribute(panel: Any, estimate: Estimate, name: str, truth: Sequence[float] | None) -> None:
    attribute = estimate.attributes[name]
    order = sorted(range(len(attribute.labels)), key=lambda code: -attribute.frequencies[code])[:MOST_LABELS]
    order.sort()
    places = range(len(order))
    percent = [100 * attribute.frequencies[code] for code in order]
    errors = [196 * attribute.standard_errors[code] for code in order]
    panel.barh(places, percent, height=0.55, color=ESTIMATE_COLOUR, alpha=0.35, label="estimate")
    panel.errorbar(
        percent, places, xerr=errors, fmt="o", color=ESTIMATE_COLOUR, markersize=4, capsize=3, label="95 % interval"
    )
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
    panel.tick_params(labelbottom=True)
    panel.grid(axis="x", color=GRID_COLOUR, linewidth=0.6)
    panel.set_axisbelow(True)
    panel.axvline(0, color="black", linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)


def _title(estimate: Estimate) -> str:
    phases = estimate.provenance.phases
    people = sum(phase.reports for phase in phases)
    return (
        f"{people:,} private reports, {estimate.provenance.campaign}, "
        f"ε = {phases[0].epsilon:g} each, method {estimate.method}"
    )


def _short(text: str, longest: int = 24) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
