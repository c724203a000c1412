import json
from typing import Any

import numpy as np
import pytest

from privtally.documents.report import Report, check_report, load_report
from privtally.errors import RecordError, ReportError
from privtally.participant.respond import encode, respond, respond_many
from privtally.schema import Attribute, Record, Records, Schema
from tests.support import EXTENDED_PLANS, plan_of, plan_with, schema_of

PLAN = plan_of("spl", (2, 3))
GOOD = {"format": "privtally.report/1", "plan": PLAN.digest, "id": "0123456789abcdef" * 2, "codes": [1, 2]}


def test_a_good_line_is_read() -> None:
    report = load_report(json.dumps(GOOD))
    assert report == Report(PLAN.digest, "0123456789abcdef" * 2, (1, 2))
    assert check_report(PLAN, report) == [1, 2]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"codes": [1, "2"]}, r"\$\.codes"),
        ({"codes": [1, True]}, r"\$\.codes"),
        ({"codes": [1, 2.0]}, r"\$\.codes"),
        ({"codes": 3}, r"\$\.codes"),
        ({"id": "0123"}, "id"),
        ({"id": "0123456789ABCDEF" * 2}, "id"),
        ({"id": "0" * 31 + "\n"}, "id"),
        ({"id": 5}, r"\$\.id"),
        ({"plan": 5}, r"\$\.plan"),
        ({"plan": "0" * 63}, "plan"),
        ({"plan": "\x1b[31m"}, "plan"),
        ({"note": "x"}, "`note`"),
        ({"format": "privtally.documents.report/2"}, "format"),
        ({"format": None}, "format"),
    ],
)
def test_a_bad_line_is_refused_with_the_name_of_what_is_wrong(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(ReportError, match=reason):
        load_report(json.dumps({**GOOD, **change}))


def test_a_truncated_line_and_one_without_its_format_are_refused() -> None:
    with pytest.raises(ReportError, match="report"):
        load_report(json.dumps(GOOD)[:-5])
    with pytest.raises(ReportError, match="format"):
        load_report(json.dumps({key: value for key, value in GOOD.items() if key != "format"}))


@pytest.mark.parametrize(
    ("codes", "reason"),
    [
        ((1, 3), "q1"),
        ((-1, 0), "q0"),
        ((1,), "1 codes"),
        ((1, 2, 0), "3 codes"),
        ((1, None), "q1.*null"),
        ((2**70, 1), "q0"),
    ],
)
def test_codes_outside_the_plan_are_refused(codes: tuple[int | None, ...], reason: str) -> None:
    with pytest.raises(ReportError, match=reason):
        check_report(PLAN, Report(PLAN.digest, "0" * 32, codes))


def test_a_report_to_another_plan_is_refused() -> None:
    other = plan_of("spl", (2, 3), epsilon=2.0)
    with pytest.raises(ReportError, match=PLAN.digest[:12]):
        check_report(other, Report(PLAN.digest, "0" * 32, (1, 2)))


def test_reports_answer_as_many_attributes_as_a_silent_part_asks() -> None:
    plan = plan_of("smp", (2, 3))
    assert check_report(plan, Report(plan.digest, "0" * 32, (None, 2))) == [2, 2]
    for codes in ((None, None), (0, 1), (2, None), (None, 3)):
        with pytest.raises(ReportError):
            check_report(plan, Report(plan.digest, "0" * 32, codes))


def test_every_silent_part_is_checked_by_itself() -> None:
    """Two silent groups of sizes (3, 3) and (2, 2), and two of three questions."""
    groups = plan_with(*EXTENDED_PLANS["groups, silent"])
    assert check_report(groups, Report(groups.digest, "0" * 32, (2, None, None, 1))) == [2, 2, 3, 1]
    for codes in ((2, None, 1, None), (2, 1, 1, 1), (None, 1, None, 1), (None, None, None, None)):
        with pytest.raises(ReportError):
            check_report(groups, Report(groups.digest, "0" * 32, codes))
    pivots = plan_with(*EXTENDED_PLANS["two pivots, silent"])
    assert check_report(pivots, Report(pivots.digest, "0" * 32, (1, None, 0))) == [1, 3, 0]
    for few_or_many in ((1, None, None), (1, 1, 1)):
        with pytest.raises(ReportError, match="2"):
            check_report(pivots, Report(pivots.digest, "0" * 32, few_or_many))


def test_only_silent_parts_take_nulls() -> None:
    plan = plan_with(*EXTENDED_PLANS["groups, silent and table"])
    assert check_report(plan, Report(plan.digest, "0" * 32, (None, 1, 2, 0))) == [3, 1, 2, 0]
    with pytest.raises(ReportError, match="q3"):
        check_report(plan, Report(plan.digest, "0" * 32, (None, 1, 2, None)))


def test_a_question_that_may_be_skipped_is_not_skipped_by_a_misspelled_name() -> None:
    schema = Schema((Attribute("smokes", ("no", "yes"), optional=True), Attribute("drinks", ("no", "yes"))))
    with pytest.raises(RecordError, match="'smokes'") as refusal:
        encode(schema, {"Smokes": "yes", "drinks": "no"})
    assert "Smokes" not in str(refusal.value)
    assert encode(schema, {"drinks": "no"}).codes == (2, 0)
    assert encode(schema, {"smokes": None, "drinks": "no", "more": "x"}).codes == (2, 0)


def test_answers_that_do_not_fit_are_refused_and_never_quoted() -> None:
    schema = Schema.of({"smokes": ["no", "yes"], "drinks": ["never", "weekly", "daily"]})
    with pytest.raises(RecordError, match="drinks"):
        encode(schema, {"smokes": "no"})
    with pytest.raises(RecordError, match="drinks") as refusal:
        encode(schema, {"smokes": "no", "drinks": "secret"})
    assert "secret" not in repr(refusal.value)
    assert refusal.value.__cause__ is None
    assert refusal.value.__context__ is None


def test_a_record_of_another_schema_is_refused() -> None:
    record = encode(schema_of((2, 9)), {"q0": "a1", "q1": "a8"})
    with pytest.raises(RecordError, match="q1"):
        respond(PLAN, record)


@pytest.mark.parametrize("codes", [("influenza", 0), (300, 0), (-1, 0), (1, 2.0), (True, 0), (1,), (1, 0, 0)])
def test_a_record_that_is_no_record_is_refused_and_never_quoted(codes: tuple[Any, ...]) -> None:
    with pytest.raises(RecordError) as refusal:
        respond(PLAN, Record(codes))
    assert "influenza" not in str(refusal.value)
    assert "300" not in str(refusal.value)
    assert refusal.value.__context__ is None


def test_a_key_that_stands_twice_is_refused() -> None:
    line = json.dumps(GOOD)
    with pytest.raises(ReportError, match="twice"):
        load_report(line.replace('"codes"', '"codes": [0, 0], "codes"'))


@pytest.mark.parametrize("name", EXTENDED_PLANS)
def test_lines_made_in_bulk_are_the_reports_own(name: str) -> None:
    plan = plan_with(*EXTENDED_PLANS[name])
    records = Records(plan.schema, np.zeros((50, len(plan.schema.sizes)), dtype=np.uint8))
    reports = respond_many(plan, records)
    assert list(reports.lines()) == [report.dump() + b"\n" for report in reports]


@pytest.mark.parametrize("given", [None, 3, ["{}"]])
def test_what_is_no_line_is_refused(given: Any) -> None:
    with pytest.raises(ReportError, match="a text or bytes"):
        load_report(given)
