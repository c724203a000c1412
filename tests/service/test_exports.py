"""Exports hold what the campaign holds."""

import io
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from privtally.collector.estimate import estimate
from privtally.collector.tally import tally
from privtally.documents.counts import load_counts
from privtally.documents.plan import load_plan
from privtally.documents.report import load_report
from privtally.errors import EstimateError
from privtally.service.collector import Estimates
from privtally.tables.engines import tally_files
from tests.service.site import Site, contradictory, reports_to, schema_document

PEOPLE = 2_500  # more than a page


def exported(site: Site, campaign: str, status: int = 200, **wanted: Any) -> bytes:
    answer = site.client.get(f"/v1/campaigns/{campaign}/export", params=wanted, headers=site.admin)
    assert answer.status_code == status
    return bytes(answer.content)


@pytest.mark.parametrize("mechanism", ["smp", "corr-rr"])
def test_every_format_says_the_same(site: Site, tmp_path: Path, mechanism: str) -> None:
    campaign = site.create(mechanism=mechanism)["id"]
    plan = site.plan(campaign)
    reports = list(reports_to(plan, PEOPLE))
    for start in range(0, PEOPLE, 500):
        site.send(campaign, *reports[start : start + 500])
    counts = tally(plan, reports)

    whole = json.loads(exported(site, campaign))
    (phase,) = whole["phases"]
    assert load_plan(json.dumps(phase["plan"])) == plan
    assert load_counts(json.dumps(phase["counts"]), plan) == counts
    found = estimate([(plan, counts)])
    assert whole["estimate"] == json.loads(found.dump())
    assert "no_estimate" not in whole
    assert exported(site, campaign, format="csv") == found.to_csv()

    lines = exported(site, campaign, format="ndjson", ids=True).splitlines()
    assert [load_report(line) for line in lines] == sorted(reports, key=lambda report: report.id)
    bare = [json.loads(line) for line in exported(site, campaign, format="ndjson").splitlines()]
    assert [own["codes"] for own in bare] == [json.loads(line)["codes"] for line in lines]
    assert set(bare[0]) == {"plan", "codes"}

    table = pq.read_table(io.BytesIO(exported(site, campaign, format="parquet"))).to_pylist()
    assert [list(row.values()) for row in table] == [[own["plan"], *own["codes"]] for own in bare]
    path = tmp_path / "all.parquet"
    path.write_bytes(exported(site, campaign, format="parquet", ids=True))
    assert tally_files(plan, [path]) == counts


def cannot_estimate(*_: Any, **__: Any) -> None:
    raise EstimateError("no estimate today")


def is_defective(*_: Any, **__: Any) -> None:
    raise LookupError("secret")


def test_made_up_reports_that_break_the_estimator_leave_counts_and_reports(site: Site) -> None:
    campaign = site.create(schema=schema_document((6,) * 6), epsilon=24.0, mechanism="rs-fd")["id"]
    reports = contradictory(site.plan(campaign))
    site.send(campaign, *reports)
    answer = site.client.get(f"/v1/campaigns/{campaign}/estimates", headers=site.admin)
    possible = answer.status_code == 200
    assert possible or site.ok(answer, 409) == "cannot-estimate"
    exported(site, campaign, 200 if possible else 409, format="csv")
    whole = json.loads(exported(site, campaign))
    assert (whole["estimate"] is None) == ("no_estimate" in whole) == (not possible)
    assert [phase["counts"]["reports"] for phase in whole["phases"]] == [len(reports)]
    assert len(exported(site, campaign, format="ndjson").splitlines()) == len(reports)


@pytest.mark.parametrize(
    ("estimator", "status", "name", "why"),
    [(cannot_estimate, 409, "cannot-estimate", "no estimate today"), (is_defective, 500, "defect", "defect")],
)
def test_an_estimator_that_fails_keeps_nobody_from_the_counts(
    site: Site,
    campaign: str,
    caplog: pytest.LogCaptureFixture,
    estimator: Any,
    status: int,
    name: str,
    why: str,
) -> None:
    collector = site.client.app.state.collector
    collector.estimates = Estimates(collector.store, estimator)
    plan = site.plan(campaign)
    site.send(campaign, *reports_to(plan, 30))
    assert site.ok(site.client.get(f"/v1/campaigns/{campaign}/estimates", headers=site.admin), status) == name
    whole = json.loads(exported(site, campaign))
    assert whole["estimate"] is None
    assert why in whole["no_estimate"]
    assert load_counts(json.dumps(whole["phases"][0]["counts"]), plan).reports == 30
    assert {line.__dict__["kind"] for line in caplog.records} == ({"LookupError"} if name == "defect" else set())
    assert "secret" not in caplog.text + str(whole)


def test_a_campaign_without_reports_has_no_estimate(site: Site, campaign: str) -> None:
    whole = json.loads(exported(site, campaign))
    assert whole["estimate"] is None
    assert "no reports" in whole["no_estimate"]
    assert exported(site, campaign, format="ndjson") == b""
    assert pq.read_table(io.BytesIO(exported(site, campaign, format="parquet"))).num_rows == 0
    exported(site, campaign, 409, format="csv")
    exported(site, campaign, 400, format="xml")
    assert site.ok(site.client.get(f"/v1/campaigns/{'0' * 64}/export", headers=site.admin), 404)
