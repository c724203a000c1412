"""A campaign from its first plan to its deletion, over HTTP."""

import json

import pytest

from privtally.collector.estimate import estimate
from privtally.collector.tally import tally
from privtally.documents.estimate import load_estimate
from privtally.exact import canonical as wire
from tests.service.site import Site, receipt, reports_to, schema_document


def test_two_phases_give_the_estimate_of_their_counts(site: Site, campaign: str) -> None:
    first = site.plan(campaign)
    one = reports_to(first, 300)
    assert site.send(campaign, *one) == receipt(accepted=300)
    following = site.advance(campaign, first.digest)
    second = site.plan(campaign)
    assert following["digest"] == second.digest
    assert (second.phase, second.campaign_id) == (2, campaign)
    two = reports_to(second, 400, seed=2)
    assert site.send(campaign, *two) == receipt(accepted=400)
    assert site.counters(campaign) == [300, 400]
    answer = site.client.get(f"/v1/campaigns/{campaign}/estimates?method=unbiased", headers=site.admin)
    history = [(plan, tally(plan, reports)) for plan, reports in ((first, one), (second, two))]
    assert load_estimate(answer.content) == estimate(history, "unbiased")
    listed = site.ok(site.client.get(f"/v1/campaigns/{campaign}/plans"))
    assert [plan["digest"] for plan in listed] == [first.digest, second.digest]


@pytest.mark.parametrize("name", ["plan", "plans"])
def test_a_plan_that_is_known_is_not_sent_again(site: Site, campaign: str, name: str) -> None:
    answer = site.client.get(f"/v1/campaigns/{campaign}/{name}", headers={"If-None-Match": f'"{campaign}"'})
    assert (answer.status_code, answer.content) == (304, b"")


