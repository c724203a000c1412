"""What is refused, with its reason, and stores nothing."""

import asyncio
import gzip
import json
from typing import Any

import pytest

from privtally.errors import UnavailableError
from tests.service.site import NDJSON, Site, edited, receipt, reports_to, schema_document

JSON = "application/json"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"codes": ["1", 0]}, "invalid_report"),
        ({"codes": [True, 0]}, "invalid_report"),
        ({"codes": [1.0, 0]}, "invalid_report"),
        ({"codes": [3, 0]}, "invalid_report"),
        ({"codes": [-1, 0]}, "invalid_report"),
        ({"codes": [None, 0]}, "invalid_report"),
        ({"codes": [1]}, "invalid_report"),
        ({"codes": []}, "invalid_report"),
        ({"id": "AB" * 16}, "invalid_report"),
        ({"id": 7}, "invalid_report"),
        ({"id": "\ud800" * 32}, "invalid_report"),
        ({"plan": "0" * 63}, "invalid_report"),
        ({"plan": "0" * 64}, "wrong_plan"),
        ({"format": "privtally.report/2"}, "invalid_report"),
        ({"more": 1}, "invalid_report"),
    ],
)
def test_reports_that_do_not_fit_are_refused(site: Site, campaign: str, changes: dict[str, Any], reason: str) -> None:
    (report,) = reports_to(site.plan(campaign), 1)
    assert site.send(campaign, edited(report, **changes)) == receipt(refused=[(0, reason)])
    assert site.counters(campaign) == [0]
    assert site.send(campaign, report) == receipt(accepted=1)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"a":' * 50_000])
def test_what_is_no_report_is_refused(site: Site, campaign: str, body: bytes) -> None:
    assert site.post(campaign, body, JSON) == receipt(refused=[(0, "invalid_report")])
    assert site.counters(campaign) == [0]


def test_in_a_batch_each_line_stands_for_itself(site: Site, campaign: str) -> None:
    one, two = reports_to(site.plan(campaign), 2)
    codes = [0, 1] if list(one.codes) != [0, 1] else [1, 0]
    lines = [
        one.dump(),
        b"nonsense",
        edited(one, codes=codes),
        b"",
        one.dump(),
        edited(two, codes=["0", 0]),
        two.dump(),
    ]
    refused = [(1, "invalid_report"), (2, "id_conflict"), (4, "invalid_report")]
    assert site.post(campaign, b"\r\n".join(lines), NDJSON) == receipt(2, 1, refused)
    assert site.counters(campaign) == [2]


def test_a_closed_campaign_takes_nothing_new(site: Site, campaign: str) -> None:
    before, after = reports_to(site.plan(campaign), 2)
    site.send(campaign, before)
    site.close(campaign)
    assert site.send(campaign, before, after) == receipt(repeated=1, refused=[(1, "phase_closed")])
    assert site.counters(campaign) == [1]
    assert site.ok(site.client.get(f"/v1/campaigns/{campaign}/plan"), 409) == "campaign-closed"


def test_reports_of_another_campaign_are_refused(site: Site, campaign: str) -> None:
    other = site.create()["id"]
    assert site.send(other, *reports_to(site.plan(campaign), 1)) == receipt(refused=[(0, "wrong_plan")])


def test_bodies_of_other_kinds_and_sizes_are_refused(site: Site, campaign: str) -> None:
    (report,) = reports_to(site.plan(campaign), 1)
    line = report.dump()
    assert site.post(campaign, line, "text/plain", 415) == "wrong-media-type"
    bomb = gzip.compress(line + b" " * 50_000_000)
    for kind in ("gzip", "GZIP", "gzip, gzip", "br", "deflate"):
        assert site.post(campaign, bomb, JSON, 415, **{"Content-Encoding": kind}) == "compressed"
    assert site.post(campaign, (line + b"\n") * 1_001, NDJSON, 413) == "too-many-reports"
    assert site.post(campaign, line + b" " * (1 << 23), JSON, 413) == "request-entity-too-large"
    assert site.counters(campaign) == [0]


