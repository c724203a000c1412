"""/s/{id}: what a survey promises, the page where somebody answers, and the totals if the operator publishes them."""

import asyncio
import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from math import ceil, exp, log

import numpy as np
from litestar import Response, get
from litestar.params import FromPath

from privtally.documents.estimate import Estimate
from privtally.documents.plan import Plan
from privtally.errors import UnknownCampaignError
from privtally.exact.types import Distribution
from privtally.mechanisms.channels import Asked
from privtally.mechanisms.fills import Places
from privtally.mechanisms.mechanism import Joint, Mechanism, Part
from privtally.mechanisms.together import Together
from privtally.schema import Attribute
from privtally.service import operations
from privtally.service.collector import TheCollector
from privtally.service.pages.charts import names_of_answers, panels_of
from privtally.service.pages.rendering import TheSetup, Words, page, words_of
from privtally.service.problems import AnyRequest

MOST_EXAMPLE_LABELS = 6


@dataclass(frozen=True)
class Example:
    """An invented answer to one question, and of 100 people who give it how many send each label."""

    question: str
    answer: str
    sent: Sequence[tuple[str, float]]

    @property
    def other(self) -> str:
        """The label that is sent most often in place of the answer."""
        return max((entry for entry in self.sent if entry[0] != self.answer), key=lambda entry: entry[1])[0]


@dataclass(frozen=True)
class Shown:
    """Of a survey's questions how many a report shows, and of how many of these the answer is the person's own."""

    questions: int
    shown: int
    pivots: int
    together: bool = False
    """Whether the report has one code for several answers."""
    single: bool = False
    """Whether some people's reports answer a single question instead."""


@dataclass(frozen=True)
class Promise:
    """Of a report to one of these plans: how much surer it makes anybody, and how often what it says is true."""

    surer: float
    least_true: float
    most_true: float
    """How often an answer that is sent is the true one, for the questions where that is rarest and most frequent."""
    shown: Sequence[Shown]
    """What a report may show, the first plan first."""
    example: Example | None

    @property
    def times_true(self) -> tuple[int, int]:
        """The same of 100 answers."""
        return round(100 * self.least_true), round(100 * self.most_true)


def promise_of(plans: Sequence[Plan]) -> Promise:
    """The promise of a survey in which somebody may be given any of these plans."""
    shares = [share for plan in plans for share in true_shares(plan.mechanism)]
    last = plans[-1]
    return Promise(
        surer=exp(last.epsilon),
        least_true=min(shares),
        most_true=max(shares),
        shown=tuple(dict.fromkeys(map(_shown, plans))),
        example=_example(last),
    )


def _shown(plan: Plan) -> Shown:
    if plan.together is not None:
        questions, size = len(plan.schema.attributes), plan.together.size
        return Shown(questions, size, size, together=True, single=plan.together.single > 0)
    parts = plan.mechanism.parts
    return Shown(plan.mechanism.width, sum(part.shown for part in parts), sum(part.pivots for part in parts))


@lru_cache(maxsize=256)
def true_shares(mechanism: Mechanism) -> list[float]:
    """For each attribute how often an answer to it that is sent is the true one, part by part; set by set where they
    are asked together.
    """
    if isinstance(mechanism, Together):
        sets = zip(mechanism.sets, mechanism.asked, strict=True)
        return [share for places, channel in sets for share in _shares_together(mechanism, places, channel)]
    return [share for part in mechanism.parts for share in _part_shares(part)]


def _shares_together(mechanism: Together, places: Places, channel: Asked) -> Iterator[float]:
    """For each attribute of a set how often its answer in a report is the true one; where a code stands for several
    labels of the product, how often the true one is among these.
    """
    if channel.inside > 1:
        yield channel.inside * channel.same / channel.total
        return
    for place in places:
        alike = channel.inputs // mechanism.sizes[place] - 1  # other labels of the product with the same answer
        yield (channel.same + alike * channel.other) / channel.total


def _part_shares(part: Part) -> list[float]:
    asked = float(part.asked_share)
    shares = []
    for channel, reported in zip(part.asked, part.reported(_independent(part)), strict=True):
        filled = reported - asked * channel.push(_uniform(channel.inputs))
        by_chance = float(filled @ channel.holder_counts()) / channel.inputs
        shares.append(asked * channel.inside * channel.same / channel.total + by_chance)
    return shares


