"""The routes below /v1/campaigns: campaigns and their plans, what comes of them, and the intake of reports."""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from litestar import Response, Router, delete, get, post
from litestar.connection import ASGIConnection
from litestar.params import FromPath, FromQuery, HeaderParameter
from litestar.response import Stream

from privtally.documents.campaign import State
from privtally.documents.estimate import Estimate
from privtally.documents.plan import Plan
from privtally.documents.report import Receipt, Refused, Report, check_report, load_report
from privtally.errors import ReportError, RequestError
from privtally.exact import canonical
from privtally.names import Method
from privtally.service import collector as exports
from privtally.service import operations
from privtally.service.collector import Collector, TheCollector, given
from privtally.service.openapi import (
    ADMIN,
    EVERYBODY_OR_ADMIN,
    MANY,
    NOT_CHANGED,
    ONE,
    TOKEN_HEADER,
    GivesExport,
    LastPlan,
    TakesReports,
    document,
    refusals,
    takes,
)
from privtally.service.operations import CampaignView, NewCampaign, PhaseView, hashed, is_admin, is_early, plan_of, view
from privtally.service.problems import AnyRequest, ProblemError, read_body
from privtally.store.campaigns import StoredCampaign, is_spent, numbered, pack
from privtally.store.intake import Arrival, Outcome
from privtally.store.session import StoredReport


async def require_admin(connection: ASGIConnection[Any, Any, Any, Any], _: Any = None) -> None:
    """Let only requests with the administrator's bearer token pass."""
    if not await is_from_admin(connection):
        raise ProblemError(
            HTTPStatus.UNAUTHORIZED,
            "not-admin",
            "This needs the administrator's token, which the service showed when it first started.",
            {"WWW-Authenticate": "Bearer"},
        )


async def is_from_admin(connection: ASGIConnection[Any, Any, Any, Any]) -> bool:
    """Whether a request has the administrator's bearer token."""
    collector: Collector = connection.app.state.collector
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and await is_admin(collector.store, token.strip())


_TO_READ = {"Cache-Control": "no-cache"}
_FOR_ADMIN: Any = {"guards": [require_admin], "security": ADMIN}


@post(operation_class=takes(NewCampaign), responses=refusals(401, 413, 415), summary="Start a campaign", **_FOR_ADMIN)
async def create(request: AnyRequest, collector: TheCollector) -> CampaignView:
    """Start a campaign with a first plan of its own; it is open from now on."""
    new = await _body(request, NewCampaign)
    return await view(collector.store, await operations.create(collector.store, new, collector.advise))


@get(responses=refusals(401), summary="List all campaigns", **_FOR_ADMIN)
async def list_all(collector: TheCollector) -> list[CampaignView]:
    """All campaigns, the newest first."""
    return await operations.view_all(collector.store)


@get("/{campaign_id:str}", responses=refusals(401, 404), summary="Show a campaign", **_FOR_ADMIN)
async def show(campaign_id: FromPath[str], collector: TheCollector) -> CampaignView:
    """A campaign with its phases."""
    return await view(collector.store, await collector.campaign(campaign_id))


@post(
    "/{campaign_id:str}/advance",
    operation_class=takes(LastPlan),
    responses=document("The plan that follows.") | refusals(401, 404, 409, 413, 415),
    status_code=HTTPStatus.OK,
    summary="Learn, and open the next phase",
    **_FOR_ADMIN,
)
async def advance(campaign_id: FromPath[str], request: AnyRequest, collector: TheCollector) -> Response[bytes]:
    """End the phase of the plan that the body names, learn, and open the next; gives the plan that follows."""
    body = await _body(request, LastPlan)
    plan = await operations.advance(collector.store, campaign_id, body.plan)
    return _document(plan.dump, plan.digest)


@post(
    "/{campaign_id:str}/refresh",
    operation_class=takes(LastPlan),
    responses=document("The first plan of the next round.") | refusals(401, 404, 409, 413, 415),
    status_code=HTTPStatus.OK,
    summary="Open another round",
    **_FOR_ADMIN,
)
async def refresh(campaign_id: FromPath[str], request: AnyRequest, collector: TheCollector) -> Response[bytes]:
    """End the phase of the plan that the body names and ask anew, as the first plan did; opens a closed campaign."""
    body = await _body(request, LastPlan)
    plan = await operations.refresh(collector.store, campaign_id, body.plan)
    return _document(plan.dump, plan.digest)


@post(
    "/{campaign_id:str}/close",
    responses=refusals(401, 404),
    status_code=HTTPStatus.OK,
    summary="Take no more reports",
    **_FOR_ADMIN,
)
async def close(campaign_id: FromPath[str], collector: TheCollector) -> CampaignView:
    """Take no more reports. Closing again changes nothing."""
    return await view(collector.store, await operations.close(collector.store, campaign_id))


