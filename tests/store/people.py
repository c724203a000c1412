"""Campaigns and reports to put into a store."""

from functools import partial

import numpy as np

from privtally.documents.plan import Plan
from privtally.documents.report import Reports, check_report
from privtally.lab.population import seeded
from privtally.participant.respond import respond_many
from privtally.schema import Records
from privtally.store import campaigns
from privtally.store.campaigns import Options, StoredCampaign, pack
from privtally.store.intake import Arrival
from privtally.store.session import Store, StoredReport
from tests.support import first_plan


async def new_campaign(store: Store, options: Options | None = None, plan: Plan | None = None) -> StoredCampaign:
    plan = plan or first_plan((3, 3), 2.0, "corr-rr")
    return await store.write(partial(campaigns.create, title="Sleep", plan=plan, options=options or Options()))


def answered(plan: Plan, people: int, seed: int = 1) -> Reports:
    """Reports of people who are alike in all answers more often than not."""
    made_up = np.random.default_rng(seed)
    first = made_up.integers(0, plan.schema.sizes[0], people)
    codes = np.column_stack([np.where(made_up.random(people) < 0.7, first, 0) for _ in plan.schema.sizes])
    return respond_many(plan, Records(plan.schema, codes.astype(np.uint8)), seeded(seed))


def arrivals(campaign: StoredCampaign, reports: Reports, tokens: list[bytes] | None = None) -> list[Arrival]:
    plan = reports.plan
    number = campaign.plan_numbers[campaign.plans.index(plan)]
    stored = [StoredReport(number, bytes.fromhex(own.id), pack(plan, check_report(plan, own))) for own in reports]
    return [Arrival(campaign.number, own, tokens[place] if tokens else None) for place, own in enumerate(stored)]
