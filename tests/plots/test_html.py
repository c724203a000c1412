"""The table of an estimate for notebooks."""

import re
from html.parser import HTMLParser

import numpy as np

from privtally.campaign import run
from privtally.documents.estimate import Estimate
from privtally.lab.population import seeded
from privtally.names import Method
from privtally.plots.html import MOST_ROWS, table
from privtally.schema import Attribute, Records, Schema


class Parsed(HTMLParser):
    """The tags and the text of a page; tags that do not match are an error."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002  # the parser's signature
        self.tags.append(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002  # the parser's signature
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + "\n"


def estimated(schema: Schema, method: Method = "likelihood", people: int = 400) -> Estimate:
    made_up = np.random.default_rng(1)
    codes = np.column_stack([made_up.integers(0, size, people) for size in schema.sizes])
    records = Records(schema, codes.astype(np.uint16))
    return run(records, records.schema, 2.0, mechanism="rs-fd", method=method, source=seeded(3)).estimate


def test_names_and_labels_are_text_and_nothing_else() -> None:
    evil = "<script>alert('x')</script>"
    page = table(estimated(Schema.of({evil: ["<b>", '"&"'], "Länder": ["日本", "España"]})))
    parsed = Parsed(page)
    assert set(parsed.tags) <= {"table", "caption", "tr", "th", "td", "b", "svg", "rect", "path", "p", "span"}
    for text in (evil, "<b>", '"&"', "Länder", "日本", "España"):
        assert text in parsed.text


def test_every_label_has_its_share_and_interval() -> None:
    result = estimated(Schema.of({"a": ["x", "y"], "b": ["p", "q", "r"]}))
    parsed = Parsed(table(result))
    assert parsed.tags.count("rect") == 5
    for own in result.attributes.values():
        assert own.low
        assert own.high
        for share, low, high in zip(own.frequencies, own.low, own.high, strict=True):
            assert f"{100 * share:.1f} %" in parsed.text
            assert f"{100 * low:.1f} – {100 * high:.1f}" in parsed.text


def test_skipped_answers_and_numbers_have_their_own_words() -> None:
    schema = Schema((Attribute("age", bins=(0, 20, 60, 99), optional=True), Attribute("a", ("x", "y"))))
    text = Parsed(table(estimated(schema))).text
    assert "of those who answered" in text
    assert "mean" in text


def test_a_frequency_below_0_has_no_bar_of_negative_width() -> None:
    schema = Schema.of({"a": [f"x{own}" for own in range(12)], "b": ["p", "q"]})
    result = estimated(schema, "unbiased", people=60)
    assert min(result.attributes["a"].frequencies) < 0
    assert not re.search(r'width="-', table(result))


def test_long_tables_end_early_and_say_so() -> None:
    many = Schema.of({f"q{number}": [f"x{own}" for own in range(60)] for number in range(12)})
    parsed = Parsed(table(estimated(many, "unbiased")))
    assert parsed.tags.count("rect") == MOST_ROWS
    assert "top 40 of 60" in parsed.text
    assert "12 questions" in parsed.text
