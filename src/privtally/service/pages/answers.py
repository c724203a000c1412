"""What answers are called on a page: bins are named in its language, all other answers as the survey names them."""

from collections.abc import Callable

from privtally.schema import NO_ANSWER, Attribute, Schema
from privtally.service.pages.words import Words

Named = Callable[[str, str], str]
"""The name of a question and one of its labels -> what a page calls the answer."""


def names_of_answers(schema: Schema, words: Words) -> Named:
    """What a page calls the answers of a survey."""
    asked = {attribute.name: attribute for attribute in schema.attributes}
    return lambda question, label: answer_name(asked[question], label, words)


def answer_name(attribute: Attribute, label: str, words: Words) -> str:
    """What a page calls an answer."""
    if attribute.optional and label == NO_ANSWER:
        return words.say("survey.not_said")
    if attribute.numbers is None:
        return label
    return words.decimal(label.replace(" to ", f" {words.say('bins.to')} "))
