"""What pictures share: colours that every reader can tell apart, a look for each mechanism, and plain axes.

Every two colours of `COLOURS` differ for readers who see no red, no green or no blue, and in grey; all stand out from
white. Whatever has a colour has a marker, a dash or a place of its own too.
"""

import io
import logging
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


BLACK, BLUE, VERMILION, PURPLE = "#000000", "#0072b2", "#d55e00", "#cc79a7"
DARK_GREEN, BROWN = "#004834", "#863b00"
COLOURS = (BLUE, VERMILION, BLACK, PURPLE, DARK_GREEN, BROWN)
"""Okabe and Ito's, of which green and a second vermilion are darker: theirs are too alike in grey."""
BAR, TRUTH = "#9fd0ef", "#e69f00"
"""What is filled: a bar, which has an edge, and a mark with a black edge."""
GRID, MUTED = "#d9d9d9", "#4f5a65"

DASHES: Sequence[Any] = ("-", "--", ":", "-.", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)))
SERIES: Sequence[Mapping[str, Any]] = tuple(
    {"color": colour, "marker": marker, "linestyle": dash}
    for colour, marker, dash in zip(COLOURS, "oDsv^P", DASHES, strict=True)
)
"""The looks of lines in one panel; there are no more."""
MECHANISM_STYLES: Mapping[str, Mapping[str, Any]] = dict(
    zip(("rs-fd", "corr-rr", "spl", "smp", "rs-rfd", "cond-rr"), SERIES, strict=True)
)


@cache
def _shown_figure() -> "type[Figure]":
    """Figure, imported when one is drawn, with the picture that a notebook displays."""
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        def _repr_png_(self) -> bytes:
            room = io.BytesIO()
            with no_boxes_named():
                self.savefig(room, format="png")
            return room.getvalue()

    return ShownFigure


def new_figure(wide: float, tall: float, layout: Literal["constrained"] | None = "constrained") -> "Figure":
    """A figure of so many inches, whose picture a notebook displays."""
    return _shown_figure()(figsize=(wide, tall), layout=layout)


def plain_axes(axes: "Axes", grid: Literal["both", "x"] = "both") -> None:
    """A light grid behind the data, and no frame at the top and on the right."""
    axes.grid(axis=grid, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def log_axis(axis: "Axis", labels: str | Callable[[float, float], str]) -> None:
    """Ticks at 1, 2 and 5 times powers of ten, named in the given format and never in mathematical notation."""
    from matplotlib.ticker import LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(labels)


def legend_below(figure: "Figure", axes: "Axes") -> float:
    """What is drawn in these axes, named below the figure in as many columns as fit; how many inches tall it is."""
    handles, labels = axes.get_legend_handles_labels()
    for columns in range(min(len(labels), 6), 0, -1):
        legend = figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)
        taken = legend.get_window_extent()
        if columns == 1 or taken.width < figure.bbox.width:
            break
        legend.remove()
    return float(taken.height / figure.dpi)


FONT = "DejaVu Sans"
"""Comes with matplotlib, and has Latin, Greek, Cyrillic and much else."""
FALLBACKS = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Source Han Sans",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Hiragino Sans",
    "PingFang SC",
    "Apple SD Gothic Neo",
    "Microsoft YaHei",
    "Yu Gothic",
    "MS Gothic",
    "Malgun Gothic",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
    "Noto Sans",
    "Nirmala UI",
    "Leelawadee UI",
    "Arial Unicode MS",
)
"""Fonts of Linux, macOS and Windows with letters that FONT lacks; those that a computer has are used."""
SIZE = 10.0
LINE = SIZE * 1.25 / 72
"""The inches of a line of text."""
_MEASURED_AT = 300.0
_UNSPACED = "\u2e80-\uffef\U00020000-\U0003ffff"
"""Characters of scripts that break a line anywhere."""
_PIECE = re.compile(f"[{_UNSPACED}]\\s*|[^\\s{_UNSPACED}]+\\s*")


class MissingLettersWarning(UserWarning):
    """A picture has boxes in the place of letters."""


