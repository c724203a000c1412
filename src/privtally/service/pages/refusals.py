"""Refusals that pages make themselves, in the language of whoever asks. Those of the library are in English."""

from markupsafe import Markup, escape

from privtally.errors import CampaignError
from privtally.service.pages.words import LANGUAGES, Words, words_in


class PageRefusalError(CampaignError):
    """A refusal in words of the catalogue."""

    def __init__(self, key: str, **values: object) -> None:
        super().__init__(words_in(LANGUAGES[0]).say(key, **values))
        self.key, self.values = key, values


def sentence(text: str) -> str:
    """A text that begins and ends as a sentence does."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def why(fault: Exception, words: Words) -> Markup:
    """What a refusal says, marked as English where it is."""
    if isinstance(fault, PageRefusalError):
        return escape(words.say(fault.key, **fault.values))
    return Markup('<span lang="en">{}</span>').format(sentence(str(fault)))
