"""Reports in files become counts."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from privtally.collector.tally import Tallied
from privtally.documents.plan import Plan
from privtally.errors import ReportError
from privtally.files import Advance, silently
from privtally.tables.engines import EngineChoice, open_reports
from privtally.tables.tallying import set_aside, tally_table

DUCKDB = EngineChoice()


def tally_files(
    plan: Plan,
    paths: Sequence[Path],
    *,
    trust_ids: bool = False,
    engine: EngineChoice = DUCKDB,
    advance: Advance = silently,
) -> Tallied:
    """The counts of reports in files, in directories and in files that patterns match; refused if none counts."""
    with open_reports(engine, plan, paths, in_pieces=not trust_ids, advance=advance) as reports:
        result = tally_table(plan, reports, trust_ids=trust_ids)
    if not result.counts.reports:
        others = result.set_aside.get("wrong_plan", 0)
        why = f"{others:,} reports answer another plan, none this one ({plan.digest[:12]}…, phase {plan.phase})"
        raise ReportError(why if others else "the files hold no report that this plan can give")
    return result


def list_set_aside(plan: Plan, paths: Sequence[Path], *, engine: EngineChoice = DUCKDB) -> bytes:
    """The ids of reports that are not counted, with the reason, as CSV; no id where there is no valid one."""
    room = io.StringIO()
    lines = csv.writer(room, lineterminator="\n")
    lines.writerow(["id", "reason"])
    with open_reports(engine, plan, paths) as reports:
        for name, reason in set_aside(plan, reports):
            lines.writerow([name.hex() if name else "", reason])
    return room.getvalue().encode()
