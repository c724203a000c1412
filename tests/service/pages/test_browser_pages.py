"""The pages in a real browser: for everybody, without JavaScript, and with nothing that is not theirs."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.scale import scaled
from tests.service.pages.browser import DESKTOP, LIKE, Running, Window
from tests.service.site import reports_to

AXE = os.environ.get("PRIVTALLY_AXE")
NASTY = "<img src=x onerror=alert(1)>\"'</title><script>alert(2)</script>"


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
        assert seen.inner_text("#answered dd >> nth=0") == "good"
        assert (seen.url, seen.evaluate("() => history.length")) == (link, visited)
        stored = kept(person)
        assert json.loads(json.loads(stored)[0][f"privtally:{campaign}"]) == [
            {"plan": campaign, "round": 1, "report": body, "outcome": "arrived"}
        ]
        readable = re.sub("[0-9a-f]{32,}", "", stored)  # digests and ids may spell an answer
        assert not any(word in readable for word in ("good", "so-so", "bad"))

        expect(page.locator("#people")).to_have_text("1")  # by itself
        seen.reload()
        expect(seen.locator("#done")).to_be_visible()
        assert seen.locator("#form").count() == 0
        assert seen.locator("#answered").count() == 0  # gone with the page
        assert len(person.posted) == 1


def test_without_javascript_the_survey_says_so_and_the_dashboard_works(service: Running) -> None:
    campaign = service.survey()
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
    many = [{"name": NASTY, "labels": [f"{NASTY} {own}" for own in range(20)]}]
    site = service.site
    campaign = service.survey(title=NASTY, schema={"attributes": attributes}, options={"published": True})
    site.send(campaign, *reports_to(site.plan(campaign), 40))
    listed = service.survey(title=NASTY, schema={"attributes": many}, mechanism="smp")
    with service.window() as person:
        assert person.open(f"/s/{listed}").locator("img[src=x]").count() == 0
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
            f"/c/{campaign}/close",
            f"/c/{campaign}/forget",
            f"/c/{campaign}/delete",
            f"/s/{campaign}/totals",
            f"/c/{listed}",
            "/new",
        ):
            assert person.open(path).locator("img[src=x]").count() == 0


def test_a_page_of_somebody_else_cannot_act_for_an_administrator(service: Running) -> None:
    campaign = service.survey()
    form = f'<form method="post" action="{service.url}/c/{campaign}/close"><button>A cat</button></form>'
    with service.window(viewport=DESKTOP) as person:
        page = person.log_in(service.token)
        expect(page).to_have_url(f"{service.url}/")
        # From another site the browser leaves the cookie out; from another port it sends it, and the service refuses.
        for elsewhere, status in (("http://elsewhere.example/", 303), ("http://127.0.0.1:9/", 403)):
            page.route(elsewhere, lambda route: route.fulfill(body=form, content_type="text/html"))
            page.goto(elsewhere)
            with page.expect_response(f"**/c/{campaign}/close") as refused:
                page.get_by_role("button").click()
            assert (refused.value.status, refused.value.header_value("location")) in ((303, "/login"), (403, None))
            assert refused.value.status == status
            assert service.site.plan(campaign).digest == campaign  # it is still open
        page.wait_for_load_state()
        person.faults.clear()

        page = person.open(f"/c/{campaign}/close")  # the same step from the service's own page
        with page.expect_response(f"**/c/{campaign}/close") as done:
            page.locator(f'form[action="/c/{campaign}/close"] button').click()
        assert (done.value.status, done.value.header_value("location")) == (303, f"/c/{campaign}")
        page.wait_for_url(f"**/c/{campaign}")


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


@pytest.mark.parametrize("scheme", scaled(["light"], ["light", "dark"]))
def test_pages_fit_a_small_phone_and_are_readable_by_everybody(service: Running, scheme: str) -> None:
    """A dark scheme changes colours alone, so its pages are judged by the rule on contrast."""
    rules = {} if scheme == "light" else {"runOnly": ["color-contrast"]}
    site = service.site
    campaign, closed = service.survey(options={"published": True, "people": 500}), service.survey()
    site.send(campaign, *reports_to(site.plan(campaign), 300))
    attributes = [{"name": f"A long question, number {own}?", "labels": LIKE} for own in range(12)]
    again = service.survey(schema={"attributes": attributes}, options={"tokens": True}, answers=3, epsilon=4.0)
    rounds = service.survey(mechanism="smp", options={"published": True}, answers=3)
    site.send(rounds, *reports_to(site.plan(rounds), 100))
    site.refresh(rounds, rounds)
    site.send(rounds, *reports_to(site.plan(rounds), 100, seed=2))
    site.close(closed)
    with service.window(viewport={"width": 320, "height": 640}, color_scheme=scheme) as person:
        if AXE:
            person.page.context.add_init_script(path=Path(AXE))
        check_page(person.open("/login"), rules)
        page = person.open(f"/s/{campaign}")
        page.locator("summary").first.click()
        check_page(page, rules)
        person.send()  # nothing is chosen
        check_page(page, rules)
        person.choose(0, 1)
        person.send()
        expect(page.locator("#done")).to_be_visible()
        check_page(page, rules)
        page = person.log_in(service.token)
        steps = [f"/c/{campaign}{step}" for step in ("", "/advance", "/together", "/close")]
        for path in (
            "/",
            "/new",
            "/new?sample",
            *steps,
            f"/c/{closed}",
            f"/c/{closed}/delete",
            f"/c/{rounds}",
            f"/c/{rounds}/refresh",
            f"/s/{rounds}/totals",
            f"/c/{again}/invitations",
            f"/s/{campaign}/totals",
        ):
            page = person.open(path)
            for summary in page.locator("summary").all():
                summary.click()
            check_page(page, rules)


def check_page(page: Any, rules: dict[str, list[str]]) -> None:
    """Nothing is wider than the window, and axe-core, where it is installed, finds nothing serious."""
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), page.url
    if AXE:
        found = page.evaluate("rules => axe.run(rules)", rules)["violations"]
        serious = [own for own in found if own["impact"] in ("serious", "critical")]
        assert [(own["id"], [node["html"] for node in own["nodes"]]) for own in serious] == [], page.url
