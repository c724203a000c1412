"""tally: reports -> Counts."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from privtally.documents.counts import WHOLE_REPORT_LIMIT, Counts, count, nothing
from privtally.documents.plan import Plan
from privtally.documents.report import Report, check_report

_BATCH = 1 << 16


@dataclass(frozen=True)
class Tallied:
    """Counts, and how many reports were left out because their id had been seen before."""

    counts: Counts
    repeated: int


def tally(plan: Plan, reports: Iterable[Report], whole_report_limit: int = WHOLE_REPORT_LIMIT) -> Tallied:
    """The counts of reports to one plan; each report id counts once."""
    seen: set[bytes] = set()
    repeated = 0
    total = nothing(plan, whole_report_limit)
    batch: list[list[int]] = []
    for report in reports:
        codes = check_report(plan, report)
        name = bytes.fromhex(report.id)
        if name in seen:
            repeated += 1
            continue
        seen.add(name)
        batch.append(codes)
        if len(batch) == _BATCH:
            total += count(plan, np.array(batch, dtype=np.uint32), whole_report_limit)
            batch.clear()
    if batch:
        total += count(plan, np.array(batch, dtype=np.uint32), whole_report_limit)
    return Tallied(total, repeated)
