"""Steps that cannot be undone: each is a page that says what will happen, and a button."""

import asyncio
from functools import partial
from typing import Any

from litestar import Response, get, post
from litestar.params import FromPath

from privtally.errors import LearningError
from privtally.service import operations
from privtally.service.bodies import read_form
from privtally.service.collector import TheCollector
from privtally.service.later import learned, to_learn_from
from privtally.service.pages.dashboard import standing
from privtally.service.pages.learned import likenesses
from privtally.service.pages.promise import promise_of
from privtally.service.pages.refusals import PageRefusalError
from privtally.service.pages.rendering import page, to, words_of
from privtally.service.pages.sessions import require_session
from privtally.service.pages.setup import AnyRequest
from privtally.service.pages.survey import times_true
from privtally.store.surveys import has_its_reports


@get("/c/{campaign:str}/advance", guards=[require_session])
async def advance_page(campaign: FromPath[str], request: AnyRequest, collector: TheCollector) -> Response[str]:
    """What the next phase would be, if it were opened now."""
    survey = await collector.survey(campaign)
    if survey.campaign.open_plan is None:
        raise PageRefusalError("refused.closed")
    phases = to_learn_from(await operations.history(collector.store, survey))
    values: dict[str, Any] = {"survey": survey, "now": await standing(collector, survey), "fault": None}
    if not phases[-1][1].reports:
        return page(request, "advance.html", **{**values, "fault": PageRefusalError("advance.nobody")})
    try:
        plan = await asyncio.to_thread(learned, survey, phases)
    except LearningError as refusal:
        return page(request, "advance.html", **{**values, "fault": refusal})
    words = words_of(request)
    promises = [await asyncio.to_thread(promise_of, [own]) for own in (survey.plans[-1], plan)]
    before, after = (times_true(own, words) for own in promises)
    return page(request, "advance.html", **values, likenesses=likenesses(plan), before=before, after=after)


@post("/c/{campaign:str}/advance", guards=[require_session])
async def advance(campaign: FromPath[str], request: AnyRequest, collector: TheCollector) -> Response[Any]:
    """Open the next phase after the plan that the form names; sent again, nothing changes."""
    digest = (await read_form(request)).get("plan", "")
    await operations.advance(collector.store, campaign, digest)
    return to(f"/c/{campaign}")


@get("/c/{campaign:str}/refresh", guards=[require_session])
async def refresh_page(campaign: FromPath[str], request: AnyRequest, collector: TheCollector) -> Response[str]:
    """What another round means for those who have answered and for those who have not."""
    survey = await collector.survey(campaign)
    now, fault = await standing(collector, survey), None
    if not now.people:
        fault = PageRefusalError("refresh.nobody")
    elif not await collector.store.read(partial(has_its_reports, survey=survey)):
        fault = PageRefusalError("refresh.deleted")
    return page(request, "refresh.html", survey=survey, now=now, fault=fault)


@post("/c/{campaign:str}/refresh", guards=[require_session])
async def refresh(campaign: FromPath[str], request: AnyRequest, collector: TheCollector) -> Response[Any]:
    """Open another round after the plan that the form names; sent again, nothing changes."""
    digest = (await read_form(request)).get("plan", "")
    await operations.refresh(collector.store, campaign, digest)
    return to(f"/c/{campaign}")


@get("/c/{campaign:str}/close", guards=[require_session])
async def close_page(campaign: FromPath[str], request: AnyRequest, collector: TheCollector) -> Response[str]:
    """What closing means."""
    survey = await collector.survey(campaign)
    return page(request, "close.html", survey=survey, now=await standing(collector, survey))


@post("/c/{campaign:str}/close", guards=[require_session])
async def close(campaign: FromPath[str], collector: TheCollector) -> Response[Any]:
    """Take no more answers."""
    await operations.close(collector.store, campaign)
    return to(f"/c/{campaign}")


@get("/c/{campaign:str}/forget", guards=[require_session])
async def forget_page(campaign: FromPath[str], request: AnyRequest, collector: TheCollector) -> Response[str]:
    """What deleting the reports means."""
    return page(request, "confirm.html", survey=await collector.survey(campaign), step="forget")


@post("/c/{campaign:str}/forget", guards=[require_session])
async def forget(campaign: FromPath[str], request: AnyRequest, collector: TheCollector) -> Response[Any]:
    """Delete the reports of a closed survey and keep its totals; its title confirms it."""
    await operations.delete_reports(collector.store, campaign, await _title(request))
    return to(f"/c/{campaign}")


@get("/c/{campaign:str}/delete", guards=[require_session])
async def delete_page(campaign: FromPath[str], request: AnyRequest, collector: TheCollector) -> Response[str]:
    """What deleting everything means."""
    return page(request, "confirm.html", survey=await collector.survey(campaign), step="delete")


@post("/c/{campaign:str}/delete", guards=[require_session])
async def delete(campaign: FromPath[str], request: AnyRequest, collector: TheCollector) -> Response[Any]:
    """Delete a closed survey; its title confirms it."""
    await operations.delete(collector.store, campaign, await _title(request))
    collector.forget(campaign)
    return to("/")


async def _title(request: AnyRequest) -> str:
    return (await read_form(request)).get("title", "")