@contextmanager
def drawing(texts: Iterable[str]) -> Iterator[None]:
    """Fonts for these texts, whatever style the caller has chosen for pictures of their own."""
    from matplotlib import style

    families, missing = fonts_for({letter for text in texts for letter in text if not letter.isspace()})
    if missing:
        warnings.warn(_sentence(missing), MissingLettersWarning, stacklevel=4)
    with (
        style.context(["default", {"font.family": families, "font.size": SIZE, "text.parse_math": False}]),
        no_boxes_named(),
    ):
        yield


@contextmanager
def no_boxes_named() -> Iterator[None]:
    """Without matplotlib's own warnings, one for each letter each time that a picture is drawn."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font", category=UserWarning)
        yield


def fonts_for(letters: Iterable[str], fallbacks: Sequence[str] = FALLBACKS) -> tuple[list[str], list[str]]:
    """The names of fonts that have these letters between them, and the letters that no font has."""
    families, missing = [FONT], sorted(letter for letter in letters if not _has(FONT, letter))
    for name in filter(_installed().__contains__, fallbacks):
        if found := {letter for letter in missing if _has(name, letter)}:
            families.append(name)
            missing = [letter for letter in missing if letter not in found]
    return families, missing


@lru_cache
def _installed() -> frozenset[str]:
    from matplotlib.font_manager import fontManager

    logging.getLogger("matplotlib.font_manager").addFilter(_worth_saying)
    return frozenset(font.name for font in fontManager.ttflist)


def _worth_saying(record: logging.LogRecord) -> bool:
    """Not that a font has one weight only: its letters are drawn all the same."""
    return "font weight" not in record.getMessage()


@lru_cache(10_000)
def _has(font: str, letter: str) -> bool:
    from matplotlib.font_manager import findfont, get_font

    return bool(get_font(findfont(font)).get_char_index(ord(letter)))


def _sentence(missing: Sequence[str]) -> str:
    some, others = " ".join(missing[:5]), len(missing) - 5
    more = f" and {others} other characters" if others > 0 else ""
    return (
        f"the picture has boxes for {some}{more}: no font that privtally knows has them; "
        "install one that does, such as Noto Sans CJK for Chinese, Japanese and Korean, and draw again"
    )


def width(text: str, size: float = SIZE) -> float:
    """The inches that a line takes in the fonts in force."""
    import matplotlib as mpl

    return _width(text, size, tuple(mpl.rcParams["font.family"]))


@lru_cache(10_000)
def _width(text: str, size: float, families: tuple[str, ...]) -> float:
    from matplotlib.font_manager import findfont, get_font

    font = get_font(tuple(findfont(family) for family in families))
    font.set_size(size, _MEASURED_AT)
    font.set_text(text)
    return float(font.get_width_height()[0]) / 64 / _MEASURED_AT


def and_others(count: int) -> str:
    """How many labels are not shown; nothing where all are."""
    return "" if not count else "… and 1 other" if count == 1 else f"… and {count:,} others"


def wrapped(text: str, inches: float, *, size: float = SIZE, lines: int = 3) -> str:
    """A text in lines that fit, the last of which ends in … where there are too many."""
    made, line = [], ""
    for found in _PIECE.findall(text):
        piece = found
        while width((line + piece).rstrip(), size) > inches and len(line + piece.rstrip()) > 1:
            if not line:
                line, piece = _fitting(piece, inches, size)
            made.append(line.rstrip())
            line = ""
        line += piece
    made += [line.rstrip()] if line else []
    if len(made) > lines:
        made = [*made[: lines - 1], _ending(made[lines - 1], inches, size)]
    return "\n".join(made)


def _fitting(piece: str, inches: float, size: float) -> tuple[str, str]:
    """A piece without a space, cut in two of which the first fits."""
    end = 1
    while end < len(piece) and width(piece[: end + 1], size) <= inches:
        end += 1
    return piece[:end], piece[end:]


def _ending(line: str, inches: float, size: float) -> str:
    """A line with … at its end that fits."""
    while line and width(line + "…", size) > inches:
        line = line[:-1].rstrip()
    return line + "…"
