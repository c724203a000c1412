"""Hypothesis without deadlines or surprises: the same examples on every run. And one PostgreSQL server for all."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.store.postgres_server import folder_for_all, server_in

settings.register_profile("privtally", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("privtally")


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    with folder_for_all() as folder, server_in(folder / "data") as server:
        yield server.get_uri()
