"""Answering in a real browser: what leaves it, how often, and under whose rules."""

import json
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import expect

from privtally.store import campaigns
from privtally.store.campaigns import Options
from tests.participant.malicious import MALICE
from tests.scale import scaled
from tests.service.pages.browser import FOREIGN_HOST, LIKE, Running, Window
from tests.service.site import reports_to


def test_a_report_is_drawn_once_and_sent_again_byte_for_byte(service: Running) -> None:
    campaign = service.survey()
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


@pytest.mark.parametrize(("status", "body"), [(408, "<html>"), (200, "<html>"), (403, '{"type": "about:blank"}')])
def test_what_the_service_did_not_say_itself_ends_nothing(service: Running, status: int, body: str) -> None:
    campaign = service.survey()
    with service.window() as person:
        page = person.open(f"/s/{campaign}")
        page.route("**/reports", lambda route: route.fulfill(status=status, body=body))
        person.choose(0, 0)
        person.send()
        expect(page.locator("#say-unavailable")).to_be_visible()
        page.unroute("**/reports")
        page.reload()
        expect(page.locator("#done")).to_be_visible()
        assert len(set(person.posted)) == 1
        person.faults.clear()  # the browser itself notes what was refused
    assert service.site.counters(campaign) == [1]


def lost_reply(route: Any) -> None:
    """The report arrives, and the answer does not."""
    route.fetch()
    route.abort()


def test_two_tabs_draw_one_report(service: Running) -> None:
    campaign = service.survey()
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


def test_a_malicious_collector_hears_nothing(service: Running) -> None:
    """The page and its scripts are privtally's own; what they read is what malicious collectors hand out.

    Nobody is asked anything, so that nothing that leaves the device can depend on an answer.
    """
    for pinned in dict.fromkeys(malice.pinned for malice in MALICE.values()):
        service.do(service.store.write(partial(campaigns.create, title="Pinned", plan=pinned, options=Options())))
    with service.window() as person:
        for name, malice in MALICE.items():
            for opened in malice.opened:
                person.page.unroute_all()
                person.page.route("**/plan", partial(answer_with, opened.decode()))
                person.page.route("**/plans", partial(answer_with, malice.listed(opened).decode()))
                page = person.open(f"/s/{malice.pinned.digest}")
                expect(page.locator("#messages > :visible")).not_to_have_id("say-loading")
                assert page.locator("#messages > :visible").get_attribute("id") in SAID, name
                assert not page.locator("#form").is_visible(), name
                assert person.posted == [], name


SAID = ("say-wrong-plan", "say-unreachable")


def answer_with(body: str, route: Any) -> None:
    route.fulfill(body=body)


def test_questions_in_other_words_than_the_plan_are_not_asked(service: Running) -> None:
    campaign = service.survey()
    with service.window() as person:

        def change(route: Any) -> None:
            answer = route.fetch()
            route.fulfill(response=answer, body=answer.text().replace("<span>badly</span>", "<span>never</span>"))

        person.page.route(f"**/s/{campaign}", change)
        expect(person.open(f"/s/{campaign}").locator("#say-wrong-plan")).to_be_visible()


def test_tokens_travel_in_the_fragment_and_are_spent_once(service: Running) -> None:
    from privtally.service.operations import issue

    campaign = service.survey(mechanism="spl", options={"tokens": True})
    (token,) = service.do(issue(service.store, campaign, 1))
    with service.window() as uninvited:
        expect(uninvited.open(f"/s/{campaign}").locator("#say-token-missing")).to_be_visible()
        uninvited.faults.clear()
    later = service.survey(options={"tokens": True, "phase1_share": 1e-9})
    (late,) = service.do(issue(service.store, later, 1))
    with service.window() as person:
        expect(person.open(f"/s/{later}#{late}").locator("#say-turn-comes-later")).to_be_visible()
        person.faults.clear()
    with service.window() as person, service.window() as other:
        for window in (person, other):  # both while it can be spent
            window.open(f"/s/{campaign}#{token}")
            window.choose(0, 0)
        for window, message in ((person, "#done"), (other, "#say-token-spent")):
            window.send()
            expect(window.page.locator(message)).to_be_visible()
            assert token not in window.posted[0]


