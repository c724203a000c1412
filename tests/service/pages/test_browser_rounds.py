"""Another round and an invitation in a real browser, from the operator's button to the participant's answer."""

import pytest

pytest.importorskip("playwright", reason="needs playwright")

from playwright.sync_api import Page, expect

from tests.service.pages.browser import DESKTOP, Running, Window
from tests.service.site import reports_to


def answers(person: Window, page: Page) -> None:
    expect(page.locator("#form")).to_be_visible()
    person.choose(0, 1)
    person.send()
    expect(page.locator("#done")).to_be_visible()


def test_a_round_is_opened_on_the_dashboard_and_answered_as_often_as_the_first_plan_says(service: Running) -> None:
    site, campaign = service.site, service.survey(mechanism="smp", answers=2)
    site.send(campaign, *reports_to(site.plan(campaign), 200))
    with service.window(viewport=DESKTOP) as operator, service.window() as person:
        page = operator.log_in(service.token)
        seen = person.open(f"/s/{campaign}")
        answers(person, seen)
        for round_number in (2, 3):
            operator.open(f"/c/{campaign}").locator("#refresh").click()
            page.locator("main form button").click()
            expect(page.locator(".state").first).to_contain_text(str(round_number))
            site.send(campaign, *reports_to(site.plan(campaign), 200, round_number))
            seen.reload()
            if round_number == 2:
                answers(person, seen)
        expect(seen.locator("#done")).to_be_visible()  # twice is all that the first plan allows
        assert seen.locator("#form").count() == 0
        expect(page.locator("#people")).to_have_text("200")
        expect(page.locator("polyline")).to_have_count(6)  # two questions with three answers each
        page.get_by_text("As a table").first.click()
        expect(page.locator(".wide-table").first).to_be_visible()
    assert site.counters(campaign) == [201, 201, 200]


def test_a_link_made_on_the_dashboard_lets_one_person_in_once(service: Running) -> None:
    campaign = service.survey(mechanism="smp", options={"tokens": True})
    with service.window(viewport=DESKTOP) as operator:
        page = operator.log_in(service.token)
        operator.open(f"/c/{campaign}").get_by_role("link", name="invitations").click()
        page.fill("#number", "3")
        page.get_by_role("button", name="show").click()
        link = page.locator("#links").input_value().split()[0]
        page.fill("#number", "3")
        with page.expect_download() as saving:
            page.get_by_role("button", name="file").click()
        assert len(saving.value.path().read_text().split()) == 3
    for message in ("#done", "#say-token-spent"):
        with service.window() as person:
            seen = person.open(link.removeprefix(service.url))
            person.choose(0, 1)
            person.send()
            expect(seen.locator(message)).to_be_visible()
    with service.window(viewport=DESKTOP) as operator:
        operator.log_in(service.token)
        text = operator.open(f"/c/{campaign}/invitations").inner_text("main")
        assert ("6" in text, link in text) == (True, False)
    assert service.site.counters(campaign) == [1]
