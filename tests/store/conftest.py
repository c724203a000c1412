"""Both stores, empty, for every test that asks for one."""

from collections.abc import AsyncIterator
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import pytest

from privtally.store import open_store
from privtally.store.session import Store
from tests.store.postgres_server import new_database

collect_ignore_glob = [] if find_spec("apsw") and find_spec("asyncpg") else ["test_*.py"]
"""The stores need the extra: pip install 'privtally[serve]'."""
_NUMBERS = count()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty store of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    return new_database(request.getfixturevalue("postgres"), f"test_{next(_NUMBERS)}")


@pytest.fixture
async def store(address: str) -> AsyncIterator[Store]:
    store = await open_store(address)
    yield store
    await store.close()
