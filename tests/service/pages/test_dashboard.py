"""A survey from the form to its deletion, as an operator does it without JavaScript."""

import csv
import io

import pytest

from tests.service.pages.visitor import FORM, Visitor
from tests.service.site import reports_to


def answer(admin: Visitor, campaign: str, people: int, seed: int = 1) -> None:
    admin.send(campaign, *reports_to(admin.plan(campaign), people, seed))


def test_a_survey_goes_through_its_states(admin: Visitor) -> None:
    assert "/new?sample" in admin.open("/").text
    campaign = admin.create_by_form()
    assert "first" in admin.open(f"/c/{campaign}").text
    answer(admin, campaign, 300)
    assert f"/c/{campaign}/advance" in admin.open(f"/c/{campaign}").text
    assert "300" in admin.open(f"/c/{campaign}/live?seen=").text

    first = admin.plan(campaign)
    for _ in range(2):  # the same form again changes nothing
        assert admin.submit(f"/c/{campaign}/advance", plan=first.digest).status_code == 303
    assert admin.plan(campaign).phase == 2
    answer(admin, campaign, 400, seed=2)
    assert admin.counters(campaign) == [300, 400]
    assert admin.open(f"/c/{campaign}/together").status_code == 200

    assert admin.submit(f"/c/{campaign}/delete", title=FORM["title"]).status_code == 409
    assert admin.submit(f"/c/{campaign}/close").status_code == 303
    assert admin.open(f"/c/{campaign}/advance").status_code == 409
    assert admin.submit(f"/c/{campaign}/forget", title="another").status_code == 409
    assert admin.submit(f"/c/{campaign}/forget", title=FORM["title"]).status_code == 303
    assert admin.open(f"/c/{campaign}/export/ndjson").text == ""
    assert "so-so" in admin.open(f"/c/{campaign}").text
    assert admin.submit(f"/c/{campaign}/delete", title="another").status_code == 409
    assert admin.submit(f"/c/{campaign}/delete", title=FORM["title"]).status_code == 303
    assert admin.open(f"/c/{campaign}").status_code == 404
    assert FORM["title"] not in admin.open("/").text


def test_a_part_that_has_not_changed_is_not_sent_again(admin: Visitor) -> None:
    campaign = admin.create_by_form()
    assert admin.open(f"/c/{campaign}/live?seen=first-0-0").status_code == 204
    answer(admin, campaign, 1)
    assert admin.open(f"/c/{campaign}/live?seen=first-0-0").status_code == 200


def test_exports_hold_what_the_page_shows(admin: Visitor) -> None:
    campaign = admin.create_by_form()
    assert admin.open(f"/c/{campaign}/export/csv").status_code == 409
    answer(admin, campaign, 200)
    rows = list(csv.DictReader(io.StringIO(admin.open(f"/c/{campaign}/export/csv").text)))
    assert [row["label"] for row in rows] == [
        "well",
        "so-so",
        "badly",
        "good",
        "so-so",
        "low",
        "well",
        "so-so",
        "badly",
    ]
    assert admin.open(f"/c/{campaign}/export/json").json()["title"] == FORM["title"]
    reports = admin.open(f"/c/{campaign}/export/ndjson").text.splitlines()
    assert len(reports) == 200
    assert '"id"' not in reports[0]
    assert admin.open(f"/c/{campaign}/certificates").json()[0]["plan"] == campaign
    assert admin.open(f"/c/{campaign}/export/exe").status_code == 404


UNCLEAR: list[dict[str, str]] = [
    {"title": ""},
    {"people": "many"},
    {"people": "0"},
    {"epsilon": "-1"},
    {"epsilon": "nan"},
    {"q0-labels": "one"},
    {"q0-labels": "same\nsame"},
    {"q1-name": "sleep"},
    {"q0-kind": "numbers"},
    {"q0-kind": "numbers", "q0-start": "0", "q0-end": "x", "q0-width": "1"},
    {"about": "x" * 1_001},
]


def test_a_form_that_says_nothing_clear_starts_nothing(admin: Visitor) -> None:
    for fields in UNCLEAR:
        assert admin.submit("/new", **{**FORM, **fields}).status_code == 400, fields
        assert admin.submit("/new/advice", **{**FORM, **fields}).status_code == 200, fields
    assert FORM["title"] not in admin.open("/").text


def test_questions_are_added_and_removed_without_losing_the_others(admin: Visitor) -> None:
    more = admin.submit("/new", **FORM, do="add").text
    assert 'name="q3-name"' in more
    assert "so-so" in more
    fewer = admin.submit("/new", **FORM, do="remove 0").text
    assert 'value="mood"' in fewer
    assert 'value="sleep"' not in fewer


def test_numbers_and_skipped_questions_reach_the_plan(admin: Visitor) -> None:
    numbers = {"q0-kind": "numbers", "q0-start": "0", "q0-end": "100", "q0-width": "20", "q1-optional": "on"}
    plan = admin.plan(admin.create_by_form(**numbers))
    assert plan.schema.attributes[0].numbers is not None
    assert plan.schema.attributes[1].optional


def test_totals_are_public_only_if_they_are_published(admin: Visitor) -> None:
    hidden, shown = admin.create_by_form(), admin.create_by_form(published="on")
    answer(admin, shown, 100)
    admin.client.cookies.clear()
    assert admin.open(f"/s/{hidden}/totals").status_code == 404
    assert "so-so" in admin.open(f"/s/{shown}/totals").text


@pytest.mark.parametrize(("language", "word"), [("en", "Send"), ("de", "Senden")])
def test_the_survey_page_speaks_the_language_of_the_browser(admin: Visitor, language: str, word: str) -> None:
    page = admin.open(f"/s/{admin.create_by_form()}", **{"Accept-Language": language})
    assert f">{word}<" in page.text
    assert page.headers["content-language"] == language
    assert "A team that asks." in page.text
