"""The pages in a real browser: what leaves it, what stays, and what never happens."""

import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("litestar", reason="needs the extra: pip install 'privtally[serve]'")
pytest.importorskip("playwright", reason="needs playwright")

from playwright.sync_api import expect, sync_playwright

from tests.service.pages.browser import CHROMIUM, DESKTOP, FOREIGN_HOST, Running, Window, launch, running
from tests.service.site import Site, reports_to

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium; name its path in PRIVTALLY_CHROMIUM")
AXE = os.environ.get("PRIVTALLY_AXE")
NASTY = "<img src=x onerror=alert(1)>\"'</title><script>alert(2)</script>"
LIKE = ("well", "so-so", "badly")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("pages")) as found, sync_playwright() as playwright:
        found.browser = launch(playwright)
        yield found
        found.browser.close()


def survey(site: Site, **fields: Any) -> str:
    """The id of a new survey of two questions."""
    attributes = [{"name": name, "labels": LIKE} for name in ("sleep", "mood")]
    return str(site.create(**{"schema": {"attributes": attributes}, **fields})["id"])


def kept(window: Window) -> str:
    """Everything that the browser stores for the page."""
    everything = "() => JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, history.state])"
    return str(window.page.evaluate(everything))


def test_somebody_writes_a_survey_and_somebody_else_answers_it(service: Running) -> None:
    with service.window(viewport=DESKTOP) as operator, service.window() as person:
        page = operator.log_in(service.token)
        page.get_by_role("link", name="sample").click()
        page.wait_for_load_state()
        before = page.inner_text("#advice")
        page.fill("#people", "4000")
        expect(page.locator("#advice")).not_to_have_text(before)
        page.get_by_role("button", name="Start").click()
        expect(page.locator("#people")).to_have_text("0")
        link = page.locator(".share a").get_attribute("href")
        assert link is not None
        campaign = link.rpartition("/")[2]

        seen = person.open(f"/s/{campaign}")
        person.choose(0, 1, 2)
        visited = seen.evaluate("() => history.length")
        person.send()
        expect(seen.locator("#done")).to_be_visible()

        (body,) = person.posted
        report = json.loads(body)
        assert list(report) == ["format", "plan", "id", "codes"]
        assert (report["plan"], len(report["codes"])) == (campaign, 3)
        assert seen.inner_text("#answered dd >> nth=0") == "well"
        assert (seen.url, seen.evaluate("() => history.length")) == (link, visited)
        stored = kept(person)
        assert json.loads(json.loads(stored)[0][f"privtally:{campaign}"]) == [
            {"plan": campaign, "report": body, "outcome": "arrived"}
        ]
        assert not any(word in stored for word in ("well", "so-so", "low", "badly"))

        expect(page.locator("#people")).to_have_text("1")  # by itself
        seen.reload()
        expect(seen.locator("#done")).to_be_visible()
        assert seen.locator("#form").count() == 0
        assert seen.locator("#answered").count() == 0  # gone with the page
        assert len(person.posted) == 1


def test_a_report_is_drawn_once_and_sent_again_byte_for_byte(service: Running) -> None:
    campaign = survey(service.site)
    with service.window() as person:
        page = person.open(f"/s/{campaign}")
        page.route("**/reports", lambda route: route.fulfill(status=503, body="{}"))
        person.choose(0, 0)
        person.send()
        expect(page.locator("#say-unavailable")).to_be_visible()
        page.unroute("**/reports")
        page.route("**/reports", lost_reply)
        page.reload()  # whoever comes back finds the report on its way
        expect(page.locator("#say-unavailable")).to_be_visible()
        page.unroute("**/reports")
        page.click("#again button")
        expect(page.locator("#done")).to_be_visible()
        assert len(person.posted) >= 3
        assert len(set(person.posted)) == 1
        person.faults.clear()  # the browser itself notes what was refused and lost
    assert service.site.counters(campaign) == [1]


def lost_reply(route: Any) -> None:
    """The report arrives, and the answer does not."""
    route.fetch()
    route.abort()


def test_two_tabs_draw_one_report(service: Running) -> None:
    campaign = survey(service.site)
    with service.window() as person:
        person.open(f"/s/{campaign}")
        other = Window(person.page.context.new_page(), service.url)
        other.watch()
        other.open(f"/s/{campaign}")
        for window in (person, other):
            window.choose(1, 1)
            window.send()
        expect(person.page.locator("#done")).to_be_visible()
        expect(other.page.locator("#say-answered")).to_be_visible()
        assert other.posted == []
        assert other.faults == []


