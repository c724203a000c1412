"""/v1/campaigns: what an administrator does, and the plans that everybody may see."""

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from litestar import Request, Response, delete, get, post
from litestar.params import FromPath, FromQuery, HeaderParameter

from privtally.documents.campaign import State
from privtally.documents.plan import Plan
from privtally.errors import RequestError
from privtally.exact import wire
from privtally.service import operations
from privtally.service.admin import require_admin
from privtally.service.bodies import read_body
from privtally.service.collector import Collector, TheCollector
from privtally.service.describing import (
    ADMIN,
    NOT_CHANGED,
    ONE,
    TOKEN_HEADER,
    Advance,
    TakesAdvance,
    TakesCampaign,
    document,
    documents,
    refusals,
)
from privtally.service.operations import NewCampaign
from privtally.service.problems import ProblemError
from privtally.service.tokens import hashed, plan_of
from privtally.service.views import CampaignView, view
from privtally.store.surveys import Survey, every, is_spent

_TO_READ = {"Cache-Control": "no-cache"}


@post(
    "/v1/campaigns",
    guards=[require_admin],
    security=ADMIN,
    operation_class=TakesCampaign,
    responses=refusals(401, 413, 415),
    summary="Start a campaign",
)
async def create(request: Request[Any, Any, Any], collector: TheCollector) -> CampaignView:
    """Start a campaign with a first plan of its own; it is open from now on."""
    new = await _body(request, NewCampaign)
    return await view(collector.store, await operations.create(collector.store, new, collector.advise))


@get(
    "/v1/campaigns",
    guards=[require_admin],
    security=ADMIN,
    responses=refusals(401),
    summary="List all campaigns",
)
async def list_all(collector: TheCollector) -> list[CampaignView]:
    """All campaigns, the newest first."""
    return [await view(collector.store, survey) for survey in await collector.store.read(every)]


@get(
    "/v1/campaigns/{campaign:str}",
    guards=[require_admin],
    security=ADMIN,
    responses=refusals(401, 404),
    summary="Show a campaign",
)
async def show(campaign: FromPath[str], collector: TheCollector) -> CampaignView:
    """A campaign with its phases."""
    return await view(collector.store, await collector.survey(campaign))


@post(
    "/v1/campaigns/{campaign:str}/advance",
    guards=[require_admin],
    security=ADMIN,
    operation_class=TakesAdvance,
    responses=document("The plan that follows.") | refusals(401, 404, 409, 413, 415),
    status_code=HTTPStatus.OK,
    summary="Learn, and open the next phase",
)
async def advance(campaign: FromPath[str], request: Request[Any, Any, Any], collector: TheCollector) -> Response[bytes]:
    """End the phase of the plan that the body names, learn, and open the next; gives the plan that follows."""
    wanted = await _body(request, Advance)
    plan = await operations.advance(collector.store, campaign, wanted.plan)
    return _document(plan.dump, plan.digest)


@post(
    "/v1/campaigns/{campaign:str}/refresh",
    guards=[require_admin],
    security=ADMIN,
    operation_class=TakesAdvance,
    responses=document("The first plan of the next round.") | refusals(401, 404, 409, 413, 415),
    status_code=HTTPStatus.OK,
    summary="Open another round",
)
async def refresh(campaign: FromPath[str], request: Request[Any, Any, Any], collector: TheCollector) -> Response[bytes]:
    """End the phase of the plan that the body names and ask anew, as the first plan did; opens a closed campaign."""
    wanted = await _body(request, Advance)
    plan = await operations.refresh(collector.store, campaign, wanted.plan)
    return _document(plan.dump, plan.digest)


@post(
    "/v1/campaigns/{campaign:str}/close",
    guards=[require_admin],
    security=ADMIN,
    responses=refusals(401, 404),
    status_code=HTTPStatus.OK,
    summary="Take no more reports",
)
async def close(campaign: FromPath[str], collector: TheCollector) -> CampaignView:
    """Take no more reports. Closing again changes nothing."""
    return await view(collector.store, await operations.close(collector.store, campaign))


