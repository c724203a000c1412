"""Another round and an invitation in a real browser, from the operator's button to the participant's answer."""

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
            operator.open(f"/c/{campaign}").get_by_role("link", name="Open another round").click()
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


def not_asked(person: Window, path: str) -> None:
    """Somebody hears that the invitation was used, and nothing is drawn."""
    seen = person.open(path)
    expect(seen.locator("#say-token-spent")).to_be_visible()
    assert not seen.locator("#form").is_visible()
    assert person.posted == []
    assert seen.evaluate("localStorage.length") == 0
    person.faults.clear()  # the browser notes the refusal


def test_an_invitation_is_for_one_round(service: Running) -> None:
    from privtally.service.operations import issue

    site, campaign = service.site, service.survey(mechanism="smp", answers=2, options={"tokens": True})
    first, second = service.do(issue(service.store, campaign, 2))
    with service.window() as person, service.window() as other:
        sent: list[bool] = []
        person.page.on(
            "request", lambda own: sent.append(first in own.headers.values()) if own.url.endswith("/plans") else None
        )
        seen = person.open(f"/s/{campaign}#{first}")
        answers(person, seen)
        assert sent == [False]  # what is public needs no token
        assert "keep" not in seen.inner_text("#done")
        site.refresh(campaign, campaign)
        seen.reload()
        expect(seen.locator("#done")).to_be_visible()
        expect(seen.locator("#received dd")).to_have_count(2)
        assert seen.locator("#form").count() == 0
        person.faults.clear()  # the browser notes that the token was spent
        not_asked(other, f"/s/{campaign}#{first}")
        seen.goto("about:blank")
        person.open(f"/s/{campaign}#{second}")
        answers(person, seen)
    assert site.counters(campaign) == [1, 1]


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
    with service.window() as person, service.window() as other:
        seen = person.open(link.removeprefix(service.url))
        answers(person, seen)
        not_asked(other, link.removeprefix(service.url))
    with service.window(viewport=DESKTOP) as operator:
        operator.log_in(service.token)
        text = operator.open(f"/c/{campaign}/invitations").inner_text("main")
        assert ("6" in text, link in text) == (True, False)
    assert service.site.counters(campaign) == [1]


def test_both_phases_of_a_round_ask_different_people(service: Running) -> None:
    site, campaign = service.site, service.survey(answers=2, options={"people": 900})
    site.send(campaign, *reports_to(site.plan(campaign), 200))
    with service.window() as person:
        seen = person.open(f"/s/{campaign}")
        answers(person, seen)
        second = site.advance(campaign, campaign)["digest"]
        site.send(campaign, *reports_to(site.plan(campaign), 200, 2))
        seen.reload()
        expect(seen.locator("#done")).to_be_visible()
        assert seen.locator("#form").count() == 0
        site.refresh(campaign, second)
        seen.reload()
        answers(person, seen)
    assert site.counters(campaign) == [201, 200, 1]
