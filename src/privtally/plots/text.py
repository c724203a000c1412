"""Texts in pictures: fonts that have their letters, and lines that fit. Needs the extra `plot`."""

import logging
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

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
