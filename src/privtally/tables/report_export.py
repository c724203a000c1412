"""Reports to several plans of one schema in one Parquet file: the plan's digest in a column, ids if they are wanted."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from privtally.documents.plan import Plan
from privtally.tables import arrow
from privtally.tables.database import engine, literal, text
from privtally.tables.gathering import Gathered
from privtally.tables.report_output import FORMAT, named_codes, stream_of


def write_export(path: Path, reports: Mapping[Plan, Gathered], *, ids: bool) -> None:
    """Write reports as `tally` reads them, if they have ids."""
    with engine(threads=1) as connection, ExitStack() as stack:
        for place, (plan, gathered) in enumerate(reports.items()):
            stack.enter_context(arrow.registered(connection, f"gathered{place}", stream_of(plan, gathered)))
        tables = " UNION ALL ".join(_select(list(reports), place, ids=ids) for place in range(len(reports)))
        facts = f"KV_METADATA {{format: {text(FORMAT)}}}"
        connection.execute(f"COPY ({tables}) TO {text(literal(path))} (FORMAT parquet, COMPRESSION snappy, {facts})")


def _select(plans: Sequence[Plan], place: int, *, ids: bool) -> str:
    columns = [f"{text(plans[place].digest)} AS plan", *(["id"] if ids else []), *named_codes(plans[place])]
    return f"SELECT {', '.join(columns)} FROM gathered{place}"
