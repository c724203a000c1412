"""The service in this process, over an empty SQLite store."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.site import Site


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    pytest.importorskip("litestar", reason="needs the extra: pip install 'privtally[serve]'")
    from litestar.testing import TestClient

    from privtally.service.app import create_app
    from privtally.service.operations import new_admin_token
    from privtally.store import open_store

    store = asyncio.run(open_store(f"sqlite:///{tmp_path}/store.db"))
    token = asyncio.run(new_admin_token(store))
    with TestClient(create_app(store)) as client:
        yield Site(client, token)
    asyncio.run(store.close())


@pytest.fixture
def campaign(site: Site) -> str:
    """The id of an open corr-rr campaign of two questions."""
    return str(site.create()["id"])
