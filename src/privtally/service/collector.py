"""What all routes share: a store with its intake, the last estimates, counters of reports, and exports."""

import asyncio
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Literal, get_args

import msgspec
from litestar.di import NamedDependency
from prometheus_client import CollectorRegistry, Counter, Gauge

from privtally.collector.estimate import estimate
from privtally.documents.campaign import History
from privtally.documents.estimate import Estimate
from privtally.documents.plan import Plan
from privtally.errors import EstimateError, FailedEstimateError, PrivtallyError
from privtally.names import Method
from privtally.service import operations
from privtally.service.operations import Advise
from privtally.store.campaigns import StoredCampaign, numbered, pages
from privtally.store.intake import Intake
from privtally.store.session import Store, log_defect
from privtally.tables.report_output import Gathered, write_export

PATIENCE = 2.0
"""How many seconds everybody but the administrator waits for a new estimate, and a page for any."""
PAUSE, PAUSES = 5.0, 12
"""An estimate is not computed again for everybody for so many seconds, and for so many times as long as it took: all
methods of a campaign, with and without rounds, keep less than half a processor busy.
"""
MOST_AT_ONCE = 2
"""How many estimates are computed at once, of a campaign each: they have its counts in memory."""
MOST_KEPT = 64

_Kind = tuple[str, Method, bool]
"""A campaign's id, the method, and whether the estimate has all rounds."""


Known = Estimate | EstimateError | None
"""The last estimate, or why there is none; None before the first one is finished."""


@dataclass
class _Kept:
    """What is known of one kind, and the task that computes the next estimate."""

    known: Known = None
    totals: Sequence[int] = ()
    due: float = -inf
    """From when on it is computed again for everybody."""
    task: asyncio.Task[None] | None = None


class Estimates:
    """The last estimates of campaigns. One task at a time computes a campaign's, whoever waits for it or hangs up."""

    def __init__(
        self,
        store: Store,
        estimating: Callable[..., Estimate] = estimate,
        clock: Callable[[], float] = time.monotonic,
        patience: float = PATIENCE,
    ) -> None:
        self._store, self._estimating, self._clock, self._patience = store, estimating, clock, patience
        self._kept: dict[_Kind, _Kept] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._slots = asyncio.Semaphore(MOST_AT_ONCE)

    async def current(self, campaign: StoredCampaign, method: Method, *, by_round: bool = False) -> Estimate:
        """The estimate from all reports so far."""
        kind = campaign.id, method, by_round
        kept = self._kept.setdefault(kind, _Kept())
        if kept.task is not None:  # it may not have counted the last reports
            await asyncio.wait({kept.task})
        task = kept.task or self._begin(kept, kind, campaign)
        await asyncio.wait({task})
        task.result()
        estimate = given(kept.known)
        assert estimate is not None
        return estimate

    async def recent(
        self, campaign: StoredCampaign, method: Method = "likelihood", *, by_round: bool = False, pause: bool = True
    ) -> Known:
        """What is known within a moment: within a pause it is not computed again, however many ask.

        None if the first estimate is not finished in time, since it takes long or waits for other campaigns.
        """
        kind = campaign.id, method, by_round
        kept = self._kept.setdefault(kind, _Kept())
        task = kept.task
        if task is None and not (pause and self._clock() < kept.due):
            task = self._begin(kept, kind, campaign)
        if task is not None:
            await asyncio.wait({task}, timeout=self._patience)
            if task.done():
                task.result()
        return kept.known

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

    def forget(self, campaign_id: str) -> None:
        """Keep nothing of a campaign that was deleted."""
        self._kept = {kind: kept for kind, kept in self._kept.items() if kind[0] != campaign_id}
        self._locks.pop(campaign_id, None)

    def _begin(self, kept: _Kept, kind: _Kind, campaign: StoredCampaign) -> asyncio.Task[None]:
        """Start the next estimate, and forget the first of too many, but none that may not be computed again now."""
        task = kept.task = asyncio.create_task(self._compute(kept, kind, campaign))
        task.add_done_callback(_log_defect)
        idle = [past for past, last in self._kept.items() if last.task is None and last.due <= self._clock()]
        for past in idle[: max(len(self._kept) - MOST_KEPT, 0)]:
            del self._kept[past]
        return task

    async def _compute(self, kept: _Kept, kind: _Kind, campaign: StoredCampaign) -> None:
        _, method, by_round = kind
        try:
            async with self._locks[campaign.id], self._slots:
                begin = self._clock()
                if await operations.totals(self._store, campaign) != kept.totals:
                    history = await operations.history(self._store, campaign)
                    try:
                        kept.known = await self.of(history, method, by_round=by_round)
                    except EstimateError as refusal:
                        kept.known = refusal.with_traceback(None)
                    kept.totals = [counts.reports for _, counts in history]
                if any(kept.totals):
                    end = self._clock()
                    kept.due = end + max(PAUSE, PAUSES * (end - begin))
        finally:
            kept.task = None


