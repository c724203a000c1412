"""The application: its routes over one store, with nothing about who asked in any log."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from litestar import Litestar
from litestar.di import Provide
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin

from privtally.service import campaigns, health, results
from privtally.service.advice import Advise
from privtally.service.collector import Collector, Estimates
from privtally.service.describing import COMPONENTS
from privtally.service.methods import name_all_methods
from privtally.service.operations import rewrite_if_due
from privtally.service.problems import refuse
from privtally.service.receiving import receive
from privtally.store.folding import fold_all
from privtally.store.session import Store
from privtally.version import __version__

MOST_BYTES = 1 << 23
"""The largest request that is read."""

ROUTES = [
    campaigns.create,
    campaigns.list_all,
    campaigns.show,
    campaigns.remove,
    campaigns.remove_reports,
    campaigns.advance,
    campaigns.refresh,
    campaigns.close,
    campaigns.plan,
    campaigns.plans,
    receive,
    results.estimates,
    results.counters,
    results.export,
    health.livez,
    health.readyz,
    health.metrics,
]


def create_app(store: Store, advise: Advise | None = None, estimates: Estimates | None = None) -> Litestar:
    """The service over a store, which the caller closes; without advice nobody can leave the mechanism to it."""
    collector = Collector(store, advise, estimates)

    @asynccontextmanager
    async def taking_reports(app: Litestar) -> AsyncIterator[None]:
        app.state.collector = collector
        await rewrite_if_due(store)
        await fold_all(store)
        task = asyncio.create_task(collector.intake.run())
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    return Litestar(
        ROUTES,
        dependencies={"collector": Provide(lambda: collector, sync_to_thread=False)},
        before_send=[name_all_methods],
        exception_handlers={Exception: refuse},
        lifespan=[taking_reports],
        logging_config=None,
        openapi_config=OpenAPIConfig(
            title="privtally",
            version=__version__,
            components=COMPONENTS,
            path="/schema",
            render_plugins=[JsonRenderPlugin(path=["/", "/openapi.json"])],
        ),
        request_max_body_size=MOST_BYTES,
        response_headers={"X-Content-Type-Options": "nosniff"},
    )
