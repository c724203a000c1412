"""A survey from the form to its deletion, as an operator does it without JavaScript."""

import csv
import gc
import io
from typing import Any

import pyarrow.parquet as pq
import pytest

from privtally.documents.estimate import Estimate
from privtally.documents.plan import design
from privtally.errors import EstimateError
from privtally.lab.advise import recommend
from privtally.service.collector import Estimates
from tests.service.pages.visitor import FORM, Visitor
from tests.service.site import contradictory, schema_document


def test_a_survey_goes_through_its_states(admin: Visitor) -> None:
    assert "/new?sample" in admin.open("/").text
    campaign = admin.create_in_two_phases()
    assert "first" in admin.open(f"/c/{campaign}").text
    admin.answer(campaign, 300)
    assert f"/c/{campaign}/advance" in admin.open(f"/c/{campaign}").text
    assert "300" in admin.open(f"/c/{campaign}/live?seen=").text

    first = admin.plan(campaign)
    for _ in range(2):  # the same form again changes nothing
        assert admin.submit(f"/c/{campaign}/advance", plan=first.digest).status_code == 303
    assert admin.plan(campaign).phase == 2
    admin.answer(campaign, 400, seed=2)
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
    campaign = admin.create_in_two_phases()
    assert admin.open(f"/c/{campaign}/live?seen=first-0-0").status_code == 204
    admin.answer(campaign, 1)
    assert admin.open(f"/c/{campaign}/live?seen=first-0-0").status_code == 200


def test_exports_hold_what_the_page_shows(admin: Visitor) -> None:
    campaign = admin.create_by_form()
    assert admin.open(f"/c/{campaign}/export/csv").status_code == 409
    admin.answer(campaign, 200)
    rows = list(csv.DictReader(io.StringIO(admin.open(f"/c/{campaign}/export/csv").text)))
    assert [row["label"] for row in rows] == 3 * ["well", "so-so", "badly"]
    assert admin.open(f"/c/{campaign}/export/json").json()["title"] == FORM["title"]
    reports = admin.open(f"/c/{campaign}/export/ndjson").text.splitlines()
    assert len(reports) == 200
    assert '"id"' not in reports[0]
    assert pq.read_table(io.BytesIO(admin.open(f"/c/{campaign}/export/parquet").content)).num_rows == 200
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


def test_both_phases_count_towards_the_number_that_was_typed(admin: Visitor) -> None:
    campaign = admin.create_in_two_phases(options={"people": 4_500})
    assert "500 more" in admin.open(f"/c/{campaign}").text
    admin.answer(campaign, 40)
    admin.advance(campaign, campaign)
    admin.answer(campaign, 60, seed=2)
    assert "4,900 more" in admin.open(f"/c/{campaign}").text


def test_few_people_are_told_no_impossible_numbers(admin: Visitor) -> None:
    campaign = admin.create_in_two_phases()
    admin.answer(campaign, 4)
    text = admin.open(f"/c/{campaign}/together").text
    assert ("<table" in text, "4 reports" in text) == (False, True)
    for seed in (2, 3):
        admin.answer(campaign, 1_000, seed)
    assert "<table" in admin.open(f"/c/{campaign}/together").text


def test_one_is_not_many(admin: Visitor) -> None:
    campaign = admin.create_in_two_phases(answers=2, options={"published": True})
    admin.answer(campaign, 1)
    for path in ("/", f"/c/{campaign}", f"/s/{campaign}/totals", f"/c/{campaign}/close"):
        text = admin.open(path).text
        assert "answer has arrived" in text, path
        assert "answers have" not in text, path


def test_bins_are_named_in_the_language_of_the_page(admin: Visitor) -> None:
    numbers = {"q0-kind": "numbers", "q0-start": "0", "q0-end": "5", "q0-width": "2,5"}
    campaign = admin.create_by_form(published="on", **numbers, **{"q1-labels": "1 to 2.5\nother"})
    admin.answer(campaign, 50)
    for path in (f"/c/{campaign}", f"/s/{campaign}/totals"):
        german = admin.open(path, **{"Accept-Language": "de"}).text
        assert "0 bis &lt; 2,5" in german, path
        assert "1 to 2.5" in german, path  # an answer in the survey's own words
        assert "0 to &lt; 2.5" in admin.open(path).text, path


def test_a_sample_speaks_the_language_of_the_page(admin: Visitor) -> None:
    admin.create_by_form()
    assert "/new?sample" in admin.open("/new").text
    assert "schlecht" in admin.open("/new?sample", **{"Accept-Language": "de"}).text


def test_the_survey_page_has_the_command_of_the_program(admin: Visitor) -> None:
    campaign = admin.create_by_form()
    assert f"privtally submit --url http://testserver.local/s/{campaign} " in admin.open(f"/s/{campaign}").text


def test_the_form_starts_what_the_page_recommends(admin: Visitor) -> None:
    fields: dict[str, str] = {}
    for place in range(4):
        labels = "\n".join(f"{place}{code}" for code in range(3))
        fields |= {f"q{place}-name": f"q{place}", f"q{place}-kind": "labels", f"q{place}-labels": labels}
    for among, hide_among in ((None, 2), ("1", 1), ("2", 2), ("all", "all")):
        chosen = fields if among is None else {**fields, "hide_among": among}
        campaign = admin.create_by_form(**chosen)
        plan = admin.plan(campaign)
        found = recommend(plan.schema, 2.0, 400, hide_among=hide_among)  # type: ignore[arg-type]
        assert plan.parts == design(plan.schema, 2.0, **found.design.options).parts
        assert "of 400" in admin.open(f"/c/{campaign}").text
        advice = admin.submit("/new/advice", **{**FORM, **chosen}).text
        assert f"± {found.points:.0f}" in advice
        assert ("if a report may say which question it answers" in advice) == (hide_among != 1)


