"""Whether a store holds what it says: its file is sound, and the counts are those of its reports."""

import msgspec

from privtally.collector.tally import count, nothing
from privtally.documents.campaign import State
from privtally.store.reading import Rows, pages
from privtally.store.session import Session, Store, Work
from privtally.store.surveys import every, numbered
from privtally.store.tallies import counts_of


class Checked(msgspec.Struct, frozen=True):
    """What was found; no fault means that all of it agrees."""

    campaigns: int
    reports: int
    faults: list[str]


async def check(store: Store) -> Checked:
    """Count everything anew, in one state of the store, whatever arrives in the meantime."""
    state = await store.integrity()
    found = await store.read(_counted_anew)
    return found if state == "ok" else Checked(found.campaigns, found.reports, [state, *found.faults])


async def _counted_anew(session: Session) -> Checked:
    async def here(work: Work[Rows]) -> Rows:
        return await work(session)

    surveys = await every(session)
    reports, faults = 0, []
    for survey in surveys:
        for number, plan in numbered(survey):
            anew = nothing(plan)
            async for page in pages(here, number, plan):
                anew += count(plan, page.codes)
            deleted = survey.campaign.state is State.CLOSED and not anew.reports
            if not deleted and await counts_of(session, number, plan) != anew:
                faults.append(f"the counts of phase {plan.phase} of campaign {survey.id[:12]}… are not its reports'")
            reports += anew.reports
    return Checked(len(surveys), reports, faults)
