"""/c/{id}/invitations: links that each let somebody take part once. They are shown once, and kept nowhere."""

from functools import partial
from http import HTTPStatus
from typing import Any

from litestar import Response, get, post
from litestar.params import FromPath

from privtally.documents.campaign import State
from privtally.mechanisms import NAMED
from privtally.service.bodies import read_form
from privtally.service.collector import Collector, TheCollector
from privtally.service.pages.refusals import PageRefusalError
from privtally.service.pages.rendering import as_file, page
from privtally.service.pages.sessions import require_session
from privtally.service.pages.setup import AnyRequest, TheSetup
from privtally.service.tokens import issue
from privtally.store.surveys import Survey, count_tokens

MOST_AT_ONCE = 10_000
"""More links than this are made on the command line."""


@get("/c/{campaign:str}/invitations", guards=[require_session])
async def invitations_page(campaign: FromPath[str], request: AnyRequest, collector: TheCollector) -> Response[str]:
    """How many links there are, and a form for more."""
    survey = await _invited(collector, campaign)
    return page(request, "invitations.html", **await _values(collector, survey), links=[])


@post("/c/{campaign:str}/invitations", guards=[require_session], status_code=HTTPStatus.OK)
async def invite(
    campaign: FromPath[str], request: AnyRequest, collector: TheCollector, setup: TheSetup
) -> Response[Any]:
    """New links, on a page or as a file."""
    survey, form = await _invited(collector, campaign), await read_form(request)
    stated = form.get("number", "")
    number = int(stated) if stated.isdecimal() and len(stated) <= len(str(MOST_AT_ONCE)) else 0
    if not 1 <= number <= MOST_AT_ONCE:
        raise PageRefusalError("invite.refused", most=MOST_AT_ONCE)
    address = f"{setup.base(request)}/s/{survey.id}"
    links = [f"{address}#{token}" for token in await issue(collector.store, survey.id, number)]
    if form.get("do") == "file":
        text = "".join(f"{link}\n" for link in links)
        return Response(text, media_type="text/plain", headers=as_file(f"{survey.id[:12]}-invitations.txt"))
    return page(request, "invitations.html", **await _values(collector, survey), links=links)


async def _invited(collector: Collector, campaign: str) -> Survey:
    survey = await collector.survey(campaign)
    if not survey.options.tokens:
        raise PageRefusalError("invite.open")
    if survey.campaign.state is State.CLOSED:
        raise PageRefusalError("refused.closed")
    return survey


async def _values(collector: Collector, survey: Survey) -> dict[str, Any]:
    issued, spent = await collector.store.read(partial(count_tokens, survey=survey))
    learns = NAMED[survey.plans[0].mechanism].learns
    return {
        "survey": survey,
        "issued": issued,
        "spent": spent,
        "most": MOST_AT_ONCE,
        "early": survey.options.phase1_share if learns else None,
    }
