"""Reports in files become counts."""

from collections.abc import Iterator, Sequence
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
    result = count_files(plan, paths, trust_ids=trust_ids, engine=engine, advance=advance)
    refuse_nothing(plan, result)
    return result


def count_files(
    plan: Plan, paths: Sequence[Path], *, trust_ids: bool, engine: EngineChoice = DUCKDB, advance: Advance = silently
) -> Tallied:
    """The counts of reports in files, of which there may be none."""
    with open_reports(engine, plan, paths, in_pieces=not trust_ids, advance=advance) as reports:
        return tally_table(plan, reports, trust_ids=trust_ids)


def refuse_nothing(plan: Plan, result: Tallied) -> None:
    """Refuse a tally in which no report counts."""
    if not result.counts.reports:
        others = result.set_aside.get("wrong_plan", 0)
        why = f"{others:,} reports answer another plan, none this one ({plan.digest[:12]}…, phase {plan.phase})"
        raise ReportError(why if others else "the files hold no report that this plan can give")


def list_set_aside(
    plan: Plan, paths: Sequence[Path], *, trust_ids: bool = False, engine: EngineChoice = DUCKDB
) -> Iterator[bytes]:
    """The ids of reports that are not counted, with the reason, as lines of CSV; no id where there is no valid one."""
    yield b"id,reason\n"
    with open_reports(engine, plan, paths, in_pieces=not trust_ids) as reports:
        for name, reason in set_aside(plan, reports, trust_ids=trust_ids):
            yield f"{name.hex() if name else ''},{reason}\n".encode()
