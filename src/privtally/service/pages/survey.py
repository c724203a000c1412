"""/s/{id}: the page where somebody answers, and the totals if the operator publishes them."""

import asyncio
import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, log

from litestar import Response, get
from litestar.params import FromPath

from privtally.documents.estimate import Estimate
from privtally.errors import UnknownCampaignError
from privtally.schema import Attribute
from privtally.service import operations
from privtally.service.collector import Finished, TheCollector
from privtally.service.pages.answers import names_of_answers
from privtally.service.pages.panels import estimate_so_far, panels_of
from privtally.service.pages.promise import Promise, Shown, promise_of
from privtally.service.pages.rendering import as_page, page, rendered, words_of
from privtally.service.pages.setup import AnyRequest, TheSetup
from privtally.service.pages.words import Words

MOST_BUTTONS = 12
"""Up to so many answers have a button each; more are searched in a list."""
QUESTIONS_A_MINUTE = 6
MOST_SURER = log(1_000_000)
"""From this budget on, how many times surer somebody can be says nothing any more."""
WARNINGS = (
    "insecure",
    "forgetful",
    "wrong-plan",
    "unreachable",
    "unavailable",
    "unknown-campaign",
    "campaign-closed",
    "phase-closed",
    "invalid-report",
    "id-conflict",
    "token-spent",
    "token-missing",
    "turn-comes-later",
    "refused",
)
"""What a page may have to say, by the names of refusals."""


@dataclass(frozen=True)
class Question:
    """A question as the page shows it: with few answers, many, or a number."""

    place: int
    name: str
    kind: str
    choices: tuple[str, ...]
    optional: bool
    decimals: bool
    range: str
    fault: str
    """What is said below an answer that does not fit."""


@get("/s/{campaign:str}")
async def survey_page(
    campaign: FromPath[str], request: AnyRequest, collector: TheCollector, setup: TheSetup
) -> Response[str]:
    """The questions of a survey. Answers are made private in the page."""
    survey = await collector.survey(campaign)
    words = words_of(request)
    first, last = survey.plans[0], survey.plans[-1]
    promise = await asyncio.to_thread(promise_of, (first, last) if survey.options.tokens else (last,))
    questions = [_question(place, own, words) for place, own in enumerate(first.schema.attributes)]
    return page(
        request,
        "survey.html",
        survey=survey,
        questions=questions,
        minutes=ceil(len(questions) / QUESTIONS_A_MINUTE),
        promise=promise,
        shown_words=shown_words(promise, words),
        true_words=true_words(promise, words),
        epsilon=f"{last.epsilon:g}",
        surer=words.at_most(promise.surer),
        again=words_for_all(last.answers, last.epsilon, words, "promise.again"),
        digest=last.digest,
        named=names_of_answers(first.schema, words),
        command=f"privtally submit --url {shlex.quote(f'{setup.base(request)}/s/{survey.id}')} --record answers.json",
        record=_example_record(first.schema.attributes),
        warnings=WARNINGS,
    )


@get("/s/{campaign:str}/totals")
async def totals_page(campaign: FromPath[str], request: AnyRequest, collector: TheCollector) -> Response[str]:
    """The estimated totals, for everybody, if the operator publishes them."""
    survey = await collector.survey(campaign)
    if not survey.options.published:
        raise UnknownCampaignError("the totals of this survey are not public")
    words = words_of(request)
    finished = await estimate_so_far(collector.estimates, survey, collector.estimates.recent)
    if not isinstance(finished, Finished):
        people = sum(await operations.totals(collector.store, survey))
        return page(request, "totals.html", survey=survey, people=people, found=finished)

    def written(estimate: Estimate) -> str:
        named = names_of_answers(survey.plans[0].schema, words)
        return rendered(words, "totals.html", survey=survey, found=panels_of(estimate), named=named)

    return as_page(words, await finished.form(f"totals in {words.language}", written))


def words_for_all(answers: int, epsilon: float, words: Words, key: str) -> str:
    """How much surer all answers of one person make anybody; empty where one person answers once."""
    if answers <= 1:
        return ""
    if answers * epsilon > MOST_SURER:
        return words.say(f"{key}.much", answers=answers)
    return words.say(key, answers=answers, surer=words.at_most(exp(answers * epsilon)))


def shown_words(promise: Promise, words: Words) -> str:
    """How many questions a report shows, and which answers in it are the person's own."""
    sentences = [_shown_words(shown, words) for shown in promise.shown]
    if len(sentences) == 1:
        return sentences[0]
    return words.say("promise.shown.either", first=sentences[0], second=sentences[1])


def _shown_words(own: Shown, words: Words) -> str:
    if own.own == own.questions:
        return words.say("promise.shown.all", count=own.questions)
    if own.own == own.shown:
        return words.say("promise.shown.some", count=own.shown, questions=own.questions)
    if own.shown == own.own + 1:
        return words.say("promise.shown.decoy", count=own.own, shown=own.shown)
    return words.say("promise.shown.decoys", count=own.own, shown=own.shown)


def true_words(promise: Promise, words: Words) -> str:
    """How often an answer that is sent is the true one."""
    least, most = round(100 * promise.least_true), round(100 * promise.most_true)
    if least == most:
        return words.say("promise.true", often=least)
    return words.say("promise.true.between", least=least, most=most)


def times_true(promise: Promise, words: Words) -> str:
    """Of 100 answers that are sent, how many are the true ones."""
    least, most = round(100 * promise.least_true), round(100 * promise.most_true)
    return words.number(least) if least == most else words.say("panel.from_to", low=least, high=most)


def _question(place: int, attribute: Attribute, words: Words) -> Question:
    few = "few" if len(attribute.choices) <= MOST_BUTTONS else "many"
    kind, hint, fault = few, "", words.say("survey.missing")
    if attribute.numbers is not None:
        low, high = attribute.numbers.edges[0], attribute.numbers.edges[-1]
        which = "decimals" if attribute.decimals else "whole"
        kind, hint = "number", words.say("survey.number", low=low, high=high)
        fault = words.say(f"survey.missing.{which}") if attribute.clamp else words.say("survey.missing_number")
        if attribute.clamp:
            hint = words.say("survey.number_any", low=low, high=high)
    return Question(place, attribute.name, kind, attribute.choices, attribute.optional, attribute.decimals, hint, fault)


def _example_record(attributes: Sequence[Attribute]) -> str:
    """A record with the first answer to each question, as the program reads it."""
    first = {own.name: own.choices[0] if own.numbers is None else own.numbers.edges[0] for own in attributes}
    return json.dumps(first, ensure_ascii=False, indent=1)
