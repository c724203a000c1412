"""Further rounds and invitations, as an operator does it without JavaScript."""

import re

import pytest

from tests.service.pages.visitor import FORM, Visitor

GERMAN = {"Accept-Language": "de"}


def test_another_round_is_opened_once_and_shown_beside_the_first(admin: Visitor) -> None:
    campaign = admin.create(mechanism="smp", answers=2)["id"]
    address = f"/c/{campaign}/refresh"
    assert address not in admin.open(f"/c/{campaign}").text  # nobody has answered
    assert 'name="plan"' not in admin.open(address).text
    admin.answer(campaign, 300)
    assert address in admin.open(f"/c/{campaign}").text
    assert campaign in re.findall(r'name="plan" value="(\w+)"', admin.open(address).text)
    for _ in range(2):  # the same form again changes nothing
        assert admin.submit(address, plan=campaign).status_code == 303
    assert admin.plan(campaign).round == 2
    before = admin.open(f"/c/{campaign}").text
    assert "polyline" not in before
    assert "a0" in before  # the totals of the first round
    admin.answer(campaign, 300, seed=2)
    page = admin.open(f"/c/{campaign}").text
    assert page.count("<polyline") == 6  # two questions with three answers each
    assert page.count('<th scope="col" class="right">Round') == 4
    assert admin.open(f"/c/{campaign}/together").status_code == 200


@pytest.mark.parametrize(("people", "offered"), [(89, False), (90, True)])
def test_another_round_is_the_next_thing_to_do_when_nearly_all_have_answered(
    admin: Visitor, people: int, offered: bool
) -> None:
    campaign = admin.create(mechanism="smp", options={"people": 100})["id"]
    admin.answer(campaign, people)
    page = admin.open(f"/c/{campaign}").text
    assert ('id="refresh"' in page) == offered
    assert page.count(f'"/c/{campaign}/refresh"') == 1  # else it is a quiet link


def test_a_closed_survey_may_have_another_round_until_its_reports_are_deleted(admin: Visitor) -> None:
    campaign = admin.create(mechanism="smp", title=FORM["title"])["id"]
    admin.answer(campaign, 50)
    admin.submit(f"/c/{campaign}/close")
    assert 'id="refresh"' in admin.open(f"/c/{campaign}").text
    assert 'name="plan"' in admin.open(f"/c/{campaign}/refresh").text
    admin.submit(f"/c/{campaign}/forget", title=FORM["title"])
    assert 'name="plan"' not in admin.open(f"/c/{campaign}/refresh").text
    assert admin.submit(f"/c/{campaign}/refresh", plan=campaign).status_code == 409


def test_the_form_says_how_often_one_person_may_answer(admin: Visitor) -> None:
    plan = admin.plan(admin.create_by_form(answers="3"))
    assert plan.answers == 3
    assert " 410 times" in admin.submit("/new/advice", **FORM, answers="3").text  # e^6 rounded up
    for answers in ("0", "x", "1001"):
        assert admin.submit("/new", **FORM, answers=answers).status_code == 400


@pytest.mark.parametrize("answers", [1, 3, 1_000])
def test_the_survey_page_says_what_all_answers_give_away(admin: Visitor, answers: int) -> None:
    page = admin.open(f"/s/{admin.create(answers=answers)['id']}").text
    assert (" 410 times" in page, "1,000 times" in page) == (answers == 3, answers == 1_000)


def test_invitations_are_shown_or_saved_once(admin: Visitor) -> None:
    campaign = admin.create_by_form(tokens="on")
    address = f"/c/{campaign}/invitations"
    dashboard = admin.open(f"/c/{campaign}").text
    assert address in dashboard
    assert f"/s/{campaign}<" not in dashboard  # a link without a token lets nobody in
    shown = re.findall(rf"http\S+/s/{campaign}#[0-9a-f]{{32}}", admin.submit(address, number="20", do="show").text)
    saved = admin.submit(address, number="30", do="file")
    assert "attachment" in saved.headers["content-disposition"]
    assert "no-store" in saved.headers["cache-control"]
    links = saved.text.splitlines()
    assert (len(set(shown)), len(set(links)), len({*shown, *links})) == (20, 30, 50)
    token = links[0].partition("#")[2]
    assert links[0].endswith(f"/s/{campaign}#{token}")
    page = admin.open(address).text
    assert token not in page
    assert re.search(r"\b50\b", page)
    assert admin.open(f"/v1/campaigns/{campaign}/plan", **{"Privtally-Token": token}).status_code in (200, 409)
    for number in ("0", "10001", "many", ""):
        assert admin.submit(address, number=number).status_code == 409
    admin.submit(f"/c/{campaign}/close")
    assert admin.open(address).status_code == 409
    assert admin.open(f"/c/{admin.create_by_form()}/invitations").status_code == 409
    admin.client.cookies.clear()
    assert admin.submit(address, number="1").headers["location"] == "/login"


def test_what_pages_refuse_is_said_in_the_language_of_the_browser(admin: Visitor) -> None:
    campaign = admin.create_by_form()
    admin.submit(f"/c/{campaign}/close")
    german = admin.open(f"/c/{campaign}/advance", **GERMAN).text
    assert "Umfrage ist beendet" in german
    assert 'lang="en">' not in german
    headers = {"Origin": "http://testserver.local", **GERMAN}
    for fields, word in (({"title": ""}, "Titel"), ({"q0-labels": "one"}, "zwei"), ({"people": "x"}, "Zahlen")):
        answered = admin.client.post("/new", data={**FORM, **fields}, headers=headers)
        assert answered.status_code == 400
        assert word in answered.text
        assert '<span lang="en">' not in answered.text
    of_the_library = admin.client.post("/new", data={**FORM, "people": "0"}, headers=headers)
    assert '<span lang="en">' in of_the_library.text


def test_what_an_operator_says_goes_with_the_campaign(admin: Visitor) -> None:
    campaign = admin.create_by_form(about="A team & more.")
    assert "A team &amp; more." in admin.open(f"/s/{campaign}").text
    shown = admin.ok(admin.client.get(f"/v1/campaigns/{campaign}", headers=admin.admin))
    assert shown["options"]["about"] == "A team & more."
    admin.submit(f"/c/{campaign}/close")
    admin.submit(f"/c/{campaign}/delete", title=FORM["title"])
    assert admin.open(f"/s/{campaign}").status_code == 404
