"""POST …/reports: bytes -> reports that fit a plan -> the intake."""

from collections import Counter
from http import HTTPStatus
from typing import Any

import msgspec
from litestar import Request, post
from litestar.params import FromPath

from privtally.documents.plan import Plan
from privtally.documents.report import Report, check_report, load_report
from privtally.errors import ReportError
from privtally.service.bodies import read_body
from privtally.service.collector import TheCollector
from privtally.service.describing import MANY, ONE, TOKEN_HEADER, TakesReports, refusals
from privtally.service.problems import ProblemError
from privtally.service.tokens import hashed, is_early
from privtally.store.accept import Arrival, Outcome, Refusal
from privtally.store.packing import pack
from privtally.store.session import StoredReport
from privtally.store.surveys import Survey

MOST_REPORTS = 1_000
LONGEST, LONGEST_CODE = 1_024, 16
"""How many bytes a report has at most, white space included, and how many more for each code: more are not read."""


class Refused(msgspec.Struct, frozen=True):
    """A report that was not stored: its place in the request, from 0, and why."""

    index: int
    reason: Refusal


class Receipt(msgspec.Struct, frozen=True):
    """What became of the reports of a request. Those accepted and repeated are on disk."""

    accepted: int
    repeated: int
    refused: list[Refused]


@post(
    "/v1/campaigns/{campaign:str}/reports",
    operation_class=TakesReports,
    responses=refusals(404, 413, 415),
    status_code=HTTPStatus.OK,
    summary="Send one report or many",
)
async def receive(campaign: FromPath[str], request: Request[Any, Any, Any], collector: TheCollector) -> Receipt:
    """Store a report (JSON), or up to 1,000 (NDJSON). The answer comes once they are on disk."""
    lines = await _lines(request)
    survey, _ = await collector.survey_with(campaign, set())
    longest = LONGEST + LONGEST_CODE * len(survey.plans[0].schema.attributes)
    loaded = [_loaded(line) if len(line) <= longest else None for line in lines]
    survey, plans = await collector.survey_with(campaign, {report.plan for report in loaded if report is not None})
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
        try:
            codes = pack(plan, check_report(plan, report))
        except ReportError:
            continue
        stored = StoredReport(number, bytes.fromhex(report.id), codes)
        arrivals[place] = _with_token(survey, plan, stored, token)
    for place, outcome in zip(arrivals, await collector.intake.accept(list(arrivals.values())), strict=True):
        outcomes[place] = outcome
    for kind, times in Counter(outcomes).items():
        collector.reports.labels(kind).inc(times)
    return Receipt(
        accepted=outcomes.count("accepted"),
        repeated=outcomes.count("repeated"),
        refused=[
            Refused(place, outcome)
            for place, outcome in enumerate(outcomes)
            if outcome != "accepted" and outcome != "repeated"
        ],
    )


def _with_token(survey: Survey, plan: Plan, report: StoredReport, token: str | None) -> Arrival:
    """A report with its token's hash; a token of another phase pays for nothing."""
    if not survey.options.tokens or token is None:
        return Arrival(survey.number, report)
    fits = is_early(survey, token) == (plan.learned is None)
    return Arrival(survey.number, report, hashed(token), None if fits else "wrong_plan")


async def _lines(request: Request[Any, Any, Any]) -> list[bytes]:
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