def test_a_plan_of_another_campaign_is_not_answered(service: Running) -> None:
    site = service.site
    campaign, other = survey(site), survey(site)
    foreign = site.client.get(f"/v1/campaigns/{other}/plan").text
    for path, body in (("plan", foreign), ("plans", f"[{foreign}]"), ("plan", "{"), ("plans", "[]")):
        with service.window() as person:
            person.page.route(f"**/{path}", partial(answer_with, body))
            page = person.open(f"/s/{campaign}")
            expect(page.locator("#say-wrong-plan")).to_be_visible()
            assert not page.locator("#form").is_visible()


def answer_with(body: str, route: Any) -> None:
    route.fulfill(body=body)


def test_questions_in_other_words_than_the_plan_are_not_asked(service: Running) -> None:
    campaign = survey(service.site)
    with service.window() as person:

        def change(route: Any) -> None:
            answer = route.fetch()
            route.fulfill(response=answer, body=answer.text().replace("<span>badly</span>", "<span>never</span>"))

        person.page.route(f"**/s/{campaign}", change)
        expect(person.open(f"/s/{campaign}").locator("#say-wrong-plan")).to_be_visible()


def test_tokens_travel_in_the_fragment_and_are_spent_once(service: Running) -> None:
    from privtally.service.tokens import issue

    campaign = survey(service.site, mechanism="spl", options={"tokens": True})
    (token,) = service.do(issue(service.store, campaign, 1))
    with service.window() as uninvited:
        expect(uninvited.open(f"/s/{campaign}").locator("#say-token-missing")).to_be_visible()
        uninvited.faults.clear()
    later = survey(service.site, options={"tokens": True, "phase1_share": 1e-9})
    (late,) = service.do(issue(service.store, later, 1))
    with service.window() as person:
        expect(person.open(f"/s/{later}#{late}").locator("#say-turn-comes-later")).to_be_visible()
        person.faults.clear()
    for message in ("#done", "#say-token-spent"):
        with service.window() as person:
            page = person.open(f"/s/{campaign}#{token}")
            person.choose(0, 0)
            person.send()
            expect(page.locator(message)).to_be_visible()
            assert token not in person.posted[0]


def test_long_lists_numbers_and_skipped_questions(service: Running) -> None:
    towns = [f"town {number:03}" for number in range(400)]
    attributes = [
        {"name": "town", "labels": towns, "optional": True},
        {"name": "age", "bins": [0, 18, 40, 65, 120]},
        {"name": "mood", "labels": LIKE, "optional": True},
    ]
    campaign = survey(service.site, schema={"attributes": attributes}, mechanism="rs-fd", epsilon=3.0)
    with service.window() as person:
        page = person.open(f"/s/{campaign}")
        page.get_by_role("searchbox").fill("TOWN 39")
        expect(page.locator(".found")).to_have_text("10")
        page.locator("select").select_option("town 397")
        page.locator("#number1").fill("130")
        page.locator(".not-said").last.click()
        person.send()
        expect(page.locator(".question").nth(1).locator(".fault")).to_be_visible()
        assert person.posted == []
        page.locator("#number1").fill("64")
        person.send()
        expect(page.locator("#done")).to_be_visible()
        assert page.locator("#answered dd").nth(0).inner_text() == "town 397"
    assert service.site.counters(campaign) == [1]


@pytest.mark.parametrize("mechanism", ["corr-rr", "cond-rr"])
def test_a_later_round_is_answered_by_the_same_link_and_by_others(service: Running, mechanism: str) -> None:
    site, campaign = service.site, survey(service.site, mechanism=mechanism)
    with service.window() as early, service.window() as late:
        early.open(f"/s/{campaign}")
        early.choose(0, 0)
        early.send()
        expect(early.page.locator("#done")).to_be_visible()
        site.send(campaign, *reports_to(site.plan(campaign), 199))
        site.advance(campaign, campaign)
        page = late.open(f"/s/{campaign}")
        late.choose(1, 2)
        late.send()
        expect(page.locator("#done")).to_be_visible()
        assert page.locator("#digest").text_content() == json.loads(late.posted[0])["plan"] != campaign
        early.page.reload()
        expect(early.page.locator("#done")).to_be_visible()
        assert early.page.locator("#form").count() == 0
    assert site.counters(campaign) == [200, 1]