@lru_cache(maxsize=256)
def _example(plan: Plan) -> Example | None:
    """The first answer to the first question with few labels, all other answers being as likely as each other."""
    for part in plan.mechanism.parts:
        for place, channel in enumerate(part.asked):
            if channel.inside == 1 and channel.outputs <= MOST_EXAMPLE_LABELS:
                attribute = plan.schema.attributes[part.attributes[place]]
                law = part.reported(_independent(part, certain=place))[place]
                sent = tuple(zip(attribute.labels, law.tolist(), strict=True))
                return Example(attribute.name, attribute.labels[0], sent)
    return None


def _independent(part: Part, certain: int | None = None) -> Joint:
    """The distribution of a part's answers if all are as likely as each other, but one may be its first label."""

    def joint(places: Places) -> Distribution:
        laws = [np.eye(part.sizes[place])[0] if place == certain else _uniform(part.sizes[place]) for place in places]
        return reduce(np.multiply.outer, laws)

    return joint


def _uniform(size: int) -> Distribution:
    return np.full(size, 1 / size)


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


@get("/s/{campaign_id:str}")
async def survey_page(
    campaign_id: FromPath[str], request: AnyRequest, collector: TheCollector, setup: TheSetup
) -> Response[str]:
    """The questions of a survey. Answers are made private in the page."""
    campaign = await collector.campaign(campaign_id)
    words = words_of(request)
    first, last = campaign.plans[0], campaign.plans[-1]
    promise = await asyncio.to_thread(promise_of, (first, last) if campaign.options.tokens else (last,))
    questions = [_question(place, attribute, words) for place, attribute in enumerate(first.schema.attributes)]
    return page(
        request,
        "survey.html",
        campaign=campaign,
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
        command=f"privtally submit --url {shlex.quote(f'{setup.base(request)}/s/{campaign.id}')} --record answers.json",
        record=_example_record(first.schema.attributes),
        warnings=WARNINGS,
    )


@get("/s/{campaign_id:str}/totals")
async def totals_page(campaign_id: FromPath[str], request: AnyRequest, collector: TheCollector) -> Response[str]:
    """The estimated totals, for everybody, if the operator publishes them."""
    campaign = await collector.campaign(campaign_id)
    if not campaign.options.published:
        raise UnknownCampaignError("the totals of this survey are not public")
    estimate = await collector.estimates.recent(campaign, by_round=campaign.plans[-1].round > 1)
    if not isinstance(estimate, Estimate):
        people = sum(await operations.totals(collector.store, campaign))
        return page(request, "totals.html", campaign=campaign, people=people, found=estimate)
    named = names_of_answers(campaign.plans[0].schema, words_of(request))
    found = await asyncio.to_thread(panels_of, estimate)
    written = partial(page, request, "totals.html", campaign=campaign, found=found, named=named)
    return await asyncio.to_thread(written)  # a page of many questions would keep everybody waiting


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


def _shown_words(report: Shown, words: Words) -> str:
    if report.together:
        key = "promise.shown.together.all" if report.shown == report.questions else "promise.shown.together"
        if report.single:
            key = "promise.shown.together.or_one"
        return words.say(key, count=report.shown, questions=report.questions)
    if report.pivots == report.questions:
        return words.say("promise.shown.all", count=report.questions)
    if report.pivots == report.shown:
        return words.say("promise.shown.some", count=report.shown, questions=report.questions)
    key = "promise.shown.decoy" if report.shown == report.pivots + 1 else "promise.shown.decoys"
    return words.say(key, count=report.pivots, shown=report.shown)


def true_words(promise: Promise, words: Words) -> str:
    """How often an answer that is sent is the true one."""
    least, most = promise.times_true
    if least == most:
        return words.say("promise.true", often=least)
    return words.say("promise.true.between", least=least, most=most)


def times_true(promise: Promise, words: Words) -> str:
    """Of 100 answers that are sent, how many are the true ones."""
    least, most = promise.times_true
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
            hint = words.say("survey.number_any" if attribute.grid is None else "survey.number_end", low=low, high=high)
    return Question(place, attribute.name, kind, attribute.choices, attribute.optional, attribute.decimals, hint, fault)


def _example_record(attributes: Sequence[Attribute]) -> str:
    """A record with the first answer to each question, as the program reads it."""
    first = {
        attribute.name: attribute.choices[0] if attribute.numbers is None else attribute.numbers.edges[0]
        for attribute in attributes
    }
    return json.dumps(first, ensure_ascii=False, indent=1)
