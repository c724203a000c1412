"""Surveys and reports to put into a store."""

from functools import partial

import numpy as np

from privtally.documents.plan import Plan
from privtally.documents.report import Reports, check_report
from privtally.lab.seed import seeded
from privtally.participant.respond import respond_many
from privtally.schema import Records
from privtally.store import surveys
from privtally.store.accept import Arrival
from privtally.store.options import Options
from privtally.store.packing import pack
from privtally.store.session import Store, StoredReport
from privtally.store.surveys import Survey
from tests.support import first_plan


async def new_survey(store: Store, options: Options | None = None, plan: Plan | None = None) -> Survey:
    plan = plan or first_plan((3, 3), 2.0, "corr-rr")
    return await store.write(partial(surveys.create, title="Sleep", plan=plan, options=options or Options()))


def answered(plan: Plan, people: int, seed: int = 1) -> Reports:
    """Reports of people who are alike in all answers more often than not."""
    made_up = np.random.default_rng(seed)
    first = made_up.integers(0, plan.schema.sizes[0], people)
    codes = np.column_stack([np.where(made_up.random(people) < 0.7, first, 0) for _ in plan.schema.sizes])
    return respond_many(plan, Records(plan.schema, codes.astype(np.uint8)), seeded(seed))


def arrivals(survey: Survey, reports: Reports, tokens: list[bytes] | None = None) -> list[Arrival]:
    plan = reports.plan
    number = survey.plan_numbers[survey.plans.index(plan)]
    stored = [StoredReport(number, bytes.fromhex(own.id), pack(plan, check_report(plan, own))) for own in reports]
    return [Arrival(survey.number, own, tokens[place] if tokens else None) for place, own in enumerate(stored)]
