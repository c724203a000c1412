"""What an administrator may not ask for, and what nobody else may."""

import asyncio
import gzip
import json
from typing import Any

import pytest

from tests.service.site import NDJSON, Site, schema_document

JSON = "application/json"


@pytest.mark.parametrize(
    "changes",
    [
        {"title": " "},
        {"title": "x" * 201},
        {"title": "line\nbreak"},
        {"title": 5},
        {"epsilon": "2"},
        {"epsilon": 0},
        {"epsilon": True},
        {"mechanism": "rr"},
        {"schema": {"attributes": []}},
        {"answers": 1.5},
        {"options": {"people": 0}},
        {"options": {"phase1_share": 1}},
        {"options": {"unknown": 1}},
        {"owner": "me"},
        {"groups": [["q0"]]},
    ],
)
def test_campaigns_that_cannot_be_are_refused(site: Site, changes: dict[str, Any]) -> None:
    assert site.create(400, **changes) == "invalid-request"
    assert site.ok(site.client.get("/v1/campaigns", headers=site.admin)) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"title": "half a character \ud800"},
        {"groups": [["\ud800", "q1"]]},
        {"\ud800": 1},
        {"epsilon": float("nan")},
        {"options": {"phase1_share": float("inf")}},
    ],
)
def test_what_json_cannot_say_is_refused(site: Site, changes: dict[str, Any]) -> None:
    body = {"title": "Sleep", "schema": schema_document(), "epsilon": 2.0, "mechanism": "smp", **changes}
    headers = {**site.admin, "Content-Type": JSON}
    assert site.ok(site.client.post("/v1/campaigns", content=json.dumps(body), headers=headers), 400)
    assert site.ok(site.client.get("/v1/campaigns", headers=site.admin)) == []


def test_requests_of_an_administrator_are_strict(site: Site, campaign: str) -> None:
    address = f"/v1/campaigns/{campaign}/advance"
    for body in ("{}", '{"plan": 1}', '{"plan": "a", "plan": "b"}', "[]", "{", '{"plan": "a", "x": 1}'):
        answer = site.client.post(address, content=body, headers={**site.admin, "Content-Type": JSON})
        assert site.ok(answer, 400) == "invalid-request"
    assert site.ok(site.client.post(address, content="{}", headers=site.admin), 415)


@pytest.mark.parametrize("path", ["", "/{campaign}/advance"])
@pytest.mark.parametrize(
    ("body", "headers", "status", "name"),
    [
        (b"{}", {"Content-Type": "text/plain"}, 415, "wrong-media-type"),
        (b"{}", {"Content-Type": NDJSON}, 415, "wrong-media-type"),
        (gzip.compress(b" " * 50_000_000), {"Content-Encoding": "gzip"}, 415, "compressed"),
        (b" " * (1 << 23) + b"{}", {}, 413, "request-entity-too-large"),
        (b"[" * 1_000_000, {}, 400, "invalid-request"),
        (b'{"plan":' * 500_000, {}, 400, "invalid-request"),
        (b'{"plan": "\\ud800"}', {}, 400, "invalid-request"),
        (b'{"plan": ' + b"9" * 100_000 + b"}", {}, 400, "invalid-request"),
    ],
)
def test_bodies_of_an_administrator_have_limits_too(
    site: Site, campaign: str, path: str, body: bytes, headers: dict[str, str], status: int, name: str
) -> None:
    address = f"/v1/campaigns{path}".replace("{campaign}", campaign)
    answer = site.client.post(address, content=body, headers={**site.admin, "Content-Type": JSON, **headers})
    assert site.ok(answer, status) == name
    (kept,) = site.ok(site.client.get("/v1/campaigns", headers=site.admin))
    assert [phase["plan"] for phase in kept["phases"]] == [campaign]


def test_an_encoded_slash_opens_nothing(site: Site, campaign: str) -> None:
    for way in ("%2f", "%2F", "/%2e/", "//"):
        for place in ("export", "counters"):
            assert site.client.get(f"/v1/campaigns/{campaign}{way}{place}").status_code in (401, 404), way


def test_an_old_administrators_token_opens_nothing(site: Site) -> None:
    from privtally.service.operations import new_admin_token

    new = asyncio.run(new_admin_token(site.client.app.state.collector.store))
    assert site.ok(site.client.get("/v1/campaigns", headers=site.admin), 401) == "not-admin"
    assert site.ok(site.client.get("/v1/campaigns", headers={"Authorization": f"Bearer {new}"})) == []


def test_everything_else_needs_the_administrators_token(site: Site, campaign: str) -> None:
    address = f"/v1/campaigns/{campaign}"
    requests = [
        ("POST", "/v1/campaigns"),
        ("GET", "/v1/campaigns"),
        ("GET", address),
        ("DELETE", f"{address}?title=Sleep"),
        ("DELETE", f"{address}/reports?title=Sleep"),
        ("POST", f"{address}/advance"),
        ("POST", f"{address}/refresh"),
        ("POST", f"{address}/close"),
        ("GET", f"{address}/counters"),
        ("GET", f"{address}/estimates"),
        ("GET", f"{address}/export"),
        ("GET", "/metrics"),
    ]
    wrong = ["", "Bearer", "Bearer ", f"Bearer {site.token[:-1]}", f"Bearer {site.token}x", f"Basic {site.token}"]
    for method, path in requests:
        for value in wrong:
            answer = site.client.request(method, path, headers={"Authorization": value} if value else {})
            assert site.ok(answer, 401) == "not-admin"
            assert answer.headers["www-authenticate"] == "Bearer"
    assert json.loads(site.client.get(address, headers=site.admin).content)["state"] == "open"
