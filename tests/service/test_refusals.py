"""What is refused, with its reason, and stores nothing."""

import gzip
from typing import Any

import pytest

from privtally.errors import UnavailableError
from tests.service.site import NDJSON, Site, edited, receipt, reports_to

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


def test_a_report_is_not_read_beyond_its_length_nor_a_batch_beyond_its_lines(site: Site, campaign: str) -> None:
    (report,) = reports_to(site.plan(campaign), 1)
    line = report.dump()
    for kind in (JSON, NDJSON):
        assert site.post(campaign, line + b" " * 2_000, kind) == receipt(refused=[(0, "invalid_report")])
    assert site.post(campaign, b"\n" * 1_000 + line, NDJSON, 413) == "too-many-reports"
    assert site.counters(campaign) == [0]
    assert site.post(campaign, line + b" " * 500 + b"\n" * (1 << 20), NDJSON) == receipt(accepted=1)


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


def test_a_service_that_stores_nothing_is_not_ready(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def ended() -> None:
        raise UnavailableError("the intake of reports has ended; start the service again")

    monkeypatch.setattr(site.client.app.state.collector.intake, "check", ended)
    assert site.ok(site.client.get("/readyz"), 503) == "unavailable"


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


def test_options_names_every_method_of_a_path(site: Site, campaign: str) -> None:
    for path, expected in (("", "GET, OPTIONS, POST"), (f"/{campaign}/reports", "DELETE, OPTIONS, POST")):
        assert site.client.options(f"/v1/campaigns{path}").headers["allow"] == expected
        answer = site.client.patch(f"/v1/campaigns{path}")
        assert sorted(answer.headers["allow"].split(", ")) == expected.split(", ")


def test_no_page_of_another_origin_may_read_an_answer(site: Site, campaign: str) -> None:
    headers = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "POST"}
    for method, path in (("GET", "/plan"), ("OPTIONS", "/reports"), ("GET", "")):
        answer = site.client.request(method, f"/v1/campaigns/{campaign}{path}", headers=headers)
        assert not [name for name in answer.headers if name.startswith("access-control-")]
