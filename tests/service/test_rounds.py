"""Further rounds of a campaign, over HTTP: who may open them, what they ask, and what comes of them."""

import asyncio
from functools import partial
from typing import Any

import pytest

from privtally.collector.estimate import estimate
from privtally.collector.tally import tally
from privtally.documents.estimate import load_estimate
from privtally.documents.plan import Plan
from privtally.service.operations import is_early, issue
from privtally.store.campaigns import count_tokens
from tests.service.site import Site, receipt, reports_to


def test_rounds_give_the_estimates_of_their_counts(site: Site, campaign: str) -> None:
    history = []
    for seed, step in enumerate((site.advance, site.refresh, site.advance, None), start=1):
        plan = site.plan(campaign)
        reports = reports_to(plan, 200, seed)
        site.send(campaign, *reports)
        history.append((plan, tally(plan, reports)))
        if step is not None:
            following = step(campaign, plan.digest)
            assert step(campaign, plan.digest) == following
    assert [plan.round for plan, _ in history] == [1, 1, 2, 2]
    assert history[2][0].parts == history[0][0].parts
    shown = site.ok(site.client.get(f"/v1/campaigns/{campaign}", headers=site.admin))
    assert [phase["round"] for phase in shown["phases"]] == [1, 1, 2, 2]
    for by_round in (False, True):
        address = f"/v1/campaigns/{campaign}/estimates?method=unbiased&by_round={str(by_round).lower()}"
        found = load_estimate(site.client.get(address, headers=site.admin).content)
        assert found == estimate(history, "unbiased", by_round=by_round)


def test_one_plan_is_followed_by_a_phase_or_by_a_round(site: Site, campaign: str) -> None:
    assert site.refresh(campaign, campaign, 409) == "wrong-step"  # nobody has answered
    site.send(campaign, *reports_to(site.plan(campaign), 50))
    assert site.refresh(campaign, "0" * 64, 409) == "wrong-step"
    second = site.advance(campaign, campaign)["digest"]
    assert site.refresh(campaign, campaign, 409) == "wrong-step"
    third = site.refresh(campaign, second)["digest"]
    assert site.advance(campaign, second, 409) == "wrong-step"
    assert site.refresh(campaign, third, 409) == "wrong-step"
    site.send(campaign, *reports_to(site.plan(campaign), 50, seed=2))
    learned = site.advance(campaign, third)  # nobody has answered the second phase of the first round
    assert [own["plan"] for own in learned["learned"]["history"]] == [third]


def test_a_closed_campaign_opens_with_another_round_unless_its_reports_are_gone(site: Site) -> None:
    campaign = site.create(mechanism="smp")["id"]
    early, late = (reports_to(site.plan(campaign), 20, seed) for seed in (1, 2))
    site.send(campaign, *early)
    site.close(campaign)
    site.refresh(campaign, campaign)
    second = site.plan(campaign)
    assert second.round == 2
    both = [*early, *late]
    assert site.send(campaign, *both) == receipt(accepted=20, repeated=20)
    site.send(campaign, *reports_to(second, 20))
    site.close(campaign)
    gone = site.client.delete(f"/v1/campaigns/{campaign}/reports?title=Sleep", headers=site.admin)
    assert gone.status_code == 204
    assert site.refresh(campaign, second.digest, 409) == "wrong-step"
    assert site.send(campaign, both[0]) == receipt(refused=[(0, "phase_closed")])


def test_tokens_are_for_the_first_phase_of_a_round_or_for_later_ones(site: Site) -> None:
    campaign = site.create(options={"tokens": True, "phase1_share": 0.5})["id"]
    collector = site.client.app.state.collector
    stored = asyncio.run(collector.campaign(campaign))
    tokens = asyncio.run(issue(collector.store, campaign, 120))
    early = [token for token in tokens if is_early(stored, token)]
    late = [token for token in tokens if token not in early]  # 60 each expected; below 20 with probability below 1e-13

    def answer(token: str, seed: int) -> None:
        (report,) = reports_to(plan(token), 1, seed)
        assert site.send(campaign, report, **{"Privtally-Token": token}) == receipt(accepted=1)

    plan = partial(_plan, site, campaign)
    for seed in range(10):
        answer(early.pop(), seed)
    second = site.advance(campaign, campaign)["digest"]
    answer(late.pop(), 10)
    site.refresh(campaign, second)
    assert plan(early[-1]).round == 2
    waiting = site.client.get(f"/v1/campaigns/{campaign}/plan", headers={"Privtally-Token": late[-1]})
    assert site.ok(waiting, 409) == "turn-comes-later"
    for seed in range(11, 16):
        answer(early.pop(), seed)
    site.advance(campaign, plan(early[-1]).digest)
    assert (plan(early[-1]).phase, plan(late[-1]).phase) == (3, 4)
    answer(late.pop(), 16)
    assert site.counters(campaign) == [10, 1, 5, 1]
    assert asyncio.run(collector.store.read(partial(count_tokens, campaign=stored))) == (120, 17)


def _plan(site: Site, campaign: str, token: str) -> Plan:
    return site.plan(campaign, **{"Privtally-Token": token})


def test_later_phases_have_the_groups_and_pivots_of_the_options(site: Site) -> None:
    schema = {"attributes": [{"name": name, "labels": ["x", "y"]} for name in "abcd"]}

    def advanced(mechanism: str, **options: Any) -> dict[str, Any]:
        made = site.create(mechanism=mechanism, schema=schema, options={"people": 900, **options})
        assert {name: made["options"][name] for name in options} == options
        site.send(made["id"], *reports_to(site.plan(made["id"]), 300))
        found: dict[str, Any] = site.advance(made["id"], made["id"])
        return found

    grouped = advanced("cond-rr", groups=[["a", "c"], ["b", "d"]])
    assert grouped["groups"] == [[0, 2], [1, 3]]
    assert len(advanced("corr-rr", groups="auto")["parts"]) >= 1
    assert {part["pivots"] for part in advanced("rs-rfd", pivots=2)["parts"]} == {2}


@pytest.mark.parametrize(
    "fields",
    [
        {"mechanism": "smp", "options": {"pivots": 2}},
        {"mechanism": "corr-rr", "options": {"pivots": 2}},
        {"mechanism": "cond-rr", "options": {"pivots": 3}},
        {"mechanism": "cond-rr", "options": {"pivots": 2, "groups": "auto"}},
        {"mechanism": "cond-rr", "options": {"groups": [["q0"]]}},
        {"mechanism": "cond-rr", "options": {"groups": [["q0", "nobody"], ["q1"]]}},
        {"mechanism": "cond-rr", "groups": [["q0"], ["q1"]], "options": {"pivots": 2}},
        {"mechanism": "cond-rr", "options": {"groups": "all"}},
        {"mechanism": "auto", "people": 500, "options": {"pivots": 2}},
        {"mechanism": "corr-rr", "options": {"observer": "knows-totals"}},
        {"mechanism": "corr-rr", "options": {"max_pivot_guess": 0.5}},
        {"mechanism": "corr-rr", "options": {"about": "x" * 1_001}},
        {"mechanism": "corr-rr", "options": {"about": "a\x00b"}},
    ],
)
def test_options_that_a_campaign_cannot_have_are_refused_when_it_starts(site: Site, fields: dict[str, Any]) -> None:
    assert site.create(400, **fields) == "invalid-request"