def given(known: Known) -> Estimate | None:
    """The estimate, unless it is refused."""
    if isinstance(known, EstimateError):
        raise known.with_traceback(None)
    return known


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
        self._campaigns: dict[str, StoredCampaign] = {}

    async def campaign(self, campaign_id: str) -> StoredCampaign:
        """The campaign as it is now."""
        campaign = self._campaigns[campaign_id] = await operations.find(self.store, campaign_id)
        return campaign

    def forget(self, campaign_id: str) -> None:
        """Keep nothing in memory of a campaign that was deleted."""
        self._campaigns.pop(campaign_id, None)
        self.estimates.forget(campaign_id)

    async def campaign_with(self, campaign_id: str, digests: Collection[str] = ()) -> StoredCampaign:
        """A campaign as it was last read; read anew if some digest is of none of its plans known so far."""
        campaign = self._campaigns.get(campaign_id)
        if campaign is None or not {plan.digest for plan in campaign.plans}.issuperset(digests):
            campaign = await self.campaign(campaign_id)
        return campaign


TheCollector = NamedDependency[Collector]
"""How a route asks for the collector."""


Format = Literal["csv", "json", "ndjson", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)
MEDIA_TYPES = {
    "csv": "text/csv",
    "json": "application/json",
    "ndjson": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}
REPORTS: tuple[Format, ...] = ("ndjson", "parquet")
"""The formats that hold reports."""

_PIECE = 1 << 20


async def export(
    collector: Collector, campaign: StoredCampaign, kind: Format, method: Method, *, ids: bool
) -> AsyncIterator[bytes]:
    """Estimates as CSV; estimates, counts and plans as JSON; or the private reports as NDJSON or Parquet.

    Estimates that cannot be had are refused before the first byte.
    """
    match kind:
        case "csv":
            estimate = await collector.estimates.current(campaign, method)
            return _whole(await asyncio.to_thread(estimate.to_csv))
        case "json":
            return _documents(collector, campaign, method)
        case "ndjson":
            return _reports(collector, campaign, ids=ids)
        case "parquet":
            return _table(collector, campaign, ids=ids)


async def _whole(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def _documents(collector: Collector, campaign: StoredCampaign, method: Method) -> AsyncIterator[bytes]:
    history = await operations.history(collector.store, campaign)
    try:
        estimate = (await collector.estimates.of(history, method)).dump()
    except EstimateError as refusal:
        estimate = b'null,"no_estimate":' + msgspec.json.encode(str(refusal))
    title = msgspec.json.encode(campaign.title)
    yield b'{"title":' + title + b',"estimate":' + estimate.strip() + b',"phases":['
    for place, (plan, counts) in enumerate(history):
        comma = b"," if place else b""
        yield comma + b'{"plan":' + plan.dump().strip() + b',"counts":' + counts.dump().strip() + b"}"
    yield b"]}\n"


async def _reports(collector: Collector, campaign: StoredCampaign, *, ids: bool) -> AsyncIterator[bytes]:
    """One report a line. Without ids nobody can find their own report, and nobody else can either."""
    for number, plan in numbered(campaign):
        async for page in pages(collector.store.read, number, plan):
            if ids:
                yield b"".join(page.lines())
            else:
                codes = ({"plan": report.plan, "codes": report.codes} for report in page)
                yield msgspec.json.Encoder().encode_lines(codes)


async def _table(collector: Collector, campaign: StoredCampaign, *, ids: bool) -> AsyncIterator[bytes]:
    """The reports to all plans in one file, which is whole before its first byte is sent."""
    with ExitStack() as stack:
        reports: dict[Plan, Gathered] = {}
        for number, plan in numbered(campaign):
            gathered = reports[plan] = stack.enter_context(Gathered(plan, keep_order=True))
            async for page in pages(collector.store.read, number, plan):
                gathered.add(page)
        path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="privtally-")), "reports.parquet")
        await asyncio.to_thread(write_export, path, reports, ids=ids)
        file = stack.enter_context(path.open("rb"))
        while piece := await asyncio.to_thread(file.read, _PIECE):
            yield piece
