"""/livez, /readyz and /metrics: for those who watch the service."""

from litestar import Response, get
from prometheus_client import CONTENT_TYPE_LATEST, disable_created_metrics, generate_latest

from privtally.service.admin import require_admin
from privtally.service.collector import TheCollector
from privtally.service.describing import ADMIN, refusals
from privtally.store.session import Session

# A counter's time of creation would say when the first report of an outcome came.
disable_created_metrics()  # type: ignore[no-untyped-call]  # the library does not type it
_TEXT = CONTENT_TYPE_LATEST.partition("; charset")[0]  # the framework adds it


@get("/livez", summary="Whether the process runs", media_type="text/plain")
async def livez() -> str:
    """Always the same answer: the process is there."""
    return "alive\n"


@get("/readyz", responses=refusals(), summary="Whether the service can take reports", media_type="text/plain")
async def readyz(collector: TheCollector) -> str:
    """Answers while the store does and reports are stored; otherwise 503."""

    async def work(session: Session) -> None:
        await session.fetch("SELECT 1 FROM settings")

    collector.intake.check()
    await collector.store.read(work)
    return "ready\n"


@get(
    "/metrics",
    guards=[require_admin],
    security=ADMIN,
    media_type=_TEXT,
    responses=refusals(401),
    summary="Numbers for Prometheus",
)
async def metrics(collector: TheCollector) -> Response[bytes]:
    """Reports by what became of them, and how many wait."""
    return Response(generate_latest(collector.registry), media_type=_TEXT)
