"""Numbers and skipped answers: what is declared, what is taken, and what is refused without quoting an answer."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privtally.bins import BinRange, Bins
from privtally.documents.plan import design, load_plan
from privtally.errors import PlanError, RecordError, SchemaError
from privtally.exact import wire
from privtally.participant.respond import encode
from privtally.schema import NO_ANSWER, Attribute, Schema
from privtally.tables.csv_table import open_table

AGE = Attribute("age", bins=(0, 18, 30, 45, 65, 120))
HEIGHT = Attribute("height", bins=(0.5, 1.5, 1.75, 2.5), decimals=True, optional=True)
SECRET = "zzz-my-secret-answer"


def test_labels_follow_from_the_edges() -> None:
    assert AGE.labels == ("0–17", "18–29", "30–44", "45–64", "65–120")
    assert AGE.ordered
    assert HEIGHT.labels == ("0.5 to < 1.5", "1.5 to < 1.75", "1.75 to 2.5", NO_ANSWER)
    assert Attribute("children", bins=(0, 1, 2, 20)).labels == ("0", "1", "2–20")
    assert Attribute("degrees", bins=(-10, 0, 10)).labels == ("-10 to -1", "0 to 10")


def test_bins_of_one_width_are_the_same_as_their_edges() -> None:
    text = '[[attributes]]\nname = "age"\nbins = {{ from = 0, to = {to}, width = {width} }}\ndecimals = {decimals}\n'
    whole = Schema.from_toml(text.format(to=120, width=40, decimals="false"))
    assert whole.attributes[0] == Attribute("age", bins=(0, 40, 80, 120))
    tenths = Schema.from_toml(text.format(to=0.3, width=0.1, decimals="true"))
    assert tenths.attributes[0].bins == (0, 0.1, 0.2, 0.3)


@pytest.mark.parametrize(
    "fields",
    [
        "bins = [0, 18]",
        "bins = [0, 18, 18]",
        "bins = [0, 30, 18]",
        "bins = [0, 18.5, 30]",
        "bins = [0, inf, 30]\ndecimals = true",
        "bins = [0, nan, 30]\ndecimals = true",
        "bins = [0, 18, true]",
        "bins = [0, 18, 9007199254740993]",
        'bins = [0, 18, 30]\nlabels = ["young", "old"]',
        "bins = { from = 0, to = 100, width = 30 }",
        "bins = { from = 0, to = 100, width = 0 }",
        "bins = { from = 0, to = 100, width = -10 }",
        "bins = { from = 0, to = 100, width = 100 }",
        "bins = { from = 0, to = 1e300, width = 1.0 }\ndecimals = true",
        "bins = { from = 0, to = 100 }",
        'labels = ["a", "b"]\nclamp = true',
        'labels = ["a", "b"]\ndecimals = true',
        'labels = ["a"]\noptional = true',
        'labels = ["a", "no answer"]\noptional = true',
        'labels = ["no answer", "a", "b"]\noptional = true',
        'labels = ["a", "b"]\noptional = 1',
    ],
)
def test_declarations_that_do_not_fit_together_are_refused(fields: str) -> None:
    with pytest.raises(SchemaError):
        Schema.from_toml(f'[[attributes]]\nname = "age"\n{fields}\n')


@pytest.mark.parametrize(
    ("answer", "code"), [("0", 0), ("17", 0), ("18", 1), (" 29 ", 1), ("+30", 2), ("120", 4), (64, 3), ("007", 0)]
)
def test_whole_numbers_find_their_bins(answer: Any, code: int) -> None:
    assert encode(Schema((AGE,)), {"age": answer}).codes == (code,)


@pytest.mark.parametrize(
    ("answer", "code"), [("1.5", 1), ("1.4999", 0), ("2.5", 2), ("17e-1", 1), (1.75, 2), (2, 2), (".5", 0)]
)
def test_decimals_find_their_bins(answer: Any, code: int) -> None:
    assert encode(Schema((HEIGHT,)), {"height": answer}).codes == (code,)


NO_NUMBERS = ["", "23,5", "1_0", "0x10", "２３", "nan", "inf", "-inf", "18–29", "twelve", "1e3", "23.0", True, [], None]


@pytest.mark.parametrize("answer", [*NO_NUMBERS, 23.0, Decimal(23), float("nan"), "9" * 5_000])
@pytest.mark.parametrize("clamp", [False, True])
def test_what_is_no_whole_number_is_refused(answer: Any, clamp: bool) -> None:
    with pytest.raises(RecordError):
        encode(Schema((msgspec.structs.replace(AGE, clamp=clamp),)), {"age": answer})


@pytest.mark.parametrize("answer", ["nan", "inf", "1e999", float("inf"), float("nan"), "1,7", "tall", "0.5 to < 1.5"])
@pytest.mark.parametrize("clamp", [False, True])
def test_what_is_no_decimal_number_is_refused(answer: Any, clamp: bool) -> None:
    with pytest.raises(RecordError, match="'height'"):
        encode(Schema((msgspec.structs.replace(HEIGHT, clamp=clamp),)), {"height": answer})


@pytest.mark.parametrize(("answer", "clamped"), [("-1", 0), ("121", 4), ("9" * 300, 4), (-5, 0)])
def test_numbers_out_of_range_are_refused_or_clamped(answer: Any, clamped: int) -> None:
    with pytest.raises(RecordError, match="'age'") as fault:
        encode(Schema((AGE,)), {"age": answer})
    assert str(answer) not in str(fault.value)
    assert encode(Schema((msgspec.structs.replace(AGE, clamp=True),)), {"age": answer}).codes == (clamped,)


@given(st.integers(0, 120))
def test_a_number_lies_between_the_ends_of_its_bin(number: int) -> None:
    (code,) = encode(Schema((AGE,)), {"age": str(number)}).codes
    assert AGE.numbers is not None
    assert AGE.numbers.lowest[code] <= number <= AGE.numbers.highest[code]


SMOKES = Attribute("smokes", ("no", "yes"), optional=True)


def test_a_skipped_answer_is_an_answer() -> None:
    schema = Schema((SMOKES, HEIGHT))
    assert SMOKES.labels == ("no", "yes", NO_ANSWER)
    for answers in ({}, {"smokes": None, "height": " "}, {"smokes": "", "height": NO_ANSWER}):
        assert encode(schema, answers).codes == (2, 3)
    with pytest.raises(RecordError, match="'smokes'"):
        encode(Schema.of({"smokes": ["no", "yes"]}), {})
    with pytest.raises(RecordError, match="blank"):
        encode(Schema.of({"smokes": ["no", "yes"]}), {"smokes": None})


def test_a_plain_attribute_may_have_a_label_of_that_name() -> None:
    plain = Attribute("smokes", ("no", "yes", NO_ANSWER))
    assert plain.answers == 3
    with pytest.raises(RecordError, match="blank"):
        encode(Schema((plain,)), {"smokes": ""})


def test_blank_cells_and_numbers_of_a_table(tmp_path: Path) -> None:
    schema = Schema((SMOKES, AGE))
    path = tmp_path / "data.csv"
    path.write_text("smokes,age\nyes,18\n,65\n  ,0\nno answer,120\n")
    with open_table(path, schema) as table:
        assert table.read_all().codes.tolist() == [[1, 1], [2, 4], [2, 0], [2, 4]]
    path.write_text(f"smokes,age\nyes,18\n,\nyes,{SECRET}\nno,121\n{SECRET},5\n")
    with open_table(path, schema) as table, pytest.raises(RecordError) as fault:
        table.read_all()
    for line in (3, 4, 5, 6):
        assert f"line {line}" in str(fault.value)
    assert SECRET not in str(fault.value)
    assert "121" not in str(fault.value)


def test_an_empty_line_in_a_single_optional_column_is_a_skipped_answer(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("smokes\nyes\n\nno\n")
    with open_table(path, Schema((SMOKES,))) as table:
        assert table.read_all().codes.tolist() == [[1], [2], [0]]


@pytest.mark.parametrize("attribute", [AGE, HEIGHT, SMOKES, Attribute("q", ("a", "b"), ordered=True)])
def test_a_plan_keeps_what_was_declared(attribute: Attribute) -> None:
    plan = design(Schema((attribute,)), 1.0, "spl")
    again = load_plan(plan.dump())
    assert again.schema.attributes == (attribute,)
    assert again.digest == plan.digest
    assert Schema.from_json(msgspec.json.encode(plan.schema)) == plan.schema


def test_plain_attributes_are_written_as_ever() -> None:
    assert msgspec.to_builtins(Attribute("q", ("a", "b"))) == {"name": "q", "labels": ("a", "b")}


def test_a_plan_whose_labels_do_not_follow_from_its_bins_is_refused() -> None:
    body = msgspec.json.decode(design(Schema((AGE,)), 1.0, "spl").dump())
    del body["digest"]
    body["schema"]["attributes"][0]["labels"][0] = "0–16"
    body["digest"] = wire.digest(body)
    with pytest.raises(PlanError, match="'age'"):
        load_plan(wire.canonical(body))


@pytest.mark.parametrize("decimals", [False, True])
@pytest.mark.parametrize("answer", ["\x1c77", "\x1f77", "77\x1d"])
def test_what_is_stripped_is_what_is_read(answer: str, decimals: bool) -> None:
    """Python strips more than its numbers do, whose own refusals would quote the answer."""
    assert Bins.of("'age'", (0, 18, 120), 10, decimals=decimals, clamp=False).code(answer) == 1


def test_numbers_too_large_to_hold_are_refused_unquoted() -> None:
    for answer in (10**400, "9" * 5_000):
        with pytest.raises(RecordError) as refusal:
            Bins.of("'age'", (0, 18, 120), 10, decimals=True, clamp=False).code(answer)
        assert "99" not in str(refusal.value)


@pytest.mark.parametrize("declared", [(0, 5, 10**400), BinRange(0, 10**400, 1), BinRange(0.0, float("inf"), 1.0)])
def test_edges_that_no_document_can_hold_are_refused(declared: Any) -> None:
    for decimals in (False, True):
        with pytest.raises(SchemaError):
            Bins.of("attribute 'age'", declared, 10, decimals=decimals, clamp=False)
