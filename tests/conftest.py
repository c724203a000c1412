"""Hypothesis without deadlines or surprises: the same examples on every run. And one PostgreSQL server for all."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.scale import FULL, scaled
from tests.store.postgres_server import folder_for_all, server_in

# Before NumPy is imported: threads that wait for one another take the cores from other workers.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# No clock decides whether a test passes, on a busy machine either.
settings.register_profile(
    "privtally",
    deadline=None,
    derandomize=True,
    max_examples=scaled(30, 60),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("privtally")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spark first: its tests take longest, and a worker that begins them last keeps the others waiting."""
    items[:] = [item for item in items if FULL or item.get_closest_marker("full") is None]
    items.sort(key=lambda item: "spark" not in item.path.name)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    with folder_for_all() as folder, server_in(folder / "data") as server:
        yield server.get_uri()
