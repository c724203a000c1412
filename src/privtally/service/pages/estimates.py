"""Estimates for pages: a page waits a moment for a new one, and else shows the last one that was finished."""

import asyncio

from privtally.errors import EstimateError, PrivtallyError
from privtally.service.collector import Collector
from privtally.service.pages.panels import Found, panels_of
from privtally.store.defects import log_defect
from privtally.store.surveys import Survey

PATIENCE = 2.0
"""How many seconds a page waits for an estimate."""


class Estimates:
    """The estimates that are being computed, at most one a survey; the collector keeps those that are finished."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[None]] = {}

    async def so_far(self, collector: Collector, survey: Survey) -> Found | EstimateError | None:
        """What is known, or why nothing is; None if the first estimate is not finished."""
        task = self._running.get(survey.id)
        if task is None:
            task = self._running[survey.id] = asyncio.create_task(self._compute(collector, survey))
            task.add_done_callback(_log_defect)
        await asyncio.wait({task}, timeout=PATIENCE)
        if task.done():
            await task  # a defect is the page's defect
        return collector.shown.get(survey.id)

    async def _compute(self, collector: Collector, survey: Survey) -> None:
        try:
            by_round = survey.plans[-1].round > 1
            collector.shown[survey.id] = panels_of(await collector.estimate(survey, "pooled", by_round=by_round))
        except EstimateError as refusal:
            collector.shown[survey.id] = refusal.with_traceback(None)
        finally:
            del self._running[survey.id]


def _log_defect(task: asyncio.Task[None]) -> None:
    """Log a defect also where no page waits for it any more."""
    fault = None if task.cancelled() else task.exception()
    if fault is not None and not isinstance(fault, PrivtallyError):
        log_defect(fault)
