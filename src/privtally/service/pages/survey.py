"""/s/{id}: the page where somebody answers, and the totals if the operator publishes them."""

import asyncio
from dataclasses import dataclass
from math import ceil, exp, log

from litestar import Response, get
from litestar.params import FromPath

from privtally.errors import UnknownCampaignError
from privtally.schema import Attribute
from privtally.service import operations
from privtally.service.collector import TheCollector
from privtally.service.pages.promise import Promise, promise_of
from privtally.service.pages.rendering import page
from privtally.service.pages.setup import AnyRequest, TheSetup
from privtally.service.pages.words import Words, words_for

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


@get("/s/{campaign:str}")
async def survey_page(campaign: FromPath[str], request: AnyRequest, collector: TheCollector) -> Response[str]:
    """The questions of a survey. Answers are made private in the page."""
    survey = await collector.survey(campaign)
    words = words_for(request.headers.get("accept-language", ""))
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
        true_words=true_words(promise, words),
        epsilon=f"{last.epsilon:g}",
        surer=words.at_most(promise.surer),
        again=words_for_all(last.answers, last.epsilon, words, "promise.again"),
        digest=last.digest,
        warnings=WARNINGS,
    )


@get("/s/{campaign:str}/totals")
async def totals_page(
    campaign: FromPath[str], request: AnyRequest, collector: TheCollector, setup: TheSetup
) -> Response[str]:
    """The estimated totals, for everybody, if the operator publishes them."""
    survey = await collector.survey(campaign)
    if not survey.options.published:
        raise UnknownCampaignError("the totals of this survey are not public")
    people = sum(await operations.totals(collector.store, survey))
    found = await setup.estimates.so_far(collector, survey)
    return page(request, "totals.html", survey=survey, people=people, found=found)


def words_for_all(answers: int, epsilon: float, words: Words, key: str) -> str:
    """How much surer all answers of one person make anybody; empty where one person answers once."""
    if answers <= 1:
        return ""
    if answers * epsilon > MOST_SURER:
        return words.say(f"{key}.much", answers=answers)
    return words.say(key, answers=answers, surer=words.at_most(exp(answers * epsilon)))


def true_words(promise: Promise, words: Words) -> str:
    """How often an answer that is sent is the true one."""
    least, most = round(100 * promise.least_true), round(100 * promise.most_true)
    if least == most:
        return words.say("promise.true", often=least)
    return words.say("promise.true.between", least=least, most=most)


def _question(place: int, attribute: Attribute, words: Words) -> Question:
    if attribute.numbers is not None:
        kind, low, high = "number", attribute.numbers.edges[0], attribute.numbers.edges[-1]
        range_text = words.say("survey.number_any" if attribute.clamp else "survey.number", low=low, high=high)
    else:
        kind, range_text = "few" if len(attribute.choices) <= MOST_BUTTONS else "many", ""
    return Question(place, attribute.name, kind, attribute.choices, attribute.optional, attribute.decimals, range_text)
