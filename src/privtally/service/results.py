"""What comes of a campaign: numbers of reports, estimates, and exports."""

from http import HTTPStatus
from typing import Any

from litestar import Request, Response, get
from litestar.params import FromPath, FromQuery
from litestar.response import Stream

from privtally.documents.estimate import Estimate
from privtally.names import Method
from privtally.service import exports, operations
from privtally.service.admin import check_admin, is_from_admin, require_admin
from privtally.service.collector import TheCollector
from privtally.service.describing import ADMIN, EVERYBODY_OR_ADMIN, GivesExport, document, refusals
from privtally.service.problems import ProblemError
from privtally.service.views import PhaseView, view


@get(
    "/v1/campaigns/{campaign:str}/estimates",
    security=EVERYBODY_OR_ADMIN,
    responses=document("An estimate.") | refusals(401, 404, 409),
    summary="How frequent every answer is",
)
async def estimates(
    campaign: FromPath[str],
    request: Request[Any, Any, Any],
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
    survey = await collector.survey(campaign)
    if not survey.options.published:
        await check_admin(request, collector)
    known = collector.estimates
    get_estimate = known.current if await is_from_admin(request, collector) else known.recent
    finished = await get_estimate(survey, method, by_round=by_round)
    if finished is None:
        said = "the campaign's first estimate is being computed; try again in a moment"
        raise ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, "computing", said)
    content = await finished.form("json", Estimate.dump)
    return Response(content, media_type="application/json", headers={"Cache-Control": "no-cache"})


@get(
    "/v1/campaigns/{campaign:str}/counters",
    guards=[require_admin],
    security=ADMIN,
    responses=refusals(401, 404),
    summary="How many reports there are",
)
async def counters(campaign: FromPath[str], collector: TheCollector) -> list[PhaseView]:
    """The number of reports of every phase."""
    survey = await operations.find(collector.store, campaign)
    return (await view(collector.store, survey)).phases


@get(
    "/v1/campaigns/{campaign:str}/export",
    guards=[require_admin],
    security=ADMIN,
    operation_class=GivesExport,
    responses=refusals(401, 404, 409),
    summary="Take everything away",
)
async def export(
    campaign: FromPath[str],
    collector: TheCollector,
    format: FromQuery[exports.Format] = "json",  # noqa: A002  # the name of the parameter
    method: FromQuery[Method] = "likelihood",
    *,
    ids: FromQuery[bool] = False,
) -> Stream:
    """Estimates (csv), estimates, counts and plans (json), or private reports (ndjson, parquet)."""
    survey = await operations.find(collector.store, campaign)
    if format == "csv":
        await collector.estimates.current(survey, method)  # a refusal comes before the first byte
    content = exports.export(collector, survey, format, method, ids=ids)
    return Stream(content, media_type=exports.MEDIA_TYPES[format])
