"""Made-up requests find no defect, and every answer is as the OpenAPI document says."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from litestar import Response, get

from tests.scale import FULL, scaled
from tests.service.fuzzing import OWN, PLANTED, fuzz
from tests.service.listening import application, listening
from tests.service.site import Site

LEAST = scaled(500, 5_000)
"""So many requests there are at least."""
FEW = "/(estimates|reports)$"
"""Paths where it matters who asks."""


@get("/planted/defect")
async def defect() -> None:
    raise KeyError


@get("/planted/body")
async def another_body() -> Response[dict[str, int]]:
    return Response({"one": "two"})  # type: ignore[dict-item]  # the planted fault


@get("/planted/kind")
async def another_kind() -> Response[dict[str, int]]:
    return Response("1", media_type="text/csv")  # type: ignore[arg-type]  # the planted fault


@get("/planted/status")
async def another_status() -> Response[dict[str, int]]:
    return Response({}, status_code=203)


EXPECTED = {
    "GET /planted/defect": "ServerError",
    "GET /planted/body": "JsonSchemaError",
    "GET /planted/kind": "UndefinedContentType",
    "GET /planted/status": "UndefinedStatusCode",
}


@pytest.fixture
def fuzzed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with application(tmp_path) as made:
        for planted in (defect, another_body, another_kind, another_status):
            made.app.register(planted)
        with listening(made.app) as url, httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
            yield Site(client, made.token)


def test_every_answer_is_as_the_document_says(fuzzed: Site) -> None:
    found = fuzz(fuzzed, scaled(3, 400), fuzzed.admin)
    print(f"{found.cases:,} requests of an administrator, answers by status: {dict(sorted(found.answers.items()))}")  # noqa: T201  # a figure for the guide
    assert found.faults == []
    assert found.cases >= LEAST
    assert {200, 201, 204, 400, 404, 405, 409, 415} <= set(found.answers)  # they are aimed well


def test_whoever_is_no_administrator_is_answered_as_the_document_says(fuzzed: Site) -> None:
    found = fuzz(fuzzed, scaled(1, 100), {}, OWN if FULL else FEW)
    print(f"{found.cases:,} requests of others, answers by status: {dict(sorted(found.answers.items()))}")  # noqa: T201  # a figure for the guide
    assert found.faults == []
    assert {200, 401} <= set(found.answers)


def test_what_is_planted_is_found(fuzzed: Site) -> None:
    found = fuzz(fuzzed, 1, fuzzed.admin, PLANTED)
    assert {(own.operation, own.kind) for own in found.faults} >= set(EXPECTED.items())
