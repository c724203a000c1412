"""Whether a store holds what it says: its file is sound, and the counts are those of its reports."""

from functools import partial

import msgspec

from privtally.collector.tally import count, nothing
from privtally.documents.campaign import State
from privtally.store.reading import pages
from privtally.store.session import Store
from privtally.store.surveys import every, numbered
from privtally.store.tallies import counts_of


class Checked(msgspec.Struct, frozen=True):
    """What was found; no fault means that all of it agrees."""

    campaigns: int
    reports: int
    faults: list[str]


async def check(store: Store) -> Checked:
    """Count everything anew. Where reports arrive in the meantime, a difference is no fault of the store."""
    state = await store.integrity()
    faults = [] if state == "ok" else [state]
    surveys = await store.read(every)
    reports = 0
    for survey in surveys:
        for number, plan in numbered(survey):
            anew = nothing(plan)
            async for page in pages(store, number, plan):
                anew += count(plan, page.codes)
            deleted = survey.campaign.state is State.CLOSED and not anew.reports
            if not deleted and await store.read(partial(counts_of, number=number, plan=plan)) != anew:
                faults.append(f"the counts of phase {plan.phase} of campaign {survey.id[:12]}… are not its reports'")
            reports += anew.reports
    return Checked(len(surveys), reports, faults)