def test_a_closed_survey_asks_nothing(service: Running) -> None:
    campaign = survey(service.site)
    service.site.close(campaign)
    with service.window() as person:
        expect(person.open(f"/s/{campaign}").locator("#say-campaign-closed")).to_be_visible()
        person.faults.clear()  # the browser notes the refusal


def test_without_tls_nothing_is_asked(service: Running) -> None:
    campaign = survey(service.site)
    with service.window(service.url.replace("127.0.0.1", FOREIGN_HOST)) as person:
        expect(person.open(f"/s/{campaign}").locator("#say-insecure")).to_be_visible()


def test_without_javascript_the_survey_says_so_and_the_dashboard_works(service: Running) -> None:
    campaign = survey(service.site)
    with service.window(java_script_enabled=False) as person:
        page = person.open(f"/s/{campaign}")
        expect(page.locator("noscript")).to_be_visible()
        assert not page.locator("#form").is_visible()
        page = person.log_in(service.token)
        person.open("/new?sample")
        page.get_by_role("button", name="Add").click()
        expect(page.locator(".asked")).to_have_count(4)
        page.get_by_role("button", name="Start").click()
        expect(page.locator("#people")).to_have_text("0")


def test_html_in_titles_and_labels_runs_nothing(service: Running) -> None:
    attributes = [{"name": f"{NASTY} {own}", "labels": [NASTY, "other", "third"]} for own in range(2)]
    site = service.site
    campaign = survey(site, title=NASTY, schema={"attributes": attributes}, options={"published": True})
    site.send(campaign, *reports_to(site.plan(campaign), 40))
    with service.window() as person:
        page = person.open(f"/s/{campaign}")
        person.choose(0, 0)
        person.send()
        expect(page.locator("#done")).to_be_visible()
        person.log_in(service.token)
        for path in (
            "/",
            f"/c/{campaign}",
            f"/c/{campaign}/advance",
            f"/c/{campaign}/together",
            f"/s/{campaign}/totals",
        ):
            assert person.open(path).locator("img[src=x]").count() == 0


def test_the_policy_stops_what_slips_into_a_page_and_the_window_notices(service: Running) -> None:
    planted = (
        '<script>alert(1)</script><script src="https://elsewhere.example/x.js"></script><p style="color: red"></p>'
    )
    with service.window() as person:

        def plant(route: Any) -> None:
            answer = route.fetch()
            route.fulfill(response=answer, body=answer.text().replace("</main>", f"{planted}</main>"))

        person.page.route("**/login", plant)
        person.open("/login")
        assert sum("Content Security Policy" in fault for fault in person.faults) >= 3
        assert "1" not in person.faults
        person.faults.clear()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_a_small_phone_and_are_readable_by_everybody(service: Running, scheme: str) -> None:
    site = service.site
    campaign, closed = survey(site, options={"published": True, "people": 500}), survey(site)
    site.send(campaign, *reports_to(site.plan(campaign), 300))
    site.close(closed)
    with service.window(viewport={"width": 320, "height": 640}, color_scheme=scheme) as person:
        if AXE:
            person.page.context.add_init_script(path=Path(AXE))
        check_page(person.open("/login"))
        page = person.open(f"/s/{campaign}")
        page.locator("summary").first.click()
        check_page(page)
        person.send()  # nothing is chosen
        check_page(page)
        person.choose(0, 1)
        person.send()
        expect(page.locator("#done")).to_be_visible()
        check_page(page)
        page = person.log_in(service.token)
        steps = [f"/c/{campaign}{step}" for step in ("", "/advance", "/together", "/close")]
        for path in (
            "/",
            "/new",
            "/new?sample",
            *steps,
            f"/c/{closed}",
            f"/c/{closed}/delete",
            f"/s/{campaign}/totals",
        ):
            check_page(person.open(path))


def check_page(page: Any) -> None:
    """Nothing is wider than the window, and axe-core, where it is installed, finds nothing serious."""
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), page.url
    if AXE:
        found = page.evaluate("() => axe.run()")["violations"]
        serious = [own for own in found if own["impact"] in ("serious", "critical")]
        assert [(own["id"], [node["html"] for node in own["nodes"]]) for own in serious] == [], page.url
