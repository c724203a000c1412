"""The words of the pages, in the language that a browser asks for."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import floor, log10

import msgspec

from privtally.exact.rounding import rounded_up

LANGUAGES = ("en", "de")
"""The languages of the catalogue; the first is for everybody else."""
MOST_WANTED = 50
"""How many languages of a header are looked at."""
_THIN_SPACE = "\u202f"


@dataclass(frozen=True)
class Words:
    """One language of the catalogue, and how it writes numbers."""

    language: str
    texts: Mapping[str, str]

    def say(self, key: str, **values: object) -> str:
        """A text of the catalogue with values in their places; numbers are written as this language does.

        With a `count` of 1 the text is that of the key with ".one" after it, where there is one.
        """
        text = self.texts[key]
        if values.get("count") == 1:
            text = self.texts.get(f"{key}.one", text)
        return text.format_map({name: self._written(value) for name, value in values.items()})

    def _written(self, value: object) -> object:
        if type(value) is int:
            return self.number(value)
        return self.decimal(repr(value).removesuffix(".0")) if type(value) is float else value

    def decimal(self, text: str) -> str:
        """The text of numbers with a decimal point, with this language's decimal sign."""
        return text.replace(".", self.texts["bins.decimal"])

    def number(self, value: float, digits: int = 0) -> str:
        """A number with thousands set apart."""
        text = f"{value:,.{digits}f}"
        return text.translate(str.maketrans(",.", ".,")) if self.language == "de" else text

    def percent(self, share: float, digits: int = 0) -> str:
        """A share of 1 in percent."""
        return f"{self.number(100 * share, digits)}{_THIN_SPACE}%"

    def two_digits(self, value: float) -> str:
        """A number with two digits, and all those before the point."""
        return self.number(value, max(1 - floor(log10(value)), 0))

    def at_most(self, value: float) -> str:
        """A bound, rounded up."""
        text = f"{rounded_up(value):,f}"
        return text.translate(str.maketrans(",.", ".,")) if self.language == "de" else text


@cache
def words_in(language: str) -> Words:
    """The words of one of the `LANGUAGES`."""
    document = files(__package__).joinpath("texts", f"{language}.json").read_bytes()
    return Words(language, msgspec.json.decode(document, type=dict[str, str]))


def words_for(accepted: str) -> Words:
    """The words for an Accept-Language header: of the catalogue's languages the one that is wanted most."""
    wanted: list[tuple[float, str]] = []
    for item in accepted.split(",", MOST_WANTED)[:MOST_WANTED]:
        name, *parameters = (part.strip().lower() for part in item.split(";"))
        language = name.partition("-")[0]
        weights = [part.removeprefix("q=") for part in parameters if part.startswith("q=")]
        if language in LANGUAGES:
            wanted.append((_weight("".join(weights[:1])), language))
    best = max(wanted, key=lambda item: item[0], default=(0.0, LANGUAGES[0]))
    return words_in(best[1] if best[0] > 0 else LANGUAGES[0])


def _weight(text: str) -> float:
    try:
        return float(text) if text else 1.0
    except ValueError:
        return 0.0
