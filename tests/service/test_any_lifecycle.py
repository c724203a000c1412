"""Any order of sending, repeating, forging, advancing, refreshing, closing and deleting, against a short model.

Every report carries codes of its own, so that a report that counts twice or not at all shows in the counts, also where
their sum is right. Two planted faults, of which one keeps the sum, must be found.
"""

import asyncio
import json
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from litestar.testing import TestClient

from privtally.collector.tally import count, nothing
from privtally.documents.counts import load_counts
from privtally.documents.plan import Plan, load_plan
from privtally.documents.report import Report
from privtally.service.app import create_app
from privtally.service.operations import new_admin_token
from privtally.store import intake, open_store
from privtally.store.campaigns import fold
from privtally.store.session import Session, StoredReport
from privtally.store.sqlite import SqliteSession
from tests.scale import scaled
from tests.service.site import Site, receipt, schema_document

SIZE = 24
"""Codes of two attributes of this size tell SIZE² reports apart."""
MOST_PLANS = 5


class Lifecycle(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.open_services = ExitStack()
        self.store: Any = asyncio.run(open_store(f"sqlite:///{self.folder}/store.db"))
        self.token = asyncio.run(new_admin_token(self.store))
        self.start()
        self.campaign = self.site.create(schema=schema_document((SIZE, SIZE)), options={"people": 500})["id"]
        self.plans: list[Plan] = [self.site.plan(self.campaign)]
        self.stored: list[list[Report]] = [[]]
        self.made, self.closed, self.deleted = 0, False, False

    def start(self) -> None:
        client = self.open_services.enter_context(TestClient(create_app(self.store)))
        self.site = Site(client, self.token)

    def new_report(self, phase: int) -> Report:
        self.made += 1
        return Report(self.plans[phase].digest, f"{self.made:032x}", divmod(self.made, SIZE))

    @property
    def answered_in_this_round(self) -> bool:
        this = self.plans[-1].round
        return any(reports for plan, reports in zip(self.plans, self.stored, strict=True) if plan.round == this)

    @property
    def phases(self) -> range:
        return range(len(self.plans))

    @precondition(lambda self: self.made < SIZE * (SIZE - 2))
    @rule(data=st.data(), number=st.integers(1, 12))
    def send_new_ones(self, data: st.DataObject, number: int) -> None:
        phase = data.draw(st.sampled_from(self.phases))
        reports = [self.new_report(phase) for _ in range(number)]
        done = self.site.send(self.campaign, *reports)
        if self.closed:
            assert done == receipt(refused=[(own, "phase_closed") for own in range(number)])
        else:
            assert done == receipt(accepted=number)
            self.stored[phase] += reports

    @property
    def known(self) -> list[Report]:
        return [own for phase in self.stored for own in phase]

    @precondition(lambda self: self.known and not self.deleted and self.made < SIZE * (SIZE - 2))
    @rule(data=st.data())
    def repeat_one(self, data: st.DataObject) -> None:
        known = data.draw(st.sampled_from(self.known))
        new = self.new_report(len(self.plans) - 1)
        last = [(2, "phase_closed")] if self.closed else []
        assert self.site.send(self.campaign, known, known, new) == receipt(int(not self.closed), 2, last)
        if not self.closed:
            self.stored[-1].append(new)

    @precondition(lambda self: self.known and not self.deleted)
    @rule(data=st.data())
    def forge_one(self, data: st.DataObject) -> None:
        known = data.draw(st.sampled_from(self.known))
        forged = Report(known.plan, known.id, (SIZE - 1, SIZE - 1))
        assert self.site.send(self.campaign, forged) == receipt(refused=[(0, "id_conflict")])

    @precondition(lambda self: not self.closed and self.stored[-1] and len(self.plans) < MOST_PLANS)
    @rule()
    def advance(self) -> None:
        self.plans.append(load_plan(json.dumps(self.site.advance(self.campaign, self.plans[-1].digest))))
        self.stored.append([])

    @precondition(lambda self: self.answered_in_this_round and not self.deleted and len(self.plans) < MOST_PLANS)
    @rule()
    def refresh(self) -> None:
        plan = load_plan(json.dumps(self.site.refresh(self.campaign, self.plans[-1].digest)))
        assert (plan.round, plan.parts) == (self.plans[-1].round + 1, self.plans[0].parts)
        self.plans.append(plan)
        self.stored.append([])
        self.closed = False  # earlier phases take reports again, too

    @precondition(lambda self: len(self.plans) > 1)
    @rule(data=st.data())
    def advance_again(self, data: st.DataObject) -> None:
        phase = data.draw(st.sampled_from(self.phases[:-1]))
        there = self.plans[phase + 1]
        again, other = self.site.advance, self.site.refresh
        if there.learned is None:
            again, other = other, again
        assert again(self.campaign, self.plans[phase].digest)["digest"] == there.digest
        assert other(self.campaign, self.plans[phase].digest, 409) == "wrong-step"

    @rule()
    def close(self) -> None:
        self.site.close(self.campaign)
        self.closed = True

    @precondition(lambda self: self.closed)
    @rule()
    def delete_the_reports(self) -> None:
        address = f"/v1/campaigns/{self.campaign}/reports?title=Sleep"
        self.site.ok(self.site.client.delete(address, headers=self.site.admin), 204)
        self.deleted = True

    @precondition(lambda self: self.known and self.deleted)
    @rule(data=st.data())
    def repeat_a_deleted_one(self, data: st.DataObject) -> None:
        known = data.draw(st.sampled_from(self.known))
        assert self.site.send(self.campaign, known) == receipt(refused=[(0, "phase_closed")])

    @rule()
    def restart(self) -> None:
        self.open_services.close()
        self.start()

    @invariant()
    def the_counts_are_those_of_the_model(self) -> None:
        answer = self.site.client.get(f"/v1/campaigns/{self.campaign}/export?method=unbiased", headers=self.site.admin)
        phases = json.loads(answer.content)["phases"]
        for plan, reports, found in zip(self.plans, self.stored, phases, strict=True):
            codes = np.array([own.codes for own in reports], dtype=np.uint8)
            expected = count(plan, codes) if reports else nothing(plan)
            assert load_counts(json.dumps(found["counts"]), plan) == expected
        assert self.site.counters(self.campaign) == [len(reports) for reports in self.stored]

    def teardown(self) -> None:
        self.open_services.close()
        asyncio.run(self.store.close())
        shutil.rmtree(self.folder)


STEPS = scaled(15, 50)
TestLifecycle = Lifecycle.TestCase
TestLifecycle.settings = settings(max_examples=scaled(8, 200), stateful_step_count=STEPS, deadline=None)


async def fold_and_keep(session: Session, number: int, plan: Plan) -> None:
    """Count what is not counted yet, and forget that it was counted."""
    rows = await session.fetch("SELECT plan, codes, times FROM uncounted WHERE plan = $1", number)
    await fold(session, number, plan)
    await session.execute_many("INSERT INTO uncounted VALUES ($1, $2, $3)", rows)


insert_reports = SqliteSession.insert_reports


async def count_the_first_for_the_last(session: SqliteSession, reports: Sequence[StoredReport]) -> int:
    """Store every report, and count the first of a group twice and the last one never."""
    inserted = await insert_reports(session, reports)
    if reports:
        first, last = ((own.plan, own.codes) for own in (reports[0], reports[-1]))
        times = "UPDATE uncounted SET times = times {} 1 WHERE plan = $1 AND codes = $2"
        await session.fetch(times.format("+"), *first)
        await session.fetch(times.format("-"), *last)
        await session.fetch("DELETE FROM uncounted WHERE times = 0")
    return inserted


@pytest.mark.parametrize(
    ("place", "name", "fault"),
    [(intake, "fold", fold_and_keep), (SqliteSession, "insert_reports", count_the_first_for_the_last)],
)
def test_a_report_that_counts_twice_is_found(
    monkeypatch: pytest.MonkeyPatch, place: Any, name: str, fault: object
) -> None:
    monkeypatch.setattr(place, name, fault)
    found = settings(max_examples=8, stateful_step_count=STEPS, phases=[Phase.generate], report_multiple_bugs=False)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Lifecycle, settings=found)
