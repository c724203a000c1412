"""The counts of a plan's reports, kept up to date as reports arrive.

Counts add, so a plan's counts are those of the reports counted so far plus those of the few that are not. Whoever
stores a report adds its codes to the table `uncounted` in the same transaction, and now and then `fold` counts them.
Reading the counts therefore costs the same after a thousand and after ten million reports.
"""

import numpy as np

from privtally.collector.tally import count_times
from privtally.documents.counts import Counts, load_counts
from privtally.documents.plan import Plan
from privtally.store.packing import unpack
from privtally.store.session import Session

FOLD_AFTER = 1 << 16
"""How many reports may arrive before they are counted."""


async def counts_of(session: Session, number: int, plan: Plan) -> Counts:
    """The counts of all reports stored to a plan with this key."""
    ((document,),) = await session.fetch("SELECT counts FROM plans WHERE number = $1", number)
    rows = await session.fetch("SELECT codes, times FROM uncounted WHERE plan = $1", number)
    return _sum(plan, document, rows)


async def reports_of(session: Session, number: int) -> int:
    """How many reports are stored to a plan with this key."""
    ((counted,),) = await session.fetch("SELECT counted FROM plans WHERE number = $1", number)
    ((others,),) = await session.fetch("SELECT coalesce(sum(times), 0) FROM uncounted WHERE plan = $1", number)
    return int(counted + others)


async def fold(session: Session, number: int, plan: Plan) -> None:
    """Count what is not counted yet."""
    await session.fetch(f"SELECT 1 FROM plans WHERE number = $1{session.for_update}", number)  # noqa: S608  # own names
    rows = await session.fetch("DELETE FROM uncounted WHERE plan = $1 RETURNING codes, times", number)
    if not rows:
        return
    ((document,),) = await session.fetch("SELECT counts FROM plans WHERE number = $1", number)
    counts = _sum(plan, document, rows)
    statement = "UPDATE plans SET counts = $2, counted = $3 WHERE number = $1"
    await session.fetch(statement, number, counts.dump(), counts.reports)


def _sum(plan: Plan, document: bytes, rows: list[tuple[bytes, int]]) -> Counts:
    counts = load_counts(document, plan)
    if not rows:
        return counts
    times = np.array([own for _, own in rows], dtype=np.int64)
    return counts + count_times(plan, unpack(plan, [codes for codes, _ in rows]), times)
