"""Reports to several plans of one schema in one Parquet file: the plan's digest in a column, ids if they are wanted."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from privtally.documents.plan import Plan
from privtally.tables import arrow
from privtally.tables.database import engine, literal, text
from privtally.tables.gathering import Gathered
from privtally.tables.report_output import FORMAT, named_codes, stream_of, writing


def write_export(path: Path, reports: Mapping[Plan, Gathered], *, ids: bool) -> None:
    """Write reports as `tally` reads them, if they have ids."""
    streams = [stream_of(plan, gathered) for plan, gathered in reports.items()]
    tables = " UNION ALL ".join(_select(plan, place, ids=ids) for place, plan in enumerate(reports))
    how = f"FORMAT parquet, COMPRESSION snappy, KV_METADATA {{format: {text(FORMAT)}}}"
    with engine(threads=1) as connection, ExitStack() as stack:
        for place, stream in enumerate(streams):
            stack.enter_context(arrow.registered(connection, f"gathered{place}", stream.until_fault()))
        with writing(path, *streams):
            connection.execute(f"COPY ({tables}) TO {text(literal(path))} ({how})")


def _select(plan: Plan, place: int, *, ids: bool) -> str:
    columns = [f"{text(plan.digest)} AS plan", *(["id"] if ids else []), *named_codes(plan)]
    return f"SELECT {', '.join(columns)} FROM gathered{place}"