@delete(
    "/v1/campaigns/{campaign:str}",
    guards=[require_admin],
    security=ADMIN,
    responses=refusals(401, 404, 409),
    summary="Delete a closed campaign",
)
async def remove(campaign: FromPath[str], title: FromQuery[str], collector: TheCollector) -> None:
    """Delete a closed campaign with all its reports; its title confirms it."""
    await operations.delete(collector.store, campaign, title)
    collector.forget(campaign)


@delete(
    "/v1/campaigns/{campaign:str}/reports",
    guards=[require_admin],
    security=ADMIN,
    responses=refusals(401, 404, 409),
    summary="Delete the reports, keep the totals",
)
async def remove_reports(campaign: FromPath[str], title: FromQuery[str], collector: TheCollector) -> None:
    """Delete all reports of a closed campaign; its title confirms it. Counts and estimates stay, backups too."""
    await operations.delete_reports(collector.store, campaign, title)


@get(
    "/v1/campaigns/{campaign:str}/plan",
    responses=document("A plan.") | {304: NOT_CHANGED} | refusals(403, 404, 409),
    summary="The plan to answer",
)
async def plan(
    campaign: FromPath[str],
    collector: TheCollector,
    token: Annotated[str | None, HeaderParameter(name=TOKEN_HEADER)] = None,
    known: Annotated[str | None, HeaderParameter(name="if-none-match")] = None,
) -> Response[bytes]:
    """The open phase's plan, or where the campaign has tokens, the plan of the token's phase if it is not spent."""
    survey = await collector.survey(campaign)
    if survey.campaign.state is State.CLOSED:
        raise ProblemError(HTTPStatus.CONFLICT, "campaign-closed", "This campaign takes no more answers.")
    published = await _plan_for(collector, survey, token) if survey.options.tokens else survey.plans[-1]
    return _document(published.dump, published.digest, known)


async def _plan_for(collector: Collector, survey: Survey, token: str | None) -> Plan:
    """The plan of a token's phase, for a token that can still pay for a report. Asking leaves no trace."""
    work = partial(is_spent, survey=survey, token=hashed(token or ""))
    spent = await collector.store.read(work)
    if spent is None:
        raise ProblemError(HTTPStatus.FORBIDDEN, "token-missing", "This campaign is for people with a token.")
    if spent:
        raise ProblemError(HTTPStatus.CONFLICT, "token-spent", "This token was used: it counts no other report.")
    published = plan_of(survey, token or "")
    if published is None:
        raise ProblemError(HTTPStatus.CONFLICT, "turn-comes-later", "Your turn comes later: keep your token.")
    return published


@get(
    "/v1/campaigns/{campaign:str}/plans",
    responses=documents("All plans, the first one first.") | {304: NOT_CHANGED} | refusals(404),
    summary="Every plan that was ever published",
)
async def plans(
    campaign: FromPath[str],
    collector: TheCollector,
    known: Annotated[str | None, HeaderParameter(name="if-none-match")] = None,
) -> Response[bytes]:
    """All plans of the campaign, the first one first, so that anybody can compare."""
    every_plan = (await collector.survey(campaign)).plans

    def listed() -> bytes:
        return b"[" + b",".join(own.dump().rstrip() for own in every_plan) + b"]"

    return _document(listed, every_plan[-1].digest, known)


def _document(content: Callable[[], bytes], digest: str, known: str | None = None) -> Response[bytes]:
    """A JSON document with its digest as entity tag, or the word that it is known."""
    headers = {**_TO_READ, "ETag": f'"{digest}"'}
    if known is not None and digest in known:
        return Response(b"", status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(content(), status_code=HTTPStatus.OK, media_type="application/json", headers=headers)


async def _body(request: Request[Any, Any, Any], kind: type[Any]) -> Any:
    """A strict JSON body: no unknown or repeated field, and nothing that only looks like a number."""
    _, content = await read_body(request, ONE)
    document = wire.decode_object(content, RequestError, "the request")

    def read() -> Any:
        msgspec.json.encode(document)  # fails if a text holds half a character, which no answer could quote
        return msgspec.convert(document, kind, strict=True)

    return wire.refusing(read, kind, RequestError, "the request")
