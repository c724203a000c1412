"""Files of reports become counts, by DuckDB inside this process or by a Spark cluster."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.errors import EngineError, ReportError
from privtally.files import Advance, silently
from privtally.names import EngineName
from privtally.tables.database import engine, every_file
from privtally.tables.report_input import DuckReports
from privtally.tables.tallying import Engine, set_aside, tally_table


@dataclass(frozen=True)
class EngineChoice:
    """An engine, and for Spark the URL of the cluster's master; without one Spark runs on this machine."""

    name: EngineName = "duckdb"
    master: str | None = None

    def __post_init__(self) -> None:
        if self.master is not None and self.name != "spark":
            raise EngineError("--master has no effect without --engine spark; leave it out")
        if self.name == "spark" and find_spec("pyspark") is None:
            raise EngineError("--engine spark needs pyspark; install it with: pip install 'privtally[spark]'")


@contextmanager
def open_reports(
    choice: EngineChoice, plan: Plan, paths: Sequence[Path], *, in_pieces: bool = True, advance: Advance = silently
) -> Iterator[Engine]:
    """The reports in files, in directories and in files that patterns match."""
    with engine() as connection:
        files = every_file(paths)
        if choice.name == "spark":
            from privtally.tables.spark import SparkReports, spark_session

            with spark_session(choice.master) as session:
                yield SparkReports(session, connection, plan, files, in_pieces=in_pieces, advance=advance)
        else:
            yield DuckReports(connection, plan, files, in_pieces=in_pieces, advance=advance)


DUCKDB = EngineChoice()


def tally_files(
    plan: Plan,
    paths: Sequence[Path],
    *,
    trust_ids: bool = False,
    engine: EngineChoice = DUCKDB,
    advance: Advance = silently,
) -> Counts:
    """The counts of reports in files, in directories and in files that patterns match; refused if none counts."""
    with open_reports(engine, plan, paths, in_pieces=not trust_ids, advance=advance) as reports:
        counts = tally_table(plan, reports, trust_ids=trust_ids)
    if not counts.reports:
        others = counts.set_aside.get("wrong_plan", 0)
        why = f"{others:,} reports answer another plan, none this one ({plan.digest[:12]}…, phase {plan.phase})"
        raise ReportError(why if others else "the files hold no report that this plan can give")
    return counts


def list_set_aside(
    plan: Plan, paths: Sequence[Path], *, trust_ids: bool = False, engine: EngineChoice = DUCKDB
) -> Iterator[bytes]:
    """The ids of reports that are not counted, with the reason, as lines of CSV; no id where there is no valid one."""
    yield b"id,reason\n"
    with open_reports(engine, plan, paths, in_pieces=not trust_ids) as reports:
        for name, reason in set_aside(plan, reports, trust_ids=trust_ids):
            yield f"{name.hex() if name else ''},{reason}\n".encode()