@delete("/{campaign_id:str}", responses=refusals(401, 404, 409), summary="Delete a closed campaign", **_FOR_ADMIN)
async def remove(campaign_id: FromPath[str], title: FromQuery[str], collector: TheCollector) -> None:
    """Delete a closed campaign with all its reports; its title confirms it."""
    await operations.delete(collector.store, campaign_id, title)
    collector.forget(campaign_id)


@delete(
    "/{campaign_id:str}/reports",
    responses=refusals(401, 404, 409),
    summary="Delete the reports, keep the totals",
    **_FOR_ADMIN,
)
async def remove_reports(campaign_id: FromPath[str], title: FromQuery[str], collector: TheCollector) -> None:
    """Delete all reports of a closed campaign; its title confirms it. Counts and estimates stay, backups too."""
    await operations.delete_reports(collector.store, campaign_id, title)


@get(
    "/{campaign_id:str}/plan",
    responses=document("A plan.") | {304: NOT_CHANGED} | refusals(403, 404, 409),
    summary="The plan to answer",
)
async def plan(
    campaign_id: FromPath[str],
    collector: TheCollector,
    token: Annotated[str | None, HeaderParameter(name=TOKEN_HEADER)] = None,
    known: Annotated[str | None, HeaderParameter(name="if-none-match")] = None,
) -> Response[bytes]:
    """The open phase's plan, or where the campaign has tokens, the plan of the token's phase if it is not spent."""
    campaign = await collector.campaign(campaign_id)
    if campaign.state is State.CLOSED:
        raise ProblemError(HTTPStatus.CONFLICT, "campaign-closed", "This campaign takes no more answers.")
    published = await _plan_for(collector, campaign, token or "") if campaign.options.tokens else campaign.plans[-1]
    return _document(published.dump, published.digest, known)


async def _plan_for(collector: Collector, campaign: StoredCampaign, token: str) -> Plan:
    """The plan of a token's phase, for a token that can still pay for a report. Asking leaves no trace."""
    spent = await collector.store.read(partial(is_spent, campaign=campaign, token=hashed(token)))
    if spent is None:
        raise ProblemError(HTTPStatus.FORBIDDEN, "token-missing", "This campaign is for people with a token.")
    if spent:
        raise ProblemError(HTTPStatus.CONFLICT, "token-spent", "This token was used: it counts no other report.")
    published = plan_of(campaign, token)
    if published is None:
        raise ProblemError(HTTPStatus.CONFLICT, "turn-comes-later", "Your turn comes later: keep your token.")
    return published


@get(
    "/{campaign_id:str}/plans",
    responses=document("All plans, the first one first.", list[dict[str, Any]]) | {304: NOT_CHANGED} | refusals(404),
    summary="Every plan that was ever published",
)
async def plans(
    campaign_id: FromPath[str],
    collector: TheCollector,
    known: Annotated[str | None, HeaderParameter(name="if-none-match")] = None,
) -> Response[bytes]:
    """All plans of the campaign, the first one first, so that anybody can compare."""
    every_plan = (await collector.campaign(campaign_id)).plans

    def listed() -> bytes:
        return b"[" + b",".join(published.dump().rstrip() for published in every_plan) + b"]"

    return _document(listed, every_plan[-1].digest, known)


def _document(content: Callable[[], bytes], digest: str, known: str | None = None) -> Response[bytes]:
    """A JSON document with its digest as entity tag, or the word that it is known."""
    headers = {**_TO_READ, "ETag": f'"{digest}"'}
    if known is not None and digest in known:
        return Response(b"", status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(content(), status_code=HTTPStatus.OK, media_type="application/json", headers=headers)


async def _body(request: AnyRequest, kind: type[Any]) -> Any:
    """A strict JSON body: no unknown or repeated field, and nothing that only looks like a number."""
    _, content = await read_body(request, ONE)
    document = canonical.decode_object(content, RequestError, "the request")

    def read() -> Any:
        msgspec.json.encode(document)  # fails if a text holds half a character, which no answer could quote
        return msgspec.convert(document, kind, strict=True)

    return canonical.refusing(read, kind, RequestError, "the request")


@get(
    "/{campaign_id:str}/estimates",
    security=EVERYBODY_OR_ADMIN,
    responses=document("An estimate.") | refusals(401, 404, 409),
    summary="How frequent every answer is",
)
async def estimates(
    campaign_id: FromPath[str],
    request: AnyRequest,
    collector: TheCollector,
    method: FromQuery[Method] = "likelihood",
    *,
    by_round: FromQuery[bool] = False,
) -> Response[bytes]:
    """Frequencies with their intervals from all reports so far; open to everybody if the campaign publishes them.

    With several rounds they are those of the last one that somebody has answered; `by_round` adds every round's. The
    administrator's are from all reports, everybody else's were finished last: they are computed every few seconds.
    Before the first one is finished, everybody else is asked to try again.
    """
    campaign = await collector.campaign(campaign_id)
    if not campaign.options.published:
        await require_admin(request)
    if await is_from_admin(request):
        estimate: Estimate | None = await collector.estimates.current(campaign, method, by_round=by_round)
    else:
        estimate = given(await collector.estimates.recent(campaign, method, by_round=by_round))
    if estimate is None:
        detail = "the campaign's first estimate is being computed; try again in a moment"
        raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, "computing", detail)
    return Response(await asyncio.to_thread(estimate.dump), media_type="application/json", headers=_TO_READ)


