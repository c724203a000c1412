"""/new: a survey is written in a form, with what each choice means beside it."""

import asyncio
from functools import partial
from http import HTTPStatus
from typing import Any

from litestar import Response, get, post

from privtally.documents.plan import design
from privtally.errors import PrivtallyError
from privtally.service import operations
from privtally.service.bodies import read_form
from privtally.service.collector import TheCollector
from privtally.service.pages.drafts import SLIDER, Draft, sample
from privtally.service.pages.promise import promise_of
from privtally.service.pages.rendering import page, to, words_of
from privtally.service.pages.sessions import require_session
from privtally.service.pages.setup import AnyRequest, Setup, TheSetup
from privtally.service.pages.survey import true_words, words_for_all

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
        survey = await operations.create(collector.store, draft.campaign(), setup.advise)
    except PrivtallyError as refusal:
        return await _form(request, setup, draft, refusal)
    return to(f"/c/{survey.id}")


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
