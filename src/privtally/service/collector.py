"""What the routes share: the store, the intake, and what never changes once it was read."""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from litestar.di import NamedDependency
from prometheus_client import CollectorRegistry, Counter, Gauge

from privtally.collector.estimate import Phase, estimate
from privtally.documents.estimate import Estimate
from privtally.documents.plan import Plan
from privtally.errors import EstimateError, FailedEstimateError, PrivtallyError
from privtally.names import Method
from privtally.service import operations
from privtally.service.advice import Advise
from privtally.store.defects import log_defect
from privtally.store.intake import Intake
from privtally.store.session import Store
from privtally.store.surveys import Survey

if TYPE_CHECKING:
    from privtally.service.pages.panels import Found

_MOST_KEPT = 64


class Collector:
    """A store with an intake for reports, plans at hand, the last estimates, and somebody who gives advice."""

    def __init__(self, store: Store, advise: Advise | None = None) -> None:
        self.store, self.intake, self.advise = store, Intake(store), advise
        self.registry = CollectorRegistry()
        self.reports = Counter(
            "privtally_reports", "Reports by what became of them", ["outcome"], registry=self.registry
        )
        waiting = Gauge("privtally_reports_waiting", "Reports on their way to the disk", registry=self.registry)
        waiting.set_function(lambda: self.intake.waiting)
        self._surveys: dict[str, Survey] = {}
        self._estimates: OrderedDict[tuple[object, ...], Estimate] = OrderedDict()
        self._estimating = asyncio.Lock()
        self.shown: dict[str, Found | EstimateError] = {}
        """The last estimate of every campaign that somebody looked at, or why there is none."""

    async def survey(self, campaign: str) -> Survey:
        """The campaign as it is now."""
        survey = self._surveys[campaign] = await operations.find(self.store, campaign)
        return survey

    def forget(self, campaign: str) -> None:
        """Keep nothing in memory of a campaign that was deleted."""
        self._surveys.pop(campaign, None)
        self.shown.pop(campaign, None)
        for key in [own for own in self._estimates if own[0] == campaign]:
            del self._estimates[key]

    async def survey_with(self, campaign: str, digests: set[str]) -> tuple[Survey, Mapping[str, tuple[int, Plan]]]:
        """A campaign and its plans by digest; read anew if some digest is of none of the plans known so far."""
        survey = self._surveys.get(campaign)
        if survey is None or not digests <= {plan.digest for plan in survey.plans}:
            survey = await self.survey(campaign)
        return survey, {plan.digest: (own, plan) for own, plan in zip(survey.plan_numbers, survey.plans, strict=True)}

    async def estimate(self, survey: Survey, method: Method, *, by_round: bool = False) -> Estimate:
        """The estimate from all reports so far; the last ones are kept."""
        key = (survey.id, method, by_round, *await operations.totals(self.store, survey))
        if key in self._estimates:
            return self._estimates[key]
        return await self.estimate_from(await operations.history(self.store, survey), method, by_round=by_round)

    async def estimate_from(self, history: Sequence[Phase], method: Method, *, by_round: bool = False) -> Estimate:
        """The estimate from a campaign's phases, of which some may have no reports yet. One is computed at a time."""
        key = (history[0][0].digest, method, by_round, *(counts.reports for _, counts in history))
        answered = [(plan, counts) for plan, counts in history if counts.reports]
        if not answered:
            raise EstimateError("the campaign has no reports yet, so that there is nothing to estimate")
        async with self._estimating:
            if key not in self._estimates:
                self._estimates[key] = await asyncio.to_thread(_estimate, answered, method, by_round=by_round)
                if len(self._estimates) > _MOST_KEPT:
                    self._estimates.popitem(last=False)
            return self._estimates[key]


def _estimate(history: Sequence[Phase], method: Method, *, by_round: bool) -> Estimate:
    """The estimate; a defect of the estimator is logged, and keeps nobody from the counts."""
    try:
        return estimate(history, method, by_round=by_round)
    except PrivtallyError:
        raise
    except Exception as defect:  # noqa: BLE001  # pages and exports show what else there is
        log_defect(defect)
        raise FailedEstimateError(
            "the estimate failed because of a defect, which the service's log names; counts and reports can be exported"
        ) from None


TheCollector = NamedDependency[Collector]
"""How a route asks for the collector."""
