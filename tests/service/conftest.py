"""The service in this process, over an empty SQLite store."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.service.site import Site
from tests.store.conftest import address, anyio_backend, store

__all__ = ["address", "anyio_backend", "store"]
collect_ignore_glob = [] if find_spec("litestar") else ["*"]
"""The service needs the extra: pip install 'privtally[serve]'."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    from litestar.testing import TestClient

    from tests.service.listening import application

    with application(tmp_path, pages=False) as made, TestClient(made.app) as client:
        yield Site(client, made.token)


@pytest.fixture
def campaign(site: Site) -> str:
    """The id of an open corr-rr campaign of two questions."""
    return str(site.create()["id"])
