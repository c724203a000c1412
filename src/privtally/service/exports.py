"""Everything that a campaign holds, to take away."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from typing import Literal, get_args

import msgspec

from privtally.documents.estimate import Estimate
from privtally.documents.plan import Plan
from privtally.documents.report import Report
from privtally.errors import EstimateError
from privtally.names import Method
from privtally.service import operations
from privtally.service.collector import Collector
from privtally.store.reading import pages
from privtally.store.surveys import Survey, numbered
from privtally.tables.gathering import Gathered
from privtally.tables.report_export import write_export

Format = Literal["csv", "json", "ndjson", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)
MEDIA_TYPES = {
    "csv": "text/csv",
    "json": "application/json",
    "ndjson": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}
REPORTS: tuple[Format, ...] = ("ndjson", "parquet")
"""The formats that hold reports."""

_PIECE = 1 << 20


def export(collector: Collector, survey: Survey, kind: Format, method: Method, *, ids: bool) -> AsyncIterator[bytes]:
    """Estimates as CSV; estimates, counts and plans as JSON; or the private reports as NDJSON or Parquet."""
    match kind:
        case "csv":
            return _estimates(collector, survey, method)
        case "json":
            return _documents(collector, survey, method)
        case "ndjson":
            return _reports(collector, survey, ids=ids)
        case "parquet":
            return _table(collector, survey, ids=ids)


async def _estimates(collector: Collector, survey: Survey, method: Method) -> AsyncIterator[bytes]:
    yield await (await collector.estimates.current(survey, method)).form("csv", Estimate.to_csv)


async def _documents(collector: Collector, survey: Survey, method: Method) -> AsyncIterator[bytes]:
    history = await operations.history(collector.store, survey)
    try:
        estimate = (await collector.estimates.of(history, method)).dump()
    except EstimateError as refusal:
        estimate = b'null,"no_estimate":' + msgspec.json.encode(str(refusal))
    title = msgspec.json.encode(survey.title)
    yield b'{"title":' + title + b',"estimate":' + estimate.strip() + b',"phases":['
    for place, (plan, counts) in enumerate(history):
        comma = b"," if place else b""
        yield comma + b'{"plan":' + plan.dump().strip() + b',"counts":' + counts.dump().strip() + b"}"
    yield b"]}\n"


async def _reports(collector: Collector, survey: Survey, *, ids: bool) -> AsyncIterator[bytes]:
    """One report a line. Without ids nobody can find their own report, and nobody else can either."""
    for number, plan in numbered(survey):
        async for page in pages(collector.store.read, number, plan):
            yield b"".join(_line(report, ids=ids) for report in page)


async def _table(collector: Collector, survey: Survey, *, ids: bool) -> AsyncIterator[bytes]:
    """The reports to all plans in one file, which is whole before its first byte is sent."""
    with ExitStack() as stack:
        reports: dict[Plan, Gathered] = {}
        for number, plan in numbered(survey):
            gathered = reports[plan] = stack.enter_context(Gathered(plan, keep_order=True))
            async for page in pages(collector.store.read, number, plan):
                gathered.add(page)
        path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="privtally-")), "reports.parquet")
        await asyncio.to_thread(write_export, path, reports, ids=ids)
        file = stack.enter_context(path.open("rb"))
        while piece := await asyncio.to_thread(file.read, _PIECE):
            yield piece


def _line(report: Report, *, ids: bool) -> bytes:
    if ids:
        return report.dump() + b"\n"
    return msgspec.json.encode({"plan": report.plan, "codes": report.codes}) + b"\n"
