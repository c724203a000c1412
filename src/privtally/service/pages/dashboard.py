"""/ and /c/{id}: the surveys, and one survey by its state."""

import asyncio
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import segno
from litestar import Response, get
from litestar.params import FromPath, FromQuery
from markupsafe import Markup

from privtally.collector.pairs import PairEstimate, PairEstimates, estimate_pairs
from privtally.documents.campaign import State
from privtally.documents.estimate import NORMAL_95
from privtally.errors import EstimateError
from privtally.mechanisms import NAMED
from privtally.service import operations
from privtally.service.collector import Collector, Finished, TheCollector
from privtally.service.pages.answers import names_of_answers
from privtally.service.pages.learned import likenesses
from privtally.service.pages.panels import Found, estimate_so_far, panels_of
from privtally.service.pages.rendering import page, words_of
from privtally.service.pages.sessions import require_session
from privtally.service.pages.setup import AnyRequest, TheSetup
from privtally.service.pages.words import Words
from privtally.store.surveys import Survey, every

MOST_PAIRS, MOST_PAIR_LABELS = 10, 12
"""So many two-way tables are shown, of questions with so many answers at most."""
NEARLY = 0.9
"""The share of the people that a survey waits for from which another round is offered as the next thing to do."""


@dataclass(frozen=True)
class Standing:
    """Where a survey stands: `state` is one of "first", "later", "only" and "closed"."""

    survey: Survey
    totals: tuple[int, ...]
    hoped: int | None
    """How many people the survey waits for, if that is known: in its first phase those to learn from, then all."""

    @property
    def learns(self) -> bool:
        return NAMED[self.survey.plans[0].mechanism].learns

    @property
    def state(self) -> str:
        if self.survey.campaign.state is State.CLOSED:
            return "closed"
        if not self.learns:
            return "only"
        return "first" if self.survey.plans[-1].learned is None else "later"

    @property
    def round(self) -> int:
        return self.survey.plans[-1].round

    @property
    def rounds(self) -> dict[int, list[int]]:
        """How many people have answered each phase of each round."""
        found: dict[int, list[int]] = {}
        for plan, total in zip(self.survey.plans, self.totals, strict=True):
            found.setdefault(plan.round, []).append(total)
        return found

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


async def standing(collector: Collector, survey: Survey) -> Standing:
    """Where a survey stands now."""
    people, share = survey.options.people, survey.options.phase1_share
    hoped = people  # in the later phases, where the mechanism learns
    if people is not None and NAMED[survey.plans[0].mechanism].learns:
        hoped = round(people * (share if survey.plans[-1].learned is None else 1) / (1 - share))
    return Standing(survey, tuple(await operations.totals(collector.store, survey)), hoped)


@get("/", guards=[require_session])
async def list_page(request: AnyRequest, collector: TheCollector) -> Response[str]:
    """All surveys, the newest first."""
    surveys = await collector.store.read(every)
    return page(request, "list.html", standings=[await standing(collector, survey) for survey in surveys])


@get("/c/{campaign:str}", guards=[require_session])
async def campaign_page(
    campaign: FromPath[str], request: AnyRequest, collector: TheCollector, setup: TheSetup
) -> Response[str]:
    """One survey."""
    survey = await collector.survey(campaign)
    link = f"{setup.base(request)}/s/{survey.id}"
    values = await _values(collector, survey, words_of(request))
    return page(request, "campaign.html", **values, link=link, code=_code(link))


@get("/c/{campaign:str}/live", guards=[require_session])
async def live_part(
    campaign: FromPath[str], request: AnyRequest, collector: TheCollector, seen: FromQuery[str]
) -> Response[Any]:
    """The numbers of a survey, if they have changed since they were seen."""
    values = await _values(collector, await collector.survey(campaign), words_of(request))
    if values["seen"] == seen:
        return Response(None, status_code=HTTPStatus.NO_CONTENT)
    return page(request, "live.html", **values)


@get("/c/{campaign:str}/together", guards=[require_session])
async def together_page(campaign: FromPath[str], request: AnyRequest, collector: TheCollector) -> Response[str]:
    """Two-way tables, where the reports carry them."""
    survey = await collector.survey(campaign)
    phases = [phase for phase in await operations.history(collector.store, survey) if phase[1].reports]
    try:
        found = await asyncio.to_thread(estimate_pairs, phases)
    except EstimateError:
        found = PairEstimates((), ())
    few = [table for table in found.tables if max(map(len, table.labels)) <= MOST_PAIR_LABELS]
    left_out = len(found.tables) - len(few[:MOST_PAIRS])
    named = names_of_answers(survey.plans[0].schema, words_of(request))
    tables = few[:MOST_PAIRS]
    values: dict[str, Any] = {"tables": tables, "left_out": left_out, "named": named, "too_few": _says_nothing}
    return page(request, "together.html", survey=survey, points_95=100 * NORMAL_95, **values)


def _says_nothing(table: PairEstimate) -> bool:
    """Whether some interval of a table is wider than everything that a share can be."""
    return max(map(max, table.standard_errors)) * NORMAL_95 >= 1


async def _values(collector: Collector, survey: Survey, words: Words) -> dict[str, Any]:
    now = await standing(collector, survey)
    finished = await estimate_so_far(collector.estimates, survey, collector.estimates.current)
    found = await finished.form("panels", panels_of) if isinstance(finished, Finished) else finished
    seen = found.reports if isinstance(found, Found) else int(found is not None and any(now.totals))
    return {
        "survey": survey,
        "named": names_of_answers(survey.plans[0].schema, words),
        "now": now,
        "found": found,
        "likenesses": likenesses(survey.plans[-1]),
        # What changes whenever the page does.
        "seen": "-".join(map(str, (now.state, *now.totals, seen))),
    }


def _code(link: str) -> Markup:
    """A QR code as SVG."""
    return Markup(segno.make(link, error="m").svg_inline(border=0, svgclass="qr", lineclass=None, omitsize=True))  # noqa: S704  # made of squares
