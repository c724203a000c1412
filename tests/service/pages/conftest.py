"""The service with its pages in this process, over an empty SQLite store."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.service.pages.visitor import Visitor

if TYPE_CHECKING:
    from tests.service.pages.browser import Running


collect_ignore_glob = [] if find_spec("playwright") else ["test_browser_*.py"]


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[Visitor]:
    """Somebody who is not logged in yet."""
    from litestar.testing import TestClient

    from tests.service.listening import application

    with application(tmp_path) as made, TestClient(made.app) as client:
        yield Visitor(client, made.token)


@pytest.fixture
def admin(visitor: Visitor) -> Visitor:
    """Somebody who is logged in."""
    assert visitor.submit("/login", token=visitor.token).status_code == 303
    return visitor


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Running]":
    """The service with a browser; no longer than a module, since the browser's event loop is in the way of others."""
    from playwright.sync_api import sync_playwright

    from tests.service.pages.browser import CHROMIUM, launch, running

    if CHROMIUM is None:
        pytest.skip("needs chromium; name its path in PRIVTALLY_CHROMIUM")
    with running(tmp_path_factory.mktemp("pages")) as found, sync_playwright() as playwright:
        found.browser = launch(playwright)
        yield found
        found.browser.close()
