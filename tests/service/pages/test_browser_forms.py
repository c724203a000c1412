"""Forms, numbers and narrow tables in a real browser."""

import pytest
from playwright.sync_api import expect

from tests.scale import scaled
from tests.service.pages.browser import PHONE, Running
from tests.service.site import reports_to

LONG = ("satisfied", "neither satisfied nor dissatisfied", "dissatisfied", "very dissatisfied")
HOURS = {"name": "hours", "bins": {"from": 0, "to": 5, "width": 2.5}, "decimals": True, "clamp": True}


def test_a_question_that_was_added_has_the_focus_and_its_range_is_refused_in_german(service: Running) -> None:
    with service.window(viewport=PHONE, locale="de-DE") as operator:
        page = operator.log_in(service.token)
        operator.open("/new?sample").locator("button[value=add]").click()
        expect(page.locator("#q3-name")).to_be_focused()
        page.keyboard.type("Alter")
        page.locator("input[name=q3-kind][value=numbers]").check()
        for name, number in (("start", "18"), ("end", "100"), ("width", "10")):
            page.fill(f"#q3-{name}", number)
        expect(page.locator("#advice")).to_contain_text("bis 98")
        expect(page.locator("#advice [lang=en]")).to_have_count(0)
        page.fill("#q3-end", "30,5")
        page.fill("#q3-width", "2,5")
        expect(page.locator("#advice .figure")).to_be_visible()


@pytest.mark.parametrize(
    ("locale", "typed", "refused", "bins"),
    [("en-GB", "2,75", "1,500", ("0 to < 2.5", "2.5 to 5")), ("de-DE", "2.75", "1.500", ("0 bis < 2,5", "2,5 bis 5"))],
)
def test_numbers_have_either_decimal_sign_and_bins_the_language_of_the_page(
    service: Running, locale: str, typed: str, refused: str, bins: tuple[str, str]
) -> None:
    campaign = service.survey(schema={"attributes": [HOURS]}, mechanism="spl")
    with service.window(locale=locale) as person:
        page = person.open(f"/s/{campaign}")
        page.fill("#number0", refused)
        person.send()
        expect(page.locator(".question .fault")).to_be_visible()
        page.fill("#number0", typed)
        person.send()
        expect(page.locator("#done")).to_be_visible()
        assert page.inner_text("#received dd") in bins


def test_links_are_copied_whole_and_wrap(service: Running) -> None:
    campaign = service.survey(mechanism="smp", options={"tokens": True})
    with service.window(permissions=["clipboard-read", "clipboard-write"]) as operator:
        page = operator.log_in(service.token)
        operator.open(f"/c/{campaign}/invitations")
        page.fill("#number", "2")
        page.locator("button[value=show]").click()
        assert page.evaluate("() => links.scrollWidth <= links.clientWidth")
        page.click("#copy")
        expect(page.locator("#copied")).to_be_visible()
        assert page.evaluate("() => navigator.clipboard.readText()") == page.locator("#links").input_value()


@pytest.mark.parametrize("locale", scaled(["de-DE"], ["en-GB", "de-DE"]))
def test_words_stay_whole_and_wide_tables_scroll_on_a_phone(service: Running, locale: str) -> None:
    site = service.site
    attributes = [{"name": name, "labels": LONG} for name in ("work", "life")]
    campaign = service.survey(schema={"attributes": attributes}, options={"published": True})
    for seed in range(2):
        site.send(campaign, *reports_to(site.plan(campaign), 1_000, seed))
    with service.window(locale=locale) as person:
        page = person.open(f"/s/{campaign}/totals")
        line = page.locator("tbody th", has_text="very").first.evaluate(LINE)
        for word in ("satisfied", "dissatisfied"):
            cell = page.locator("tbody th").get_by_text(word, exact=True).first
            assert cell.evaluate(TEXT_HEIGHT) <= 1.5 * line, word
        person.log_in(service.token)
        table = person.open(f"/c/{campaign}/together").locator(".wide-table")
        assert table.evaluate("own => own.scrollWidth > own.clientWidth")
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        table.evaluate("own => own.scrollTo(own.scrollWidth, 0)")
        expect(table.locator("thead th").last).to_be_in_viewport()


LINE = "own => parseFloat(getComputedStyle(own).lineHeight)"
TEXT_HEIGHT = (
    "own => { const all = new Range(); all.selectNodeContents(own); return all.getBoundingClientRect().height; }"
)