def test_documents_of_plans_are_laid_out_once(site: Site, campaign: str, monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out: list[object] = []
    canonical = wire.canonical
    before = [site.client.get(f"/v1/campaigns/{campaign}/{name}").content for name in ("plan", "plans")]

    def noting(value: object) -> bytes:
        laid_out.append(value)
        return canonical(value)

    monkeypatch.setattr(wire, "canonical", noting)
    after = [site.client.get(f"/v1/campaigns/{campaign}/{name}").content for name in ("plan", "plans")]
    assert after == before
    assert laid_out == []
    site.create()
    assert laid_out  # the control


def test_late_reports_to_an_earlier_phase_count_until_the_campaign_closes(site: Site, campaign: str) -> None:
    plan = site.plan(campaign)
    early, late, never = (reports_to(plan, people, seed) for people, seed in ((200, 1), (5, 2), (5, 3)))
    site.send(campaign, *early)
    site.advance(campaign, campaign)
    assert site.send(campaign, *late) == receipt(accepted=5)
    assert site.close(campaign)["state"] == "closed"
    both = [*late, *never]
    assert site.send(campaign, *both) == receipt(repeated=5, refused=[(own, "phase_closed") for own in range(5, 10)])
    assert site.counters(campaign) == [205, 0]
    assert site.ok(site.client.get(f"/v1/campaigns/{campaign}/plan"), 409) == "campaign-closed"
    assert site.advance(campaign, site.ok(site.client.get(f"/v1/campaigns/{campaign}/plans"))[-1]["digest"], 409)


def test_deleting_needs_the_title_and_a_closed_campaign(site: Site, campaign: str) -> None:
    address = f"/v1/campaigns/{campaign}"

    def delete(title: str, status: int) -> None:
        site.ok(site.client.delete(address, params={"title": title}, headers=site.admin), status)

    delete("Sleep", 409)
    site.close(campaign)
    delete("sleep", 409)
    delete("Sleep", 204)
    for path in ("", "/plan", "/plans", "/counters", "/estimates"):
        assert site.ok(site.client.get(address + path, headers=site.admin), 404) == "unknown-campaign"
    assert site.post(campaign, b"", "application/x-ndjson", 404) == "unknown-campaign"


def test_reports_are_deleted_and_the_totals_stay(site: Site, campaign: str) -> None:
    address = f"/v1/campaigns/{campaign}/reports"
    reports = reports_to(site.plan(campaign), 50)
    site.send(campaign, *reports)
    estimates = f"/v1/campaigns/{campaign}/estimates?method=unbiased"
    before = site.ok(site.client.get(estimates, headers=site.admin))

    def delete(title: str, status: int) -> None:
        site.ok(site.client.delete(address, params={"title": title}, headers=site.admin), status)

    delete("Sleep", 409)
    site.close(campaign)
    delete("other", 409)
    delete("Sleep", 204)
    assert site.ok(site.client.get(estimates, headers=site.admin)) == before
    assert site.counters(campaign) == [50]
    export = site.client.get(f"/v1/campaigns/{campaign}/export?format=ndjson", headers=site.admin)
    assert export.content == b""
    refused = [(own, "phase_closed") for own in range(50)]
    assert site.send(campaign, *reports) == receipt(refused=refused)


def test_a_campaign_is_shown_as_it_was_created(site: Site) -> None:
    options = {"people": 500, "published": True}
    made = site.create(title="Wohnen & Schlaf", answers=2, options=options, schema=schema_document((4, 4)))
    assert made["title"] == "Wohnen & Schlaf"
    assert made["options"] == options
    assert (made["state"], made["answers"], made["mechanism"], made["epsilon"]) == ("open", 2, "corr-rr", 2.0)
    assert made["phases"] == [{"phase": 1, "round": 1, "plan": made["id"], "reports": 0}]
    assert site.ok(site.client.get("/v1/campaigns", headers=site.admin)) == [made]
    other = site.create()
    assert [own["id"] for own in site.ok(site.client.get("/v1/campaigns", headers=site.admin))] == [
        other["id"],
        made["id"],
    ]


@pytest.mark.parametrize("published", [True, False])
def test_estimates_are_open_only_if_published(site: Site, published: bool) -> None:
    campaign = site.create(mechanism="smp", options={"published": published})["id"]
    address = f"/v1/campaigns/{campaign}/estimates"
    assert site.ok(site.client.get(address, headers=site.admin), 409) == "cannot-estimate"
    site.send(campaign, *reports_to(site.plan(campaign), 100))
    assert site.client.get(address).status_code == (200 if published else 401)
    assert site.ok(site.client.get(address + "?method=guess", headers=site.admin), 400)
    assert site.advance(campaign, campaign, 409) == "cannot-learn"


def test_health_and_metrics(site: Site, campaign: str) -> None:
    assert site.client.get("/livez").status_code == site.client.get("/readyz").status_code == 200
    site.send(campaign, *reports_to(site.plan(campaign), 7))
    text = site.client.get("/metrics", headers=site.admin).text
    assert 'privtally_reports_total{outcome="accepted"} 7.0' in text
    assert "_created" not in text  # when the first report came
    document = json.loads(site.client.get("/schema/openapi.json").content)
    sending = document["paths"]["/v1/campaigns/{campaign_id}/reports"]["post"]
    assert set(sending["requestBody"]["content"]) == {"application/json", "application/x-ndjson"}
    for path in document["paths"].values():
        for operation in path.values():
            assert "$ref" not in json.dumps(operation.get("requestBody"))


def test_a_campaign_with_priors_has_one_phase(site: Site) -> None:
    schema = schema_document((2, 3))
    priors = {own["name"]: {label: 1 / len(own["labels"]) for label in own["labels"]} for own in schema["attributes"]}
    made = site.create(schema=schema, mechanism="rs-rfd", priors=priors, options={})
    plan = site.plan(made["id"])
    assert plan.has_priors
    assert site.advance(made["id"], made["id"], status=409) == "cannot-learn"
    assert site.send(made["id"], *reports_to(plan, 50)) == receipt(accepted=50)
    site.refresh(made["id"], made["id"])
    again = site.plan(made["id"])
    assert (again.round, again.parts, again.has_priors) == (2, plan.parts, True)
