import json
from typing import Any

import pytest

from privtally.collector.tally import tally
from privtally.documents.plan import design
from privtally.documents.report import Report, check_report, load_report
from privtally.errors import RecordError, ReportError
from privtally.participant.respond import encode, respond
from privtally.schema import Record, Schema
from tests.support import plan_of, schema_of

PLAN = plan_of("spl", (2, 3))
GOOD = {"format": "privtally.report/1", "plan": PLAN.digest, "id": "0123456789abcdef" * 2, "codes": [1, 2]}


def test_a_good_line_is_read() -> None:
    report = load_report(json.dumps(GOOD))
    assert report == Report(PLAN.digest, "0123456789abcdef" * 2, (1, 2))
    assert check_report(PLAN, report) == [1, 2]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"codes": [1, "2"]}, "Expected `int | null`, got `str`"),
        ({"codes": [1, True]}, "got `bool`"),
        ({"codes": [1, 2.0]}, "got `float`"),
        ({"codes": 3}, "got `int`"),
        ({"id": "0123"}, "32 lower-case hexadecimal"),
        ({"id": "0123456789ABCDEF" * 2}, "32 lower-case hexadecimal"),
        ({"id": 5}, "got `int`"),
        ({"plan": 5}, "got `int`"),
        ({"plan": "0" * 63}, "SHA-256"),
        ({"note": "x"}, "unknown field"),
        ({"format": "privtally.documents.report/2"}, "format"),
        ({"format": None}, "format"),
    ],
)
def test_a_bad_line_is_refused_with_a_reason(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(ReportError, match=reason.replace("|", r"\|")):
        load_report(json.dumps({**GOOD, **change}))


def test_a_line_without_its_format_is_refused() -> None:
    with pytest.raises(ReportError, match="format"):
        load_report(json.dumps({key: value for key, value in GOOD.items() if key != "format"}))


def test_a_truncated_line_is_refused() -> None:
    with pytest.raises(ReportError, match="truncated"):
        load_report(json.dumps(GOOD)[:-5])


@pytest.mark.parametrize(
    ("codes", "reason"),
    [
        ((1, 3), "attribute 'q1' has a code outside 0 to 2"),
        ((-1, 0), "attribute 'q0' has a code outside"),
        ((1,), "has 1 codes, the plan 2"),
        ((1, None), "'q1' is null, but spl answers every attribute"),
        ((2**70, 1), "outside"),
    ],
)
def test_codes_outside_the_plan_are_refused(codes: tuple[int | None, ...], reason: str) -> None:
    with pytest.raises(ReportError, match=reason):
        check_report(PLAN, Report(PLAN.digest, "0" * 32, codes))


def test_a_report_to_another_plan_is_refused() -> None:
    other = plan_of("spl", (2, 3), epsilon=2.0)
    with pytest.raises(ReportError, match="tally it with its own plan"):
        check_report(other, Report(PLAN.digest, "0" * 32, (1, 2)))


def test_smp_reports_answer_exactly_one_attribute() -> None:
    plan = plan_of("smp", (2, 3))
    assert check_report(plan, Report(plan.digest, "0" * 32, (None, 2))) == [2, 2]
    for codes in ((None, None), (0, 1), (2, None)):
        with pytest.raises(ReportError):
            check_report(plan, Report(plan.digest, "0" * 32, codes))


def test_repeated_ids_count_once() -> None:
    reports = [Report(PLAN.digest, f"{name:032x}", (1, 2)) for name in (1, 2, 1, 3, 3, 3)]
    result = tally(PLAN, reports)
    assert result.counts.reports == 3
    assert result.repeated == 3


def test_many_reports_are_tallied_in_batches() -> None:
    reports = (Report(PLAN.digest, f"{name:032x}", (name % 2, name % 3)) for name in range(70_000))
    counts = tally(PLAN, reports).counts
    assert counts.reports == 70_000
    assert counts.attributes[0].tolist() == [35_000, 35_000]


def test_one_participant_answers_one_plan() -> None:
    schema = Schema.of({"smokes": ["no", "yes"], "drinks": ["never", "weekly", "daily"]})
    plan = design(schema, 1.0, "spl")
    one, two = (respond(plan, encode(schema, {"drinks": "daily", "smokes": "no", "more": "x"})) for _ in range(2))
    assert one.plan == plan.digest
    assert one.id != two.id
    check_report(plan, one)


def test_answers_that_do_not_fit_are_refused_and_never_quoted() -> None:
    schema = Schema.of({"smokes": ["no", "yes"], "drinks": ["never", "weekly", "daily"]})
    with pytest.raises(RecordError, match="no answer for 'drinks'"):
        encode(schema, {"smokes": "no"})
    with pytest.raises(RecordError, match="'drinks' has a value that is none of its 3 declared labels") as refusal:
        encode(schema, {"smokes": "no", "drinks": "secret"})
    assert "secret" not in repr(refusal.value)
    assert refusal.value.__cause__ is None
    assert refusal.value.__context__ is None


def test_a_record_of_another_schema_is_refused() -> None:
    record = encode(schema_of((2, 9)), {"q0": "a1", "q1": "a8"})
    with pytest.raises(RecordError, match="'q1' needs an integer code from 0 to 2"):
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
    with pytest.raises(ReportError, match="a key stands twice"):
        load_report(line.replace('"codes"', '"codes": [0, 0], "codes"'))


def test_a_plan_that_is_no_digest_is_refused() -> None:
    with pytest.raises(ReportError, match="SHA-256"):
        Report("\x1b[31m", "0" * 32, (1, 2))
