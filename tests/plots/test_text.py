"""Texts in pictures: letters of every script that the computer has, and lines that fit."""

import io
import logging
import warnings

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure
from matplotlib.image import imread

from privtally.cli.app import main
from privtally.plots.estimate import draw
from privtally.plots.style import FALLBACKS, FONT, MissingLettersWarning, drawing, fonts_for, width, wrapped
from tests.plots.test_panels import asked

CJK = fonts_for("眠")[0] != [FONT]
needs_cjk = pytest.mark.skipif(not CJK, reason="no font on this computer has Chinese, Japanese and Korean letters")


@pytest.mark.parametrize(
    "text",
    [
        "never",
        "almost never, perhaps once or twice",
        "Donaudampfschifffahrtsgesellschaftskapitän",
        "a  b\tc",
        "WWWWWWWWWWWWWWWWWWWWWWWW",
        "",
        "とてもよく眠れますが夜中に目が覚めることもあります",
        "mixed 日本語 and Latin",
    ],
)
@pytest.mark.parametrize("inches", [0.3, 1.0, 5.0])
def test_every_line_fits_and_nothing_is_lost(text: str, inches: float) -> None:
    with drawing(text if CJK else ""):
        lines = wrapped(text, inches, lines=1_000).split("\n")
        assert all(width(line) <= inches for line in lines)
        assert "".join("".join(lines).split()) == "".join(text.split())
        short = wrapped(text, inches, lines=2).split("\n")
        assert len(short) == min(len(lines), 2)
        assert all(width(line) <= inches for line in short)
        assert short[-1].endswith("…") == (len(lines) > 2)


def test_lines_break_between_words_where_they_can() -> None:
    with drawing(()):
        room = max(width("fairly often"), width("in the week"))
        assert wrapped("fairly often in the week", room) == "fairly often\nin the week"


def test_the_usual_font_alone_is_asked_for_letters_that_it_has() -> None:
    assert fonts_for("Ärger και жизнь ± ε …") == ([FONT], [])


@needs_cjk
def test_letters_of_other_scripts_are_drawn_and_not_boxes() -> None:
    box = pixels("眠", drawn=False)
    assert np.array_equal(box, pixels("眠", drawn=False))
    assert not np.array_equal(box, pixels("眠"))


def pixels(letter: str, *, drawn: bool = True) -> np.ndarray:
    figure = Figure(figsize=(0.5, 0.5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if drawn:
            with drawing(letter):
                figure.text(0.2, 0.2, letter)
        else:
            figure.text(0.2, 0.2, letter, family=FONT)
        room = io.BytesIO()
        figure.savefig(room, format="png")
    return np.asarray(imread(io.BytesIO(room.getvalue()), "png"))


def test_letters_that_no_font_has_are_told_once_in_a_sentence() -> None:
    strange = "\U0001e900\U0001e901\ue123"
    assert fonts_for(strange)[1]
    with pytest.warns(MissingLettersWarning, match=r"boxes for .*install one that does") as told:
        draw(asked((strange, "b"), (strange, "d")))
    assert len(told) == 1


def test_fonts_that_are_not_installed_are_not_asked_for() -> None:
    assert fonts_for("眠", ["No Such Font"]) == ([FONT], ["眠"])
    assert FONT not in FALLBACKS


def test_a_font_of_one_weight_is_used_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    fonts_for("a")
    logger = logging.getLogger("matplotlib.font_manager")
    logger.warning("Failed to find font weight %s for %s, now using %s.", "normal", "A Font", 500)
    logger.warning("Font family %r not found.", "A Font")
    assert [record.getMessage() for record in caplog.records] == ["Font family 'A Font' not found."]


def test_the_program_says_a_warning_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("app", "signal.signal"):
        monkeypatch.setattr(f"privtally.cli.app.{name}", lambda *_, **__: None)
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
    with pytest.raises(SystemExit):
        main()
    said = warnings.formatwarning(MissingLettersWarning("a sentence"), MissingLettersWarning, "text.py", 1)
    assert said == "privtally: a sentence\n"