@get("/{campaign_id:str}/counters", responses=refusals(401, 404), summary="How many reports there are", **_FOR_ADMIN)
async def counters(campaign_id: FromPath[str], collector: TheCollector) -> list[PhaseView]:
    """The number of reports of every phase."""
    return (await view(collector.store, await collector.campaign(campaign_id))).phases


@get(
    "/{campaign_id:str}/export",
    operation_class=GivesExport,
    responses=refusals(401, 404, 409),
    summary="Take everything away",
    **_FOR_ADMIN,
)
async def export(
    campaign_id: FromPath[str],
    collector: TheCollector,
    format: FromQuery[exports.Format] = "json",  # noqa: A002  # the name of the parameter
    method: FromQuery[Method] = "likelihood",
    *,
    ids: FromQuery[bool] = False,
) -> Stream:
    """Estimates (csv), estimates, counts and plans (json), or private reports (ndjson, parquet)."""
    content = await exports.export(collector, await collector.campaign(campaign_id), format, method, ids=ids)
    return Stream(content, media_type=exports.MEDIA_TYPES[format])


MOST_REPORTS = 1_000
LONGEST, LONGEST_CODE = 1_024, 16
"""How many bytes a report has at most, white space included, and how many more for each code: more are not read."""


@post(
    "/{campaign_id:str}/reports",
    operation_class=TakesReports,
    responses=refusals(404, 413, 415),
    status_code=HTTPStatus.OK,
    summary="Send one report or many",
)
async def receive(campaign_id: FromPath[str], request: AnyRequest, collector: TheCollector) -> Receipt:
    """Store a report (JSON), or up to 1,000 (NDJSON). The answer comes once they are on disk."""
    lines = await _lines(request)
    campaign = await collector.campaign_with(campaign_id)
    longest = LONGEST + LONGEST_CODE * len(campaign.plans[0].schema.attributes)
    loaded = [_loaded(line) if len(line) <= longest else None for line in lines]
    campaign = await collector.campaign_with(campaign_id, {report.plan for report in loaded if report is not None})
    plans = {plan.digest: (number, plan) for number, plan in numbered(campaign)}
    token = request.headers.get(TOKEN_HEADER) if len(lines) == 1 else None
    outcomes: list[Outcome] = ["invalid_report"] * len(lines)
    arrivals: dict[int, Arrival] = {}
    for place, report in enumerate(loaded):
        if report is None:
            continue
        if report.plan not in plans:
            outcomes[place] = "wrong_plan"
            continue
        number, plan = plans[report.plan]
        with suppress(ReportError):
            stored = StoredReport(number, bytes.fromhex(report.id), pack(plan, check_report(plan, report)))
            arrivals[place] = _with_token(campaign, plan, stored, token)
    for place, outcome in zip(arrivals, await collector.intake.accept(list(arrivals.values())), strict=True):
        outcomes[place] = outcome
    times = Counter(outcomes)
    for outcome, number in times.items():
        collector.reports.labels(outcome).inc(number)
    refused = [Refused(place, kind) for place, kind in enumerate(outcomes) if kind != "accepted" and kind != "repeated"]
    return Receipt(times["accepted"], times["repeated"], refused)


def _with_token(campaign: StoredCampaign, plan: Plan, report: StoredReport, token: str | None) -> Arrival:
    """A report with its token's hash; a token of another phase pays for nothing."""
    if not campaign.options.tokens or token is None:
        return Arrival(campaign.number, report)
    fits = is_early(campaign, token) == (plan.learned is None)
    return Arrival(campaign.number, report, hashed(token), None if fits else "wrong_plan")


async def _lines(request: AnyRequest) -> list[bytes]:
    """The reports of a request, each as its bytes."""
    kind, body = await read_body(request, ONE, MANY)
    if kind == ONE:
        return [body]
    lines = body.split(b"\n", MOST_REPORTS)
    if len(lines) > MOST_REPORTS and lines.pop().strip():
        detail = f"Send at most {MOST_REPORTS:,} lines at a time, a report in each."
        raise ProblemError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too-many-reports", detail)
    return [line for line in lines if line.strip()]


def _loaded(line: bytes) -> Report | None:
    try:
        return load_report(line)
    except ReportError:
        return None


CAMPAIGNS = Router(
    "/v1/campaigns",
    route_handlers=[
        *(create, list_all, show, remove, remove_reports, advance, refresh, close),
        *(plan, plans, receive, estimates, counters, export),
    ],
)