def test_the_form_offers_to_hide_the_question(admin: Visitor) -> None:
    for language, words in (("en", ("2 questions", "say which", "all")), ("de", ("2 Fragen", "sagen, welche", "alle"))):
        shown = admin.open("/new", **{"Accept-Language": language}).text
        assert [f">{word}</option>" in shown for word in words] == 3 * [True]
        assert 'value="2" selected' in shown
    kept = admin.submit("/new", **{**FORM, "hide_among": "all", "do": "show"}).text
    assert 'value="all" selected' in kept
    assert admin.submit("/new", **{**FORM, "hide_among": "9"}).status_code == 400


def test_totals_are_public_only_if_they_are_published(admin: Visitor) -> None:
    hidden, shown = admin.create_by_form(), admin.create_by_form(published="on")
    admin.answer(shown, 100)
    admin.client.cookies.clear()
    assert admin.open(f"/s/{hidden}/totals").status_code == 404
    assert "so-so" in admin.open(f"/s/{shown}/totals").text


@pytest.mark.parametrize(("language", "word"), [("en", "Send"), ("de", "Senden")])
def test_the_survey_page_speaks_the_language_of_the_browser(admin: Visitor, language: str, word: str) -> None:
    page = admin.open(f"/s/{admin.create_by_form()}", **{"Accept-Language": language})
    assert f">{word}<" in page.text
    assert page.headers["content-language"] == language
    assert "A team that asks." in page.text


def test_a_mechanism_may_be_left_to_advice(admin: Visitor) -> None:
    made = admin.create(mechanism="auto", people=1_000, schema=schema_document((3, 3, 3)))
    assert (made["mechanism"], made["options"]["people"]) == ("rs-fd", 1_000)
    assert [part.decoys for part in admin.plan(made["id"]).parts] == [1]
    said = admin.create(mechanism="auto", people=1_000, hide_among=1, schema=schema_document((3, 3, 3)))
    assert said["mechanism"] == "smp"
    unclear: list[dict[str, Any]] = [
        {},
        {"people": 0},
        {"people": 10**15},
        {"people": 9, "pivots": 2},
        {"people": 9, "decoys": 1},
        {"people": 9, "hide_among": 0},
        {"people": 9, "hide_among": "some"},
        {"people": 9, "options": {"people": 3}},
    ]
    for fields in unclear:
        assert admin.create(400, mechanism="auto", **fields) == "invalid-request", fields
    assert admin.create(400, people=9) == "invalid-request"
    assert admin.create(400, hide_among="all") == "invalid-request"


def pages_of(campaign: str) -> tuple[str, ...]:
    return (f"/c/{campaign}", f"/c/{campaign}/live?seen=", f"/s/{campaign}/totals")


def test_made_up_reports_that_break_the_estimator_break_no_page(admin: Visitor) -> None:
    new: Any = {
        "schema": schema_document((6,) * 6),
        "epsilon": 24.0,
        "mechanism": "rs-fd",
        "options": {"published": True},
    }
    campaign = admin.create(**new)["id"]
    admin.send(campaign, *contradictory(admin.plan(campaign)))
    pages = (*pages_of(campaign), f"/c/{campaign}/together")
    assert [admin.open(page).status_code for page in pages] == 4 * [200]


@pytest.mark.parametrize("failure", [EstimateError("no estimate today"), LookupError("secret")])
def test_pages_say_why_there_are_no_totals(admin: Visitor, failure: Exception) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise failure

    collector = admin.client.app.state.collector
    honest, collector.estimates = collector.estimates, Estimates(collector.store, fails)
    campaign = admin.create(options={"published": True})["id"]
    nobody = admin.open(f"/c/{campaign}").text
    assert "Nobody has answered yet" in nobody
    admin.answer(campaign, 30)
    why = "No estimate today." if isinstance(failure, EstimateError) else "because of a defect"
    for page in pages_of(campaign):
        shown = admin.open(page)
        assert shown.status_code == 200
        assert why in shown.text
    collector.estimates = honest
    admin.answer(campaign, 30, seed=2)
    assert all(why not in admin.open(page).text for page in pages_of(campaign))


def estimates_in_memory(campaign: str) -> int:
    gc.collect()
    found = [own for own in gc.get_objects() if isinstance(own, Estimate)]
    return sum(own.provenance.phases[0].plan == campaign for own in found)


def test_nothing_of_a_deleted_survey_stays_in_memory(admin: Visitor) -> None:
    campaign = admin.create_by_form()
    admin.answer(campaign, 50)
    assert admin.open(f"/c/{campaign}/export/csv").status_code == 200
    assert estimates_in_memory(campaign) == 1
    admin.close(campaign)
    assert admin.submit(f"/c/{campaign}/delete", title=FORM["title"]).status_code == 303
    assert estimates_in_memory(campaign) == 0
