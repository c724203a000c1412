"""Reports in files become counts."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from privtally.collector.tally import Tallied
from privtally.documents.plan import Plan
from privtally.errors import ReportError
from privtally.files import Advance, silently
from privtally.tables.database import engine
from privtally.tables.paths import every_file
from privtally.tables.report_input import DuckReports
from privtally.tables.tallying import set_aside, tally_table


def tally_files(plan: Plan, paths: Sequence[Path], *, trust_ids: bool = False, advance: Advance = silently) -> Tallied:
    """The counts of reports in files, in directories and in files that patterns match; refused if none counts."""
    result = count_files(plan, every_file(paths), trust_ids=trust_ids, advance=advance)
    refuse_nothing(plan, result)
    return result


def count_files(plan: Plan, files: Sequence[Path], *, trust_ids: bool, advance: Advance) -> Tallied:
    """The counts of reports in files, of which there may be none."""
    with engine() as connection:
        reports = DuckReports(connection, plan, files, in_pieces=not trust_ids, advance=advance)
        return tally_table(plan, reports, trust_ids=trust_ids)


def refuse_nothing(plan: Plan, result: Tallied) -> None:
    """Refuse a tally in which no report counts."""
    if not result.counts.reports:
        others = result.set_aside.get("wrong_plan", 0)
        why = f"{others:,} reports answer another plan, none this one ({plan.digest[:12]}…, phase {plan.phase})"
        raise ReportError(why if others else "the files hold no report that this plan can give")


def list_set_aside(plan: Plan, paths: Sequence[Path]) -> Iterator[bytes]:
    """The ids of reports that are not counted, with the reason, as lines of CSV; no id where there is no valid one."""
    yield b"id,reason\n"
    with engine() as connection:
        for name, reason in set_aside(plan, DuckReports(connection, plan, every_file(paths))):
            yield f"{name.hex() if name else ''},{reason}\n".encode()
