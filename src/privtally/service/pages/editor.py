"""/new: a survey as it is typed into a form, read strictly, with what each choice means beside it."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from http import HTTPStatus
from math import exp, isfinite
from typing import Any

from litestar import Response, get, post

from privtally.documents.plan import check_epsilon, design
from privtally.errors import PrivtallyError
from privtally.exact import canonical
from privtally.names import HIDE_AMONG, HideAmong
from privtally.scales import BinRange
from privtally.schema import MAX_LABELS, Attribute, Schema
from privtally.service import operations
from privtally.service.collector import TheCollector
from privtally.service.operations import Advice, Advise, NewCampaign
from privtally.service.pages.login import require_session
from privtally.service.pages.rendering import PageRefusalError, Setup, TheSetup, Words, page, to, words_of
from privtally.service.pages.survey import promise_of, true_words, words_for_all
from privtally.service.problems import AnyRequest, read_form
from privtally.store.campaigns import Options

LEAST_STEPS = 2
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}([.,][0-9]{3})+")
"""Either thousands set apart, or three decimals: nobody can know which."""


def read_range(name: str, start: str, end: str, width: str) -> tuple[BinRange, bool]:
    """The bins of the question `name`, and whether it asks for decimals."""
    numbers = [_number(name, text) for text in (start, end, width)]
    _check(name, *(Decimal(repr(number)) for number in numbers))
    return BinRange(*numbers), any(isinstance(number, float) for number in numbers)


def _number(name: str, text: str) -> int | float:
    """The number of a text, with a decimal point or a decimal comma."""
    if _THOUSANDS.fullmatch(text):
        raise PageRefusalError("draft.thousands", name=name)
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        raise PageRefusalError("draft.range", name=name) from None
    if not isfinite(number):
        raise PageRefusalError("draft.range", name=name)
    return number


def _check(name: str, start: Decimal, end: Decimal, width: Decimal) -> None:
    """Refuse a range that does not divide into steps, with the nearest end below that does."""
    if max(map(abs, (start, end, width))) > canonical.MAX_INTEGER:
        raise PageRefusalError("draft.range.large", name=name)
    if start >= end or width <= 0:
        raise PageRefusalError("draft.order", name=name)
    steps = (end - start) / width
    if steps > MAX_LABELS:
        raise PageRefusalError("draft.steps", name=name, most=MAX_LABELS)
    if steps != int(steps) or steps < LEAST_STEPS:
        better = start + max(int(steps), LEAST_STEPS) * width
        typed = {"start": start, "end": end, "width": width, "better": better}
        raise PageRefusalError("draft.divide", name=name, **{key: _short(number) for key, number in typed.items()})


def _short(number: Decimal) -> int | float:
    return int(number) if number == int(number) else float(number)


MOST_QUESTIONS = 100
LEAST_LABELS = 2
SLIDER = (0.5, 6.0)
"""The budgets that the form offers."""
HIDING: Mapping[str, HideAmong] = {"1": 1, "2": 2, "all": "all"}
"""What the form offers to hide the question among."""


@dataclass(frozen=True)
class DraftQuestion:
    """A question with its answers, one a line, or with a range of numbers."""

    name: str = ""
    kind: str = "labels"
    labels: str = ""
    start: str = ""
    end: str = ""
    width: str = ""
    optional: bool = False

    @property
    def is_blank(self) -> bool:
        return not any((self.name, self.labels.strip(), self.start, self.end, self.width))

    def attribute(self) -> Attribute:
        """The question as the schema has it; refused where it does not say clearly what may be answered."""
        if not self.name:
            raise PageRefusalError("draft.name")
        if self.kind != "numbers":
            lines = (line.strip() for line in self.labels.splitlines())
            labels = tuple(line for line in lines if line)
            if len(labels) < LEAST_LABELS:
                raise PageRefusalError("draft.few", name=self.name)
            if len(set(labels)) < len(labels):
                raise PageRefusalError("draft.same", name=self.name)
            return Attribute(self.name, labels, optional=self.optional)
        bins, decimals = read_range(self.name, self.start, self.end, self.width)
        return Attribute(self.name, optional=self.optional, bins=bins, decimals=decimals, clamp=True)


@dataclass(frozen=True)
class Draft:
    """Everything that the form holds."""

    title: str = ""
    about: str = ""
    questions: tuple[DraftQuestion, ...] = field(default=(DraftQuestion(),))
    epsilon: float = 2.0
    people: int = 1_000
    hide_among: HideAmong = HIDE_AMONG
    published: bool = False
    tokens: bool = False
    answers: int = 1
    """How many times one person may answer."""

    @classmethod
    def read(cls, form: Mapping[str, str]) -> "Draft":
        """The draft that a form states; what is missing is empty."""
        questions = []
        for place in range(MOST_QUESTIONS):
            if f"q{place}-name" not in form:
                break
            text = {
                name: form.get(f"q{place}-{name}", "").strip() for name in ("name", "kind", "start", "end", "width")
            }
            labels, optional = form.get(f"q{place}-labels", ""), f"q{place}-optional" in form
            questions.append(DraftQuestion(**text, labels=labels, optional=optional))
        try:
            epsilon, people = float(form.get("epsilon", "2")), int(form.get("people", "1000"))
            answers = int(form.get("answers", "1"))
            hide_among = HIDING[form.get("hide_among", str(HIDE_AMONG))]
        except (ValueError, KeyError):
            raise PageRefusalError("draft.numbers") from None
        if max(abs(people), abs(answers)) > canonical.MAX_INTEGER:
            raise PageRefusalError("draft.large")
        check_epsilon(epsilon)
        return cls(
            title=form.get("title", "").strip(),
            about=" ".join(form.get("about", "").split()),
            questions=tuple(questions) or (DraftQuestion(),),
            epsilon=epsilon,
            people=people,
            hide_among=hide_among,
            published="published" in form,
            tokens="tokens" in form,
            answers=answers,
        )

    def changed(self, step: str) -> "Draft":
        """With one question more, or without one: "add" or "remove" and its place."""
        if step == "add":
            return replace(self, questions=(*self.questions, DraftQuestion())[:MOST_QUESTIONS])
        without = [question for place, question in enumerate(self.questions) if step != f"remove {place}"]
        return replace(self, questions=tuple(without) or (DraftQuestion(),))

    @property
    def surer(self) -> float:
        """How many times surer a report can make anybody."""
        return exp(self.epsilon)

    def schema(self) -> Schema:
        """The questions that are not blank."""
        asked = [question for question in self.questions if not question.is_blank]
        if not asked:
            raise PageRefusalError("draft.nothing")
        names = [question.name for question in asked]
        if twice := [name for name in names if names.count(name) > 1]:
            raise PageRefusalError("draft.twice", name=twice[0])
        return Schema(tuple(question.attribute() for question in asked))

    def advice(self, advise: Advise) -> tuple[Advice, Advice]:
        """What is recommended for these questions and people, and if a report may say which question it answers."""
        asked = self.schema(), self.epsilon, self.people
        chosen = advise(*asked, hide_among=self.hide_among)
        return chosen, chosen if self.hide_among == 1 else advise(*asked, hide_among=1)

    def campaign(self) -> NewCampaign:
        """A campaign as it is recommended for these questions and people."""
        if not self.title:
            raise PageRefusalError("draft.title")
        options = Options(published=self.published, tokens=self.tokens, about=self.about)
        return NewCampaign(
            title=self.title,
            schema=self.schema(),
            epsilon=self.epsilon,
            mechanism="auto",
            people=self.people,
            answers=self.answers,
            hide_among=self.hide_among,
            options=options,
        )


def sample(words: Words) -> Draft:
    """A survey to start from, in the language of whoever writes it."""
    labels = words.say("sample.answers")
    asked = [words.say(key) for key in ("sample.sleep", "sample.mood", "sample.food")]
    questions = tuple(DraftQuestion(name, labels=labels) for name in asked)
    return Draft(title=words.say("sample.title"), about=words.say("sample.about"), questions=questions)


MOST_BYTES = 1 << 19
"""The largest form with questions that is read; larger surveys are started over the API."""


@get("/new", guards=[require_session])
async def new_page(request: AnyRequest, setup: TheSetup) -> Response[str]:
    """The form, empty or with a sample."""
    words = words_of(request)
    return await _form(request, setup, sample(words) if "sample" in request.query_params else Draft())


@post("/new", guards=[require_session], request_max_body_size=MOST_BYTES, status_code=HTTPStatus.OK)
async def change_or_create(request: AnyRequest, setup: TheSetup, collector: TheCollector) -> Response[Any]:
    """Add or remove a question, show what the choices mean, or start the survey."""
    form = await read_form(request)
    try:
        draft = Draft.read(form)
    except PrivtallyError as refusal:
        return page(request, "refused.html", HTTPStatus.BAD_REQUEST, fault=refusal)
    step = form.get("do", "create")
    if step != "create":
        return await _form(request, setup, draft.changed(step), added=step == "add")
    try:
        campaign = await operations.create(collector.store, draft.campaign(), setup.advise)
    except PrivtallyError as refusal:
        return await _form(request, setup, draft, refusal)
    return to(f"/c/{campaign.id}")


@post("/new/advice", guards=[require_session], request_max_body_size=MOST_BYTES, status_code=HTTPStatus.OK)
async def advice_part(request: AnyRequest, setup: TheSetup) -> Response[str]:
    """What the choices of a form mean, while it is written."""
    try:
        draft = Draft.read(await read_form(request))
    except PrivtallyError as refusal:
        return page(request, "advice.html", fault=refusal, draft=Draft(), advice=None, again="")
    return page(request, "advice.html", **await _meaning(request, setup, draft))


async def _form(
    request: AnyRequest, setup: Setup, draft: Draft, refused: PrivtallyError | None = None, *, added: bool = False
) -> Response[str]:
    """The form; a question that was just added has the focus."""
    return page(
        request,
        "new.html",
        HTTPStatus.OK if refused is None else HTTPStatus.BAD_REQUEST,
        **await _meaning(request, setup, draft),
        refused=refused,
        added=added,
        slider=SLIDER,
    )


async def _meaning(request: AnyRequest, setup: Setup, draft: Draft) -> dict[str, Any]:
    """What a draft would do, or what is missing in it."""
    words = words_of(request)
    again = words_for_all(draft.answers, draft.epsilon, words, "advice.again")
    try:
        advice, said = await asyncio.to_thread(draft.advice, setup.advise)
        designing = partial(design, answers=draft.answers, **advice.design.options)
        plan = await asyncio.to_thread(designing, draft.schema(), draft.epsilon)
        promise = await asyncio.to_thread(promise_of, [plan])
    except PrivtallyError as refusal:
        return {"draft": draft, "advice": None, "fault": refusal, "again": again}
    return {
        "draft": draft,
        "advice": advice.design,
        "fault": None,
        "again": again,
        "points": words.two_digits(advice.points),
        "said": "" if said.design == advice.design else words.two_digits(said.points),
        "true_words": true_words(promise, words),
    }
