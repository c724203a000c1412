"""/ and /c/{id}: the surveys, one survey by its state, its invitations and files, and the steps that it can take."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from itertools import permutations
from typing import Any

import msgspec
import numpy as np
import segno
from litestar import Response, get, post
from litestar.exceptions import NotFoundException
from litestar.params import FromPath, FromQuery
from litestar.response import Stream
from markupsafe import Markup

from privtally.collector.learn import learn_with
from privtally.collector.pairs import PairEstimate, PairEstimates, estimate_pairs
from privtally.documents.campaign import State
from privtally.documents.estimate import NORMAL_95, Estimate
from privtally.documents.plan import Plan
from privtally.errors import EstimateError, LearningError
from privtally.mechanisms.mechanism import Part
from privtally.privacy.loss import certify
from privtally.service import collector as exports
from privtally.service import operations
from privtally.service.collector import Collector, TheCollector
from privtally.service.operations import issue, to_learn_from
from privtally.service.pages.charts import Found, names_of_answers, panels_of
from privtally.service.pages.login import require_session
from privtally.service.pages.rendering import PageRefusalError, TheSetup, Words, as_file, page, to, words_of
from privtally.service.pages.survey import promise_of, times_true
from privtally.service.problems import AnyRequest, read_form
from privtally.store.campaigns import StoredCampaign, count_tokens, every, has_its_reports

MOST_LABELS = 64
"""Questions with more answers are not compared."""
NOTICED = 0.1
MOST_LEARNED_PAIRS = 3
"""How many pairs of questions a page names."""


@dataclass(frozen=True)
class Likeness:
    """How much a filled question follows each other one: 0 not at all, 1 completely; follows[chosen][filled]."""

    names: Sequence[str]
    follows: Sequence[Sequence[float]]

    def strongest(self) -> list[tuple[str, str]]:
        """The pairs of questions that go together most, those that hardly do left out."""
        pairs = [
            (max(self.follows[one][two], self.follows[two][one]), self.names[one], self.names[two])
            for one in range(len(self.names))
            for two in range(one)
        ]
        noticed = sorted((pair for pair in pairs if pair[0] >= NOTICED), reverse=True)
        return [(two, one) for _, one, two in noticed[:MOST_LEARNED_PAIRS]]


def likenesses(plan: Plan) -> list[Likeness]:
    """One for each part of a plan that fills questions from one chosen question."""
    comparable = (part for part in plan.mechanism.parts if part.fill is not None and part.fill.conditional)
    return [_likeness(plan, part) for part in comparable if part.pivots == 1 and max(part.answers) <= MOST_LABELS]


def _likeness(plan: Plan, part: Part) -> Likeness:
    count = len(part.attributes)
    follows = np.eye(count)
    for pivot, other in permutations(range(count), 2):
        laws = part.filling((pivot,), other).push(np.eye(part.answers[pivot]))
        # The largest total variation between the laws of the filled answer under two chosen answers.
        follows[pivot, other] = np.abs(laws[:, None] - laws[None]).sum(axis=-1).max() / 2
    return Likeness([plan.schema.names[attribute] for attribute in part.attributes], follows.tolist())


MOST_PAIRS, MOST_PAIR_LABELS = 10, 12
"""So many two-way tables are shown, of questions with so many answers at most."""
NEARLY = 0.9
"""The share of the people that a survey waits for from which another round is offered as the next thing to do."""


@dataclass(frozen=True)
class Standing:
    """Where a survey stands: `state` is one of "first", "later", "only" and "closed"."""

    campaign: StoredCampaign
    totals: tuple[int, ...]
    hoped: int | None
    """How many people the survey waits for, if that is known: in its first phase those to learn from, then all."""

    @property
    def learns(self) -> bool:
        return self.campaign.plans[0].learns

    @property
    def state(self) -> str:
        if self.campaign.state is State.CLOSED:
            return "closed"
        if not self.learns:
            return "only"
        return "first" if self.campaign.plans[-1].learned is None else "later"

    @property
    def round(self) -> int:
        return self.campaign.plans[-1].round

    @property
    def rounds(self) -> dict[int, list[int]]:
        """How many people have answered each phase of each round."""
        totals: dict[int, list[int]] = {}
        for plan, total in zip(self.campaign.plans, self.totals, strict=True):
            totals.setdefault(plan.round, []).append(total)
        return totals

    @property
    def phases(self) -> list[int]:
        """How many people have answered each phase of the last round."""
        return self.rounds[self.round]

    @property
    def people(self) -> int:
        """How many people have answered in the last round."""
        return sum(self.phases)

    @property
    def arrived(self) -> int:
        """How many people have answered of those the survey waits for."""
        return self.totals[-1] if self.state == "first" else self.people

    @property
    def missing(self) -> int:
        """How many more people the survey waits for."""
        return max((self.hoped or 0) - self.arrived, 0)

    @property
    def full(self) -> bool:
        """Whether the survey is closed or has nearly reached the people that it waits for, as far as they are known."""
        return self.state == "closed" or (self.hoped is not None and self.arrived >= NEARLY * self.hoped)

    @property
    def may_refresh(self) -> bool:
        """Whether another round can be opened without leaving a phase out that would learn."""
        return self.people > 0 and self.state != "first"


async def standing(collector: Collector, campaign: StoredCampaign) -> Standing:
    """Where a survey stands now."""
    people, share = campaign.options.people, campaign.options.share
    hoped = people  # in the later phases, where the mechanism learns
    if people is not None and campaign.plans[0].learns:
        hoped = round(people * (share if campaign.plans[-1].learned is None else 1) / (1 - share))
    return Standing(campaign, tuple(await operations.totals(collector.store, campaign)), hoped)


@get("/", guards=[require_session])
async def list_page(request: AnyRequest, collector: TheCollector) -> Response[str]:
    """All surveys, the newest first."""
    campaigns = await collector.store.read(every)
    return page(request, "list.html", standings=[await standing(collector, campaign) for campaign in campaigns])


@get("/c/{campaign_id:str}", guards=[require_session])
async def campaign_page(
    campaign_id: FromPath[str], request: AnyRequest, collector: TheCollector, setup: TheSetup
) -> Response[str]:
    """One survey."""
    campaign = await collector.campaign(campaign_id)
    link = f"{setup.base(request)}/s/{campaign.id}"
    values = await _values(collector, campaign, words_of(request))
    return page(request, "campaign.html", **values, link=link, code=_code(link))


@get("/c/{campaign_id:str}/live", guards=[require_session])
async def live_part(
    campaign_id: FromPath[str], request: AnyRequest, collector: TheCollector, seen: FromQuery[str]
) -> Response[Any]:
    """The numbers of a survey, if they have changed since they were seen."""
    values = await _values(collector, await collector.campaign(campaign_id), words_of(request))
    if values["seen"] == seen:
        return Response(None, status_code=HTTPStatus.NO_CONTENT)
    return page(request, "live.html", **values)


@get("/c/{campaign_id:str}/together", guards=[require_session])
async def together_page(campaign_id: FromPath[str], request: AnyRequest, collector: TheCollector) -> Response[str]:
    """Two-way tables, where the reports carry them."""
    campaign = await collector.campaign(campaign_id)
    phases = [phase for phase in await operations.history(collector.store, campaign) if phase[1].reports]
    try:
        pairs = await asyncio.to_thread(estimate_pairs, phases)
    except EstimateError:
        pairs = PairEstimates((), ())
    tables = [table for table in pairs.tables if max(map(len, table.labels)) <= MOST_PAIR_LABELS][:MOST_PAIRS]
    return page(
        request,
        "together.html",
        campaign=campaign,
        tables=tables,
        left_out=len(pairs.tables) - len(tables),
        named=names_of_answers(campaign.plans[0].schema, words_of(request)),
        too_few=_says_nothing,
        points_95=100 * NORMAL_95,
    )


def _says_nothing(table: PairEstimate) -> bool:
    """Whether some interval of a table is wider than everything that a share can be."""
    return max(map(max, table.standard_errors)) * NORMAL_95 >= 1


async def _values(collector: Collector, campaign: StoredCampaign, words: Words) -> dict[str, Any]:
    now = await standing(collector, campaign)
    estimate = await collector.estimates.recent(campaign, by_round=now.round > 1, pause=False)
    found = await asyncio.to_thread(panels_of, estimate) if isinstance(estimate, Estimate) else estimate
    seen = found.reports if isinstance(found, Found) else int(found is not None and any(now.totals))
    return {
        "campaign": campaign,
        "named": names_of_answers(campaign.plans[0].schema, words),
        "now": now,
        "found": found,
        "likenesses": likenesses(campaign.plans[-1]),
        # What changes whenever the page does.
        "seen": "-".join(map(str, (now.state, *now.totals, seen))),
    }


def _code(link: str) -> Markup:
    """A QR code as SVG."""
    return Markup(segno.make(link, error="m").svg_inline(border=0, svgclass="qr", lineclass=None, omitsize=True))  # noqa: S704  # made of squares


MOST_AT_ONCE = 10_000
"""More links than this are made on the command line."""


@get("/c/{campaign_id:str}/invitations", guards=[require_session])
async def invitations_page(campaign_id: FromPath[str], request: AnyRequest, collector: TheCollector) -> Response[str]:
    """How many links there are, and a form for more."""
    campaign = await _invited(collector, campaign_id)
    return page(request, "invitations.html", **await _invitation_values(collector, campaign), links=[])


@post("/c/{campaign_id:str}/invitations", guards=[require_session], status_code=HTTPStatus.OK)
async def invite(
    campaign_id: FromPath[str], request: AnyRequest, collector: TheCollector, setup: TheSetup
) -> Response[Any]:
    """New links, on a page or as a file; they are shown once, and kept nowhere."""
    campaign, form = await _invited(collector, campaign_id), await read_form(request)
    stated = form.get("number", "")
    number = int(stated) if stated.isdecimal() and len(stated) <= len(str(MOST_AT_ONCE)) else 0
    if not 1 <= number <= MOST_AT_ONCE:
        raise PageRefusalError("invite.refused", most=MOST_AT_ONCE)
    address = f"{setup.base(request)}/s/{campaign.id}"
    links = [f"{address}#{token}" for token in await issue(collector.store, campaign.id, number)]
    if form.get("do") == "file":
        text = "".join(f"{link}\n" for link in links)
        return Response(text, media_type="text/plain", headers=as_file(f"{campaign.id[:12]}-invitations.txt"))
    return page(request, "invitations.html", **await _invitation_values(collector, campaign), links=links)


async def _invited(collector: Collector, campaign_id: str) -> StoredCampaign:
    campaign = await collector.campaign(campaign_id)
    if not campaign.options.tokens:
        raise PageRefusalError("invite.open")
    if campaign.state is State.CLOSED:
        raise PageRefusalError("refused.closed")
    return campaign


async def _invitation_values(collector: Collector, campaign: StoredCampaign) -> dict[str, Any]:
    issued, spent = await collector.store.read(partial(count_tokens, campaign=campaign))
    learns = campaign.plans[0].learns
    early = campaign.options.share if learns else None
    return {"campaign": campaign, "issued": issued, "spent": spent, "most": MOST_AT_ONCE, "early": early}


@get("/c/{campaign_id:str}/export/{name:str}", guards=[require_session])
async def export(campaign_id: FromPath[str], name: FromPath[str], collector: TheCollector) -> Stream:
    """Estimates (csv), everything but the reports (json), or private reports without ids (ndjson, parquet)."""
    kind = next((known for known in exports.FORMATS if known == name), None)
    if kind is None:
        raise NotFoundException
    campaign = await collector.campaign(campaign_id)
    content = await exports.export(collector, campaign, kind, "likelihood", ids=False)
    return Stream(content, media_type=exports.MEDIA_TYPES[kind], headers=as_file(f"{campaign.id[:12]}.{kind}"))


@get("/c/{campaign_id:str}/certificates", guards=[require_session])
async def certificates(campaign_id: FromPath[str], collector: TheCollector) -> Response[bytes]:
    """What a report to each plan gives away, in a form that others can check."""
    campaign = await collector.campaign(campaign_id)
    documents = [await asyncio.to_thread(certify, plan) for plan in campaign.plans]
    content = msgspec.json.format(msgspec.json.encode(documents), indent=2) + b"\n"
    headers = as_file(f"{campaign.id[:12]}-certificates.json")
    return Response(content, media_type="application/json", headers=headers)


@get("/c/{campaign_id:str}/advance", guards=[require_session])
async def advance_page(campaign_id: FromPath[str], request: AnyRequest, collector: TheCollector) -> Response[str]:
    """What the next phase would be, if it were opened now."""
    campaign = await collector.campaign(campaign_id)
    if campaign.open_plan is None:
        raise PageRefusalError("refused.closed")
    phases = to_learn_from(await operations.history(collector.store, campaign))
    values: dict[str, Any] = {"campaign": campaign, "now": await standing(collector, campaign), "fault": None}
    if not phases[-1][1].reports:
        return page(request, "advance.html", **{**values, "fault": PageRefusalError("advance.nobody")})
    try:
        plan = await asyncio.to_thread(learn_with, campaign.options, phases)
    except LearningError as refusal:
        return page(request, "advance.html", **{**values, "fault": refusal})
    words = words_of(request)
    promises = [await asyncio.to_thread(promise_of, [each]) for each in (campaign.plans[-1], plan)]
    before, after = (times_true(promise, words) for promise in promises)
    return page(request, "advance.html", **values, likenesses=likenesses(plan), before=before, after=after)


@get("/c/{campaign_id:str}/refresh", guards=[require_session])
async def refresh_page(campaign_id: FromPath[str], request: AnyRequest, collector: TheCollector) -> Response[str]:
    """What another round means for those who have answered and for those who have not."""
    campaign = await collector.campaign(campaign_id)
    now, fault = await standing(collector, campaign), None
    if not now.people:
        fault = PageRefusalError("refresh.nobody")
    elif not await collector.store.read(partial(has_its_reports, campaign=campaign)):
        fault = PageRefusalError("refresh.deleted")
    return page(request, "refresh.html", campaign=campaign, now=now, fault=fault)


@get("/c/{campaign_id:str}/close", guards=[require_session])
async def close_page(campaign_id: FromPath[str], request: AnyRequest, collector: TheCollector) -> Response[str]:
    """What closing means."""
    campaign = await collector.campaign(campaign_id)
    return page(request, "close.html", campaign=campaign, now=await standing(collector, campaign))


@get(["/c/{campaign_id:str}/forget", "/c/{campaign_id:str}/delete"], guards=[require_session])
async def delete_page(campaign_id: FromPath[str], request: AnyRequest, collector: TheCollector) -> Response[str]:
    """What deleting the reports of a closed survey means, or deleting everything."""
    return page(request, "confirm.html", campaign=await collector.campaign(campaign_id), step=_step(request))


@post(
    [f"/c/{{campaign_id:str}}/{step}" for step in ("advance", "refresh", "close", "forget", "delete")],
    guards=[require_session],
)
async def take_step(campaign_id: FromPath[str], request: AnyRequest, collector: TheCollector) -> Response[Any]:
    """Take a step; sent again, nothing changes. The form names the last plan, or the title of what is deleted."""
    store, step = collector.store, _step(request)
    form = {} if step == "close" else await read_form(request)
    plan, title = form.get("plan", ""), form.get("title", "")
    match step:
        case "advance":
            await operations.advance(store, campaign_id, plan)
        case "refresh":
            await operations.refresh(store, campaign_id, plan)
        case "close":
            await operations.close(store, campaign_id)
        case "forget":
            await operations.delete_reports(store, campaign_id, title)
        case "delete":
            await operations.delete(store, campaign_id, title)
            collector.forget(campaign_id)
            return to("/")
    return to(f"/c/{campaign_id}")


def _step(request: AnyRequest) -> str:
    """The last word of the address."""
    return request.url.path.rstrip("/").rpartition("/")[2]
