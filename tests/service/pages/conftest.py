"""The service with its pages in this process, over an empty SQLite store."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.service.pages.visitor import Visitor

if TYPE_CHECKING:
    from tests.service.pages.browser import Running


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[Visitor]:
    """Somebody who is not logged in yet."""
    pytest.importorskip("litestar", reason="needs the extra: pip install 'privtally[serve]'")
    from litestar.testing import TestClient

    from privtally.lab.advise import recommend
    from privtally.service.app import create_app
    from privtally.service.operations import new_admin_token
    from privtally.service.pages import add_pages
    from privtally.service.pages.rendering import Setup
    from privtally.store import open_store

    store = asyncio.run(open_store(f"sqlite:///{tmp_path}/store.db"))
    token = asyncio.run(new_admin_token(store))
    app = create_app(store, recommend)
    add_pages(app, Setup(recommend))
    with TestClient(app) as client:
        yield Visitor(client, token)
    asyncio.run(store.close())


@pytest.fixture
def admin(visitor: Visitor) -> Visitor:
    """Somebody who is logged in."""
    assert visitor.submit("/login", token=visitor.token).status_code == 303
    return visitor


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Running]":
    """The service with a browser; no longer than a module, since the browser's event loop is in the way of others."""
    pytest.importorskip("litestar", reason="needs the extra: pip install 'privtally[serve]'")
    from playwright.sync_api import sync_playwright

    from tests.service.pages.browser import CHROMIUM, launch, running

    if CHROMIUM is None:
        pytest.skip("needs chromium; name its path in PRIVTALLY_CHROMIUM")
    with running(tmp_path_factory.mktemp("pages")) as found, sync_playwright() as playwright:
        found.browser = launch(playwright)
        yield found
        found.browser.close()
