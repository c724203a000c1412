"""What the routes share: the store, the intake, the estimates, and what never changes once it was read."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, TypeVar

from litestar.di import NamedDependency
from prometheus_client import CollectorRegistry, Counter, Gauge

from privtally.collector.estimate import History, estimate
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

T = TypeVar("T")

PATIENCE = 2.0
"""How many seconds everybody but the administrator waits for a new estimate, and a page for any."""
PAUSE, PAUSES = 5.0, 12
"""An estimate is not computed again for everybody for so many seconds, and for so many times as long as it took: all
methods of a campaign, with and without rounds, keep less than half a processor busy.
"""
MOST_AT_ONCE = 2
"""How many estimates are computed at once, of a campaign each: they have its counts in memory."""
MOST_KEPT = 64


class Finished:
    """An estimate, in the forms that were asked for, each of which is made once."""

    def __init__(self, estimate: Estimate) -> None:
        self.estimate = estimate
        self._forms: dict[str, asyncio.Future[Any]] = {}

    async def form(self, name: str, make: Callable[[Estimate], T]) -> T:
        """The form of a name, and how it is made of the estimate."""
        if name not in self._forms:
            making = self._forms[name] = asyncio.ensure_future(asyncio.to_thread(make, self.estimate))
            making.add_done_callback(lambda done: self._drop_if_failed(name, done))
        made: T = await asyncio.shield(self._forms[name])
        return made

    def _drop_if_failed(self, name: str, done: asyncio.Future[Any]) -> None:
        if done.cancelled() or done.exception() is not None:
            del self._forms[name]


@dataclass
class _Kept:
    """A campaign's last estimate of one kind, or why there is none, and the task that computes the next."""

    method: Method
    by_round: bool
    finished: Finished | None = None
    refusal: EstimateError | None = None
    totals: Sequence[int] = ()
    due: float = -inf
    """From when on it is computed again for everybody."""
    task: asyncio.Task[None] | None = None

    def result(self) -> Finished | None:
        """What is known; None before the first estimate is finished."""
        if self.finished is None and self.refusal is not None:
            raise self.refusal.with_traceback(None)
        return self.finished


