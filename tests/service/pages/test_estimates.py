"""A page never waits long for an estimate, and at most one a survey is computed."""

import asyncio
import gc
from typing import Any, cast

import pytest

pytest.importorskip("jinja2", reason="needs the extra: pip install 'privtally[serve]'")

from privtally.collector.estimate import estimate
from privtally.collector.tally import count
from privtally.documents.plan import design
from privtally.schema import Schema
from privtally.service.pages import estimates
from privtally.service.pages.panels import Found
from tests.service.site import reports_to

PLAN = design(Schema.of({"a": ["x", "y"], "b": ["x", "y"]}), 2.0, "spl")


class Slow:
    """A collector whose estimates are finished when the test says so."""

    def __init__(self) -> None:
        self.may_finish, self.people, self.started = asyncio.Event(), 10, 0
        self.shown: dict[str, Any] = {}

    async def estimate(self, _: Any, method: Any, *, by_round: bool) -> Any:
        self.started += 1
        people = self.people
        await self.may_finish.wait()
        if not people:
            raise LookupError("secret")
        return estimate([(PLAN, count(PLAN, reports_to(PLAN, people).codes))], method, by_round=by_round)


class Survey:
    id = "a survey"
    plans = (PLAN,)


def test_a_page_shows_the_last_estimate_until_the_next_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "PATIENCE", 0.0)

    async def visit() -> None:
        slow, shown = cast("Any", Slow()), estimates.Estimates()
        survey = cast("Any", Survey())
        for _ in range(3):
            assert await shown.so_far(slow, survey) is None
        assert slow.started <= 1
        slow.may_finish.set()
        while (first := await shown.so_far(slow, survey)) is None:
            pass
        assert isinstance(first, Found)
        assert first.reports == 10
        slow.may_finish.clear()
        slow.people = 20
        for _ in range(3):
            again = await shown.so_far(slow, survey)
            assert again is not None
        slow.may_finish.set()
        while (later := await shown.so_far(slow, survey)) == first:
            pass
        assert isinstance(later, Found)
        assert later.reports == 20

    asyncio.run(visit())


def test_a_defect_after_the_page_was_shown_is_logged_without_its_message(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(estimates, "PATIENCE", 0.0)

    async def visit() -> None:
        slow, shown = cast("Any", Slow()), estimates.Estimates()
        slow.people = 0
        assert await shown.so_far(slow, cast("Any", Survey())) is None
        slow.may_finish.set()
        while asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.sleep(0)

    asyncio.run(visit())
    gc.collect()
    (line,) = caplog.records
    assert line.__dict__["kind"] == "LookupError"
    assert "secret" not in caplog.text