def test_a_store_that_cannot_take_reports_asks_to_come_back(
    site: Site, campaign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (report,) = reports_to(site.plan(campaign), 1)

    async def fails(_: object) -> None:
        raise UnavailableError("disk of 203.0.113.1 is full")

    monkeypatch.setattr(site.client.app.state.collector.store, "write", fails)
    answer = site.client.post(
        f"/v1/campaigns/{campaign}/reports", content=report.dump(), headers={"Content-Type": JSON}
    )
    assert site.ok(answer, 503) == "unavailable"
    assert int(answer.headers["retry-after"]) > 0
    assert b"203.0.113.1" not in answer.content
    monkeypatch.undo()
    assert site.send(campaign, report) == receipt(accepted=1)


def test_a_defect_says_nothing_about_what_was_sent(
    site: Site, campaign: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (report,) = reports_to(site.plan(campaign), 1)

    async def fails(_: object) -> None:
        raise KeyError(report.id)

    monkeypatch.setattr(site.client.app.state.collector.store, "write", fails)
    answer = site.client.post(
        f"/v1/campaigns/{campaign}/reports", content=report.dump(), headers={"Content-Type": JSON}
    )
    assert site.ok(answer, 500) == "defect"
    (line,) = caplog.records
    assert report.id not in answer.text + str(vars(line))
    assert "places" in vars(line)


def test_unknown_places_and_methods_are_problems_too(site: Site, campaign: str) -> None:
    (report,) = reports_to(site.plan(campaign), 1)
    assert site.post("0" * 64, report.dump(), JSON, 404) == "unknown-campaign"
    assert site.ok(site.client.get("/v1/nothing"), 404) == "not-found"
    assert site.ok(site.client.put("/v1/campaigns"), 405) == "method-not-allowed"
    for odd in ("..%2f..%2fetc%2fpasswd", "a'; DROP TABLE reports; --", "%00", "ü"):
        assert site.client.get(f"/v1/campaigns/{odd}/plan").status_code == 404


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
        {"schema": schema_document((3, 2))},
        {"answers": 1.5},
        {"options": {"people": 0}},
        {"options": {"phase1_share": 1}},
        {"options": {"max_pivot_guess": 0}},
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


def test_options_names_every_method_of_a_path(site: Site, campaign: str) -> None:
    for path, expected in (("", "GET, OPTIONS, POST"), (f"/{campaign}/reports", "DELETE, OPTIONS, POST")):
        assert site.client.options(f"/v1/campaigns{path}").headers["allow"] == expected
        answer = site.client.patch(f"/v1/campaigns{path}")
        assert sorted(answer.headers["allow"].split(", ")) == expected.split(", ")


def test_an_encoded_slash_opens_nothing(site: Site, campaign: str) -> None:
    for way in ("%2f", "%2F", "/%2e/", "//"):
        for place in ("export", "counters"):
            assert site.client.get(f"/v1/campaigns/{campaign}{way}{place}").status_code in (401, 404), way


def test_an_old_administrators_token_opens_nothing(site: Site) -> None:
    from privtally.service.tokens import new_admin_token

    new = asyncio.run(new_admin_token(site.client.app.state.collector.store))
    assert site.ok(site.client.get("/v1/campaigns", headers=site.admin), 401) == "not-admin"
    assert site.ok(site.client.get("/v1/campaigns", headers={"Authorization": f"Bearer {new}"})) == []


def test_no_page_of_another_origin_may_read_an_answer(site: Site, campaign: str) -> None:
    headers = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST"}
    for method, path in (("GET", "/plan"), ("OPTIONS", "/reports"), ("GET", "")):
        answer = site.client.request(method, f"/v1/campaigns/{campaign}{path}", headers=headers)
        assert not [name for name in answer.headers if name.startswith("access-control-")]


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
