"""Participation tokens: one report each, the phase by a hash, and nothing that joins the two."""

import asyncio
from collections.abc import Iterable

import pytest

from privtally.service.operations import first_admin_token, hashed, is_admin, is_early, issue
from privtally.store.session import Session, Store
from tests.service.site import Site, receipt, reports_to

TOKENS = {"tokens": True, "phase1_share": 0.4}


def store_of(site: Site) -> Store:
    store: Store = site.client.app.state.collector.store
    return store


def issued(site: Site, campaign: str, number: int) -> tuple[list[str], list[str]]:
    """New tokens, those of the first phase and those of later ones."""
    return by_phase(site, campaign, asyncio.run(issue(store_of(site), campaign, number)))


def by_phase(site: Site, campaign: str, tokens: Iterable[str]) -> tuple[list[str], list[str]]:
    stored = asyncio.run(site.client.app.state.collector.campaign(campaign))
    first = [token for token in tokens if is_early(stored, token)]
    return first, [token for token in tokens if token not in first]


def with_token(token: str) -> dict[str, str]:
    return {"Privtally-Token": token}


def test_a_token_decides_the_phase_and_is_spent_once(site: Site) -> None:
    campaign = site.create(options=TOKENS)["id"]
    early, late = issued(site, campaign, 200)
    assert 40 < len(early) < 120  # 80 expected; outside with probability below 1e-7
    address = f"/v1/campaigns/{campaign}/plan"
    assert site.ok(site.client.get(address), 403) == "token-missing"
    assert site.ok(site.client.get(address, headers=with_token(late[0])), 409) == "turn-comes-later"
    first = site.plan(campaign, **with_token(early[0]))
    reports = list(reports_to(first, 40))
    assert site.send(campaign, reports[0]) == receipt(refused=[(0, "token_missing")])
    made_up, _ = by_phase(site, campaign, [f"{own:032x}" for own in range(100)])
    assert site.send(campaign, reports[0], **with_token(made_up[0])) == receipt(refused=[(0, "token_missing")])
    assert site.send(campaign, reports[0], **with_token(late[0])) == receipt(refused=[(0, "wrong_plan")])
    for report, token in zip(reports, early, strict=False):
        assert site.send(campaign, report, **with_token(token)) == receipt(accepted=1)
    other = next(iter(reports_to(first, 1, seed=9)))
    assert site.send(campaign, other, **with_token(early[0])) == receipt(refused=[(0, "token_spent")])
    for headers in ({}, with_token(early[0]), with_token(late[0])):
        assert site.send(campaign, reports[0], **headers) == receipt(repeated=1)

    assert site.ok(site.client.get(address, headers=with_token(early[0])), 409) == "token-spent"
    assert site.ok(site.client.get(address, headers=with_token(made_up[0])), 403) == "token-missing"

    site.advance(campaign, first.digest)
    assert site.plan(campaign, **with_token(early[-1])) == first
    second = site.plan(campaign, **with_token(late[0]))
    assert second.phase == 2
    (report,) = reports_to(second, 1, seed=3)
    assert site.send(campaign, report, **with_token(early[-1])) == receipt(refused=[(0, "wrong_plan")])
    assert site.send(campaign, report, **with_token(late[0])) == receipt(accepted=1)
    assert site.counters(campaign) == [40, 1]


def test_a_batch_cannot_spend_tokens(site: Site) -> None:
    campaign = site.create(options=TOKENS)["id"]
    early, _ = issued(site, campaign, 50)
    reports = reports_to(site.plan(campaign, **with_token(early[0])), 2)
    refused = [(0, "token_missing"), (1, "token_missing")]
    assert site.send(campaign, *reports, **with_token(early[0])) == receipt(refused=refused)


def test_campaigns_of_one_phase_have_tokens_of_one_phase(site: Site) -> None:
    campaign = site.create(mechanism="smp", options={"tokens": True})["id"]
    early, late = issued(site, campaign, 50)
    assert (len(early), late) == (50, [])


def test_the_store_keeps_hashes_of_many_tokens(site: Site) -> None:
    tokens = asyncio.run(issue(store_of(site), site.create(options=TOKENS)["id"], 10_001))

    async def kept(session: Session) -> set[bytes]:
        return {digest for (digest,) in await session.fetch("SELECT hash FROM tokens")}

    assert asyncio.run(store_of(site).read(kept)) == set(map(hashed, tokens))


@pytest.mark.anyio
async def test_services_that_start_together_show_one_admin_token(store: Store) -> None:
    tokens = await asyncio.gather(*(first_admin_token(store) for _ in range(4)))
    shown = [token for token in tokens if token is not None]
    assert [await is_admin(store, token) for token in shown] == [True]