def test_long_lists_numbers_and_skipped_questions(service: Running) -> None:
    towns = [f"town  {number:03}" for number in range(400)]  # two spaces, of which a page shows one
    attributes = [
        {"name": "town", "labels": towns, "optional": True},
        {"name": "age", "bins": [0, 18, 40, 65, 120]},
        {"name": "mood", "labels": LIKE, "optional": True},
    ]
    campaign = service.survey(schema={"attributes": attributes}, mechanism="rs-fd", epsilon=3.0)
    with service.window() as person:
        page = person.open(f"/s/{campaign}")
        page.get_by_role("searchbox").fill("TOWN  39")
        expect(page.locator(".found")).to_have_text("10")
        page.locator("select").select_option("town  397")
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


@pytest.mark.parametrize("name", ["__proto__", "constructor"])
def test_a_question_may_have_any_name(service: Running, name: str) -> None:
    attributes = [{"name": name, "labels": LIKE, "optional": True}]
    campaign = service.survey(schema={"attributes": attributes}, mechanism="spl", epsilon=32.0)
    with service.window() as person:
        page = person.open(f"/s/{campaign}")
        person.choose(1)
        person.send()
        expect(page.locator("#done")).to_be_visible()
        assert page.locator("#answered dt").all_inner_texts() == [name]
        assert page.locator("#answered dd").all_inner_texts() == [LIKE[1]]
        # With a budget of 32 the answer is kept but for a chance of 10^-13.
        assert json.loads(person.posted[0])["codes"] == [1]


def test_merged_answers_are_chosen_as_they_are_and_sent_as_classes(service: Running) -> None:
    attributes = [
        {"name": "sleep", "merged": [["well"], ["so-so", "badly"]]},
        {"name": "mood", "merged": [["good"], ["low", "angry"]], "optional": True},
        {"name": "town", "merged": [[f"town {number:02}" for number in range(40)], ["elsewhere"]]},
    ]
    campaign = service.survey(schema={"attributes": attributes}, mechanism="rs-fd")
    with service.window() as person:
        page = person.open(f"/s/{campaign}")
        page.locator(".choice").get_by_text("badly").click()
        page.locator(".choice").get_by_text("angry").click()
        page.locator("select").select_option("town 39")
        person.send()
        expect(page.locator("#done")).to_be_visible()
        assert page.locator("#answered dd").all_inner_texts() == ["badly", "angry", "town 39"]
        assert page.locator("#received dd").nth(0).inner_text() in ("well", "so-so | badly")
    assert service.site.counters(campaign) == [1]


@pytest.mark.parametrize("mechanism", scaled(["cond-rr"], ["corr-rr", "cond-rr"]))
def test_a_later_phase_is_answered_by_the_same_link_and_by_others(service: Running, mechanism: str) -> None:
    site, campaign = service.site, service.survey(mechanism=mechanism)
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
    campaign = service.survey()
    service.site.close(campaign)
    with service.window() as person:
        expect(person.open(f"/s/{campaign}").locator("#say-campaign-closed")).to_be_visible()
        person.faults.clear()  # the browser notes the refusal


def test_without_tls_nothing_is_asked(service: Running) -> None:
    campaign = service.survey()
    with service.window(service.url.replace("127.0.0.1", FOREIGN_HOST)) as person:
        expect(person.open(f"/s/{campaign}").locator("#say-insecure")).to_be_visible()


def test_questions_asked_together_are_answered_and_shown_as_received(service: Running) -> None:
    attributes = [{"name": name, "labels": ["yes", "no"]} for name in ("smokes", "sleeps", "sings")]
    campaign = service.survey(schema={"attributes": attributes}, mechanism="pairs", epsilon=32.0)
    with service.window() as person:
        page = person.open(f"/s/{campaign}")
        assert "2 of the 3 questions together" in page.locator(".promise").inner_text()
        person.choose(1, 0, 1)
        person.send()
        expect(page.locator("#done")).to_be_visible()
        mine, received = (page.locator(f"#{where} dd").all_inner_texts() for where in ("answered", "received"))
        (code,) = json.loads(person.posted[0])["codes"]
        asked = ((0, 1), (0, 2), (1, 2))[code // 4]  # by so large a budget answers stay as they are
        assert [received[place] for place in asked] == [mine[place] for place in asked]
        (other,) = {0, 1, 2} - {*asked}
        assert received[other] not in ("yes", "no")
    assert service.site.counters(campaign) == [1]
