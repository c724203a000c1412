"""The catalogue: every language says everything, and a browser gets the one that it wants."""

import re
import string
from pathlib import Path

import pytest

import privtally.service.pages
from privtally.service.pages.rendering import LANGUAGES, words_for, words_in
from privtally.service.pages.survey import WARNINGS

ROOM = Path(privtally.service.pages.__file__).parent


def holes(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_all_languages_say_the_same_with_the_same_values(language: str) -> None:
    first, other = words_in(LANGUAGES[0]).texts, words_in(language).texts
    assert list(first) == list(other)
    assert {key for key in first if holes(first[key]) != holes(other[key])} == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_key_is_written_twice(language: str) -> None:
    keys = re.findall(r'^  "([^"]+)":', (ROOM / "texts" / f"{language}.json").read_text(), flags=re.MULTILINE)
    assert sorted(keys) == sorted(words_in(language).texts)


def test_pages_say_what_the_catalogue_has_and_nothing_else() -> None:
    files = [*ROOM.glob("*.py"), *ROOM.glob("templates/*.html")]
    text = "\n".join(file.read_text() for file in files)
    said = set(re.findall(r"""["']([a-z]+\.[a-z_.]+)["']""", text)) - {file.name for file in files}
    computed = {f"survey.{name}" for name in WARNINGS}
    computed |= {f"state.{name}" for name in ("first", "later", "only", "closed")}
    computed |= {f"new.{name}" for name in ("start", "end", "width", "hide.1", "hide.2", "hide.all")}
    computed |= {f"{step}.{name}" for step in ("forget", "delete") for name in ("what", "do")}
    computed |= {"more.forget", "more.delete", "promise.again.much", "advice.again.much"}
    computed |= {"survey.missing.whole", "survey.missing.decimals"}
    catalogue = set(words_in("en").texts)
    computed |= {f"{key}.one" for key in said} & catalogue
    assert catalogue <= said | computed
    assert computed <= catalogue


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en"),
        ("de", "de"),
        ("de-AT,de;q=0.9,en;q=0.5", "de"),
        ("fr, en;q=0.4, de;q=0.8", "de"),
        ("en-GB,en;q=0.9,de;q=0.8", "en"),
        ("fr", "en"),
        ("de;q=0", "en"),
        ("de; q=0.9", "de"),
        ("en ; q=0.3 , de;level=1 ;Q=0.9", "de"),
        ("de; q=0", "en"),
        ("de;q=x, \x00", "en"),
    ],
)
def test_a_browser_gets_the_language_that_it_wants_most(accepted: str, language: str) -> None:
    assert words_for(accepted).language == language


@pytest.mark.parametrize(
    ("value", "english", "german"),
    [
        (7.389, "7.4", "7,4"),
        (1.0, "1", "1"),
        (1.28, "1.28", "1,28"),
        (1.2811, "1.29", "1,29"),
        (2.7183, "2.8", "2,8"),
        (402.3, "410", "410"),
        (78962.9, "79,000", "79.000"),
    ],
)
def test_bounds_are_rounded_up_and_written_as_the_language_does(value: float, english: str, german: str) -> None:
    assert (words_in("en").at_most(value), words_in("de").at_most(value)) == (english, german)


def test_a_header_is_looked_at_for_so_many_languages_only() -> None:
    assert words_for("fr," * 9 + "de").language == "de"
    assert words_for("fr," * 9_999 + "de").language == "en"
