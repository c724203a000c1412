"""Files of a survey to take away."""

import asyncio

import msgspec
from litestar import Response, get
from litestar.exceptions import NotFoundException
from litestar.params import FromPath
from litestar.response import Stream

from privtally.privacy.certificate import certify
from privtally.service import exports
from privtally.service.collector import TheCollector
from privtally.service.pages.rendering import as_file
from privtally.service.pages.sessions import require_session


@get("/c/{campaign:str}/export/{name:str}", guards=[require_session])
async def export(campaign: FromPath[str], name: FromPath[str], collector: TheCollector) -> Stream:
    """Estimates (csv), everything but the reports (json), or private reports without ids (ndjson, parquet)."""
    kind = next((own for own in exports.FORMATS if own == name), None)
    if kind is None:
        raise NotFoundException
    survey = await collector.survey(campaign)
    if kind == "csv":
        await collector.estimates.current(survey, "likelihood")  # a refusal comes before the first byte
    content = exports.export(collector, survey, kind, "likelihood", ids=False)
    return Stream(content, media_type=exports.MEDIA_TYPES[kind], headers=as_file(f"{survey.id[:12]}.{kind}"))


@get("/c/{campaign:str}/certificates", guards=[require_session])
async def certificates(campaign: FromPath[str], collector: TheCollector) -> Response[bytes]:
    """What a report to each plan gives away, in a form that others can check."""
    survey = await collector.survey(campaign)
    found = [await asyncio.to_thread(certify, plan) for plan in survey.plans]
    content = msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n"
    headers = as_file(f"{survey.id[:12]}-certificates.json")
    return Response(content, media_type="application/json", headers=headers)