class Estimates:
    """The last estimates of campaigns. One task at a time computes a campaign's, whoever waits for it or hangs up."""

    def __init__(
        self,
        store: Store,
        estimating: Callable[..., Estimate] = estimate,
        clock: Callable[[], float] = time.monotonic,
        patience: float = PATIENCE,
    ) -> None:
        self.patience = patience
        self._store, self._estimating, self._clock = store, estimating, clock
        self._kept: dict[tuple[str, Method, bool], _Kept] = {}
        self._campaigns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._slots = asyncio.Semaphore(MOST_AT_ONCE)

    async def current(self, survey: Survey, method: Method, *, by_round: bool = False) -> Finished:
        """The estimate from all reports so far."""
        own = self._own(survey, method, by_round=by_round)
        if own.task is not None:  # it may not have counted the last reports
            await asyncio.wait({own.task})
        task = own.task or self._begin(own, survey)
        await asyncio.wait({task})
        task.result()
        found = own.result()
        assert found is not None
        return found

    async def recent(self, survey: Survey, method: Method, *, by_round: bool = False) -> Finished | None:
        """The last estimate, for everybody: however many ask, it is computed now and then only.

        None if the first one is not finished in time, since it takes long or waits for other campaigns.
        """
        own = self._own(survey, method, by_round=by_round)
        task = own.task
        if task is None and self._clock() >= own.due:
            task = self._begin(own, survey)
        if task is not None:
            await asyncio.wait({task}, timeout=self.patience)
            if task.done():
                task.result()
        return own.result()

    def last(self, survey: Survey, method: Method, *, by_round: bool = False) -> Finished | None:
        """The last estimate that was finished, if there is one."""
        own = self._kept.get((survey.id, method, by_round))
        return None if own is None else own.finished

    async def of(self, history: History, method: Method, *, by_round: bool = False) -> Estimate:
        """The estimate from a campaign's phases, of which some may have no reports yet."""
        answered = [(plan, counts) for plan, counts in history if counts.reports]
        if not answered:
            raise EstimateError("the campaign has no reports yet, so that there is nothing to estimate")
        try:
            return await asyncio.to_thread(self._estimating, answered, method, by_round=by_round)
        except PrivtallyError:
            raise
        except Exception as defect:  # noqa: BLE001  # pages and exports show what else there is
            log_defect(defect)
            raise FailedEstimateError(
                "the estimate failed because of a defect, which the service's log names; counts and reports can be "
                "exported"
            ) from None

    def forget(self, campaign: str) -> None:
        """Keep nothing of a campaign that was deleted."""
        for key in [own for own in self._kept if own[0] == campaign]:
            del self._kept[key]
        self._campaigns.pop(campaign, None)

    def _own(self, survey: Survey, method: Method, *, by_round: bool) -> _Kept:
        return self._kept.setdefault((survey.id, method, by_round), _Kept(method, by_round))

    def _begin(self, own: _Kept, survey: Survey) -> asyncio.Task[None]:
        task = own.task = asyncio.create_task(self._compute(own, survey))
        task.add_done_callback(_log_defect)
        self._drop_old()
        return task

    def _drop_old(self) -> None:
        """Forget the first of too many estimates, but none that may not be computed again now."""
        over = [key for key, own in self._kept.items() if own.task is None and own.due <= self._clock()]
        for key in over[: max(len(self._kept) - MOST_KEPT, 0)]:
            del self._kept[key]

    async def _compute(self, own: _Kept, survey: Survey) -> None:
        try:
            async with self._campaigns[survey.id], self._slots:
                begin = self._clock()
                await self._renew(own, survey)
                if any(own.totals):
                    end = self._clock()
                    own.due = end + max(PAUSE, PAUSES * (end - begin))
        finally:
            own.task = None

    async def _renew(self, own: _Kept, survey: Survey) -> None:
        if await operations.totals(self._store, survey) == own.totals:
            return
        history = await operations.history(self._store, survey)
        try:
            own.finished = Finished(await self.of(history, own.method, by_round=own.by_round))
        except EstimateError as refusal:
            own.finished, own.refusal = None, refusal
        own.totals = [counts.reports for _, counts in history]


def _log_defect(task: asyncio.Task[None]) -> None:
    """Log a defect also where nobody waits for it any more."""
    fault = None if task.cancelled() else task.exception()
    if fault is not None and not isinstance(fault, PrivtallyError):
        log_defect(fault)


class Collector:
    """A store with an intake for reports, plans at hand, the last estimates, and somebody who gives advice."""

    def __init__(self, store: Store, advise: Advise | None = None, estimates: Estimates | None = None) -> None:
        self.store, self.intake, self.advise = store, Intake(store), advise
        self.estimates = estimates or Estimates(store)
        self.registry = CollectorRegistry()
        self.reports = Counter(
            "privtally_reports", "Reports by what became of them", ["outcome"], registry=self.registry
        )
        waiting = Gauge("privtally_reports_waiting", "Reports on their way to the disk", registry=self.registry)
        waiting.set_function(lambda: self.intake.waiting)
        self._surveys: dict[str, Survey] = {}

    async def survey(self, campaign: str) -> Survey:
        """The campaign as it is now."""
        survey = self._surveys[campaign] = await operations.find(self.store, campaign)
        return survey

    def forget(self, campaign: str) -> None:
        """Keep nothing in memory of a campaign that was deleted."""
        self._surveys.pop(campaign, None)
        self.estimates.forget(campaign)

    async def survey_with(self, campaign: str, digests: set[str]) -> tuple[Survey, Mapping[str, tuple[int, Plan]]]:
        """A campaign and its plans by digest; read anew if some digest is of none of the plans known so far."""
        survey = self._surveys.get(campaign)
        if survey is None or not digests <= {plan.digest for plan in survey.plans}:
            survey = await self.survey(campaign)
        return survey, {plan.digest: (own, plan) for own, plan in zip(survey.plan_numbers, survey.plans, strict=True)}


TheCollector = NamedDependency[Collector]
"""How a route asks for the collector."""
