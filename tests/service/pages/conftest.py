"""The service with its pages in this process, over an empty SQLite store."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.pages.visitor import Visitor


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[Visitor]:
    """Somebody who is not logged in yet."""
    pytest.importorskip("litestar", reason="needs the extra: pip install 'privtally[serve]'")
    from litestar.testing import TestClient

    from privtally.cli.live_advice import live_advice
    from privtally.service.app import create_app
    from privtally.service.pages import Setup, add_pages
    from privtally.service.tokens import new_admin_token
    from privtally.store import open_store

    store = asyncio.run(open_store(f"sqlite:///{tmp_path}/store.db"))
    token = asyncio.run(new_admin_token(store))
    app = create_app(store)
    add_pages(app, Setup(live_advice))
    with TestClient(app) as client:
        yield Visitor(client, token)
    asyncio.run(store.close())


@pytest.fixture
def admin(visitor: Visitor) -> Visitor:
    """Somebody who is logged in."""
    assert visitor.submit("/login", token=visitor.token).status_code == 303
    return visitor
