"""What a schema declares: labels, numbers, skipped answers and alignments; refusals never quote an answer."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privtally.documents.plan import design, load_plan
from privtally.errors import PlanError, RecordError, SchemaError
from privtally.exact import canonical
from privtally.exact.randomness import WORD
from privtally.exact.types import Codes
from privtally.lab.population import seeded
from privtally.participant.respond import encode
from privtally.scales import BinRange, Bins
from privtally.schema import NO_ANSWER, Alignment, Attribute, Record, Records, Schema, code_type
from privtally.tables.answers import joined, open_table
from privtally.tables.frames import records_of
from tests.support import Scripted

TOML = """
[[attributes]]
name = "smokes"
labels = ["no", "yes"]

[[attributes]]
name = "drinks"
labels = ["never", "weekly", "daily"]
"""
JSON = """{"attributes": [
    {"name": "smokes", "labels": ["no", "yes"]},
    {"name": "drinks", "labels": ["never", "weekly", "daily"]}
]}"""


def test_toml_json_and_python_say_the_same() -> None:
    python = Schema.of({"smokes": ["no", "yes"], "drinks": ["never", "weekly", "daily"]})
    assert Schema.from_toml(TOML) == Schema.from_json(JSON) == python
    assert python.names == ("smokes", "drinks")
    assert python.sizes == (2, 3)


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ([], "2 to 65,536 answers, it declares 0"),
        (["one"], "2 to 65,536 answers, it declares 1"),
        (["a", "a"], "same answer twice"),
        (["a", ""], "not empty"),
        (["a", "  "], "blank"),
        (["a", "b\n"], "control character"),
        (["a", "\x1b[31m"], "control character"),
        (["a", "\ud800"], "surrogate"),
        ([str(code) for code in range(65_537)], "65537"),
    ],
)
def test_bad_labels_are_refused(labels: list[str], reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        Attribute("q", tuple(labels))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"attributes": []}', "at least one question"),
        (
            '{"attributes": [{"name": "a", "labels": ["x", "y"]}, {"name": "a", "labels": ["x", "y"]}]}',
            "declared twice",
        ),
        ('{"attributes": [{"name": "a", "labels": ["x", "y"], "note": 1}]}', "unknown field `note`"),
        ('{"attributes": [{"name": "a", "labels": ["x", null]}]}', "Expected `str`, got `null`"),
        ('{"attributes": [{"name": "a"}]}', "answers"),
        ("{", "not well-formed"),
        ("[" * 100_000, "not well-formed"),
        ('{"attributes": ' + "1" * 5_000 + "}", "integer"),
        ('{"attributes": [], "attributes": []}', "a key stands twice"),
        ('{"\\ud800": 1}', "not well-formed"),
        ("[]", "refused"),
    ],
)
def test_bad_json_is_refused(text: str, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        Schema.from_json(text)


def test_bad_toml_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"not well-formed .* line 2"):
        Schema.from_toml("x = 1\nattributes = ?\n")
    with pytest.raises(SchemaError, match="not well-formed"):
        Schema.from_toml("x = " + "[" * 100_000)
    with pytest.raises(SchemaError, match="unknown field"):
        Schema.from_toml(TOML + "note = 3")


def test_numbers_and_truth_values_are_labels_by_their_texts() -> None:
    schema = Schema({"score": [1, 2, 3], "member": [False, True]})
    assert schema == Schema({"score": ["1", "2", "3"], "member": ["false", "true"]})
    stated = '{"attributes": [{"name": "score", "labels": [1, 2, 3]}, {"name": "member", "labels": [false, true]}]}'
    assert Schema.from_json(stated) == schema
    for score, member in ((2, True), (2.0, "True"), ("2", "true"), ("2.0", "TRUE"), (np.int8(2), np.bool_(True))):
        assert schema.codes_of([score, member], Scripted([])) == [1, 1]
    with pytest.raises(RecordError, match="'1', '2', '3'"):
        schema.codes_of([2.5, True], Scripted([]))
    both = Schema({"q": ["True", "true", "1", "1.0"]})
    assert [both.codes_of([own], Scripted([])) for own in ("True", "true", "1", "1.0", True)] == [
        [0],
        [1],
        [2],
        [3],
        [1],
    ]


def test_a_question_may_be_declared_in_several_ways() -> None:
    written = Attribute("age", bins=(0, 18, 120), optional=True)
    schema = Schema({"smokes": ["no", "yes"], "age": {"bins": [0, 18, 120], "optional": True}})
    assert schema == Schema([Attribute("smokes", ("no", "yes")), written])
    assert schema == Schema({"smokes": {"labels": ["no", "yes"]}, "age": written})
    assert schema == Schema([{"name": "smokes", "labels": ["no", "yes"]}, written])
    assert Schema({"mood": pd.CategoricalDtype(["low", "high"])}) == Schema({"mood": pl.Enum(["low", "high"])})
    declared: list[tuple[Any, str]] = [
        ({"age": Attribute("years", bins=(0, 18, 120))}, "declared as 'years'"),
        ({"age": {"labels": ["a", "b"], "note": 1}}, "unknown field"),
        (["smokes"], r'\{"smokes": \["no", "yes"\]\}'),
        ("smokes", "must be declared"),
        ([5], "must be declared"),
    ]
    for questions, word in declared:
        with pytest.raises(SchemaError, match=word):
            Schema(questions)


def test_a_schema_prints_its_questions_and_answers() -> None:
    printed = repr(Schema({"smokes": ["no", "yes"], "town": [f"town {number}" for number in range(500)]}))
    assert printed.splitlines()[:2] == ["Schema of 2 questions", "  smokes: no, yes"]
    assert "town 19, … (500 answers)" in printed
    assert "and 5 more" in repr(Schema({f"q{number}": [0, 1] for number in range(25)}))


def test_a_schema_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "survey.toml"
    path.write_text(TOML)
    assert Schema.read(path) == Schema.read(str(path)) == Schema.from_toml(TOML)
    with pytest.raises(SchemaError, match=r"Schema\.read"):
        Schema.from_csv("answers.csv")


def test_records_never_show_themselves() -> None:
    record = Record((1, 0))
    records = Records(Schema.from_toml(TOML), np.array([[1, 2]], dtype=np.uint8))
    assert "1" not in repr(record) + str(record)
    assert "2" not in repr(records) + str(records)


@pytest.mark.parametrize(
    ("codes", "reason"),
    [
        (np.array([[0, 3]]), "question 'drinks' has a code outside 0 to 2"),
        (np.array([[-1, 0]]), "question 'smokes' has a code outside 0 to 1"),
        (np.array([[0.0, 1.0]]), "integer array"),
        (np.array([[True, False]]), "integer array"),
        (np.array([0, 1]), "shape"),
        (np.array([[0, 1, 1]]), "shape"),
    ],
)
def test_records_outside_the_schema_are_refused(codes: np.ndarray, reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        Records(Schema.from_toml(TOML), codes)


def test_true_frequencies_of_records() -> None:
    records = Records(Schema.from_toml(TOML), np.array([[1, 2], [1, 0], [0, 0], [1, 0]], dtype=np.uint8))
    assert records.frequencies() == {"smokes": [0.25, 0.75], "drinks": [0.75, 0.0, 0.25]}


@pytest.mark.parametrize(
    ("sizes", "name"), [((2,), "uint8"), ((256, 3), "uint8"), ((257,), "uint16"), ((65_537,), "uint32")]
)
def test_codes_take_the_smallest_type(sizes: tuple[int, ...], name: str) -> None:
    assert code_type(sizes) == name


@pytest.mark.parametrize(
    "char", ["\u200b", "\u200d", "\u202e", "\u2066", "\ufeff", "\u00ad", "\u3164", "\x7f", "\u2028"]
)
def test_characters_that_do_not_show_are_refused(char: str) -> None:
    with pytest.raises(SchemaError, match="invisible"):
        Attribute("q", ("yes", f"y{char}es"))
    with pytest.raises(SchemaError, match="invisible"):
        Attribute(f"q{char}", ("yes", "no"))


def test_names_and_labels_are_the_same_however_they_were_typed() -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    assert Attribute(decomposed, (decomposed, "no")) == Attribute(composed, (composed, "no"))
    with pytest.raises(SchemaError, match="twice"):
        Attribute("q", (composed, decomposed))
    with pytest.raises(SchemaError, match="twice"):
        Schema.of({composed: ["a", "b"], decomposed: ["a", "b"]})


@pytest.mark.parametrize("label", ["日本語", "Ελλάδα", "naïve", "❤\ufe0f", "a b", "a\u00a0b"])
def test_labels_in_any_script_are_taken(label: str) -> None:
    assert Attribute("q", (label, "other")).labels[0] == label


@pytest.mark.parametrize("labels", [2, 500])
def test_a_wrong_answer_hears_the_labels_and_is_not_quoted(labels: int) -> None:
    schema = Schema.of({"town": [f"town {place}" for place in range(labels)]})
    with pytest.raises(RecordError) as refusal:
        schema.codes_of(["somewhere else"], Scripted([]))
    said = str(refusal.value)
    assert ("'town 0', 'town 1'" in said, "somewhere" in said, len(said) < 500) == (True, False, True)


def test_a_schema_of_a_list_is_that_of_a_tuple() -> None:
    attributes = [Attribute("q", ("a", "b"))]
    schema = Schema(attributes)
    assert schema == Schema(tuple(attributes)) == Schema.from_json(msgspec.json.encode(schema))
    assert hash(schema) == hash(Schema(tuple(attributes)))


@pytest.mark.parametrize("labels", ["abc", 5])
def test_one_text_or_number_is_no_list_of_labels(labels: Any) -> None:
    for declare in (lambda: Attribute("q", labels), lambda: Schema.of({"q": labels})):
        with pytest.raises(SchemaError, match="'q' needs a list of answers, not one text or number"):
            declare()


def test_a_label_is_a_text_or_a_number() -> None:
    with pytest.raises(SchemaError, match="must be a text"):
        Schema.of({"smokes": [None, "yes"]})


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


YEARS = Attribute("age", grid=(0, 18, 30, 45, 65, 120))
METRES = Attribute("height", grid=(0.5, 1.5, 1.75), decimals=True, clamp=True, optional=True)


def test_labels_of_a_grid_are_its_points() -> None:
    assert (YEARS.labels, YEARS.ordered) == (("0", "18", "30", "45", "65", "120"), True)
    assert METRES.labels == ("0.5", "1.5", "1.75", NO_ANSWER)
    assert Attribute("age", YEARS.labels, grid=YEARS.grid) == YEARS
    assert msgspec.to_builtins(Attribute("q", grid=(0, 5))) == {
        "name": "q",
        "labels": ("0", "5"),
        "ordered": True,
        "grid": (0, 5),
    }


def test_a_grid_of_equal_distances_is_the_same_as_its_points() -> None:
    text = '[[attributes]]\nname = "age"\ngrid = {{ from = {start}, to = {to}, steps = {steps} }}\n{more}'
    whole = Schema.from_toml(text.format(start=0, to=120, steps=5, more=""))
    assert whole.attributes[0] == Attribute("age", grid=(0, 24, 48, 72, 96, 120))
    tenths = Schema.from_toml(text.format(start=-0.1, to=0.2, steps=3, more="decimals = true"))
    assert tenths.attributes[0].grid == (-0.1, 0, 0.1, 0.2)
    thirds = Schema({"q": {"grid": {"from": 0, "to": 1, "steps": 3}, "decimals": True}})
    assert thirds.attributes[0].grid == (0, 1 / 3, 2 / 3, 1)


@pytest.mark.parametrize(
    "fields",
    [
        "grid = [7]",
        "grid = []",
        "grid = [0, 18, 18]",
        "grid = [0, 30, 18]",
        "grid = [0, 18.5]",
        "grid = [0, nan]\ndecimals = true",
        "grid = [0, true]",
        "grid = [0, 9007199254740993]",
        'grid = [0, 18]\nlabels = ["young", "old"]',
        "grid = [0, 18]\nbins = [0, 18, 30]",
        'grid = [0, 18]\nmerged = [["a"], ["b"]]',
        "grid = { from = 0, to = 100, steps = 0 }",
        "grid = { from = 0, to = 100, steps = 3 }",
        "grid = { from = 0, to = 100, steps = 1e2 }",
        "grid = { from = 0, to = 100, steps = 100000 }",
        "grid = { from = 100, to = 0, steps = 5 }",
        "grid = { from = 0.0, to = inf, steps = 5 }\ndecimals = true",
        "grid = { from = 0, to = 100 }",
    ],
)
def test_grids_that_do_not_increase_or_have_no_two_points_are_refused(fields: str) -> None:
    with pytest.raises(SchemaError, match=r"age|grid"):
        Schema.from_toml(f'[[attributes]]\nname = "age"\n{fields}\n')


@pytest.mark.parametrize(
    ("attribute", "answer", "place"),
    [
        (YEARS, "0", 0),
        (YEARS, " +6 ", Fraction(1, 3)),
        (YEARS, 18, 1),
        (YEARS, np.int8(119), 4 + Fraction(54, 55)),
        (YEARS, 120, 5),
        (METRES, "0.6", Fraction(1, 10)),
        (METRES, 0.6, Fraction(1, 10)),
        (METRES, 1.6, 1 + Fraction(2, 5)),
        (METRES, "1e-400", 0),
        (METRES, "1.50000000000000000001", 1 + Fraction(4, 10**20)),
        (METRES, 1e300, 2),
        (METRES, None, 3),
        (METRES, NO_ANSWER, 3),
    ],
)
def test_numbers_have_an_exact_place_on_a_grid(attribute: Attribute, answer: Any, place: Fraction) -> None:
    assert attribute.place_of[answer] == place


@pytest.mark.parametrize("answer", ["-1", "121", 121, "9" * 300, -(10**400), "1.5", "nan", True, "", None])
def test_numbers_that_are_not_on_the_grid_are_refused_unquoted(answer: Any) -> None:
    with pytest.raises(RecordError, match="'age'") as fault:
        encode(Schema((YEARS,)), {"age": answer}, Scripted([7]))
    assert not any(digit in str(fault.value) for digit in "159")


def test_numbers_off_the_grid_are_clamped_where_that_is_declared() -> None:
    schema = Schema((msgspec.structs.replace(YEARS, clamp=True),))
    assert [encode(schema, {"age": age}, Scripted([7])).codes for age in (-5, "-1", 121, "9" * 300)] == [
        (0,),
        (0,),
        (5,),
        (5,),
    ]


def test_one_word_decides_which_point_a_number_becomes() -> None:
    third = WORD // 3
    for word, code in ((0, 1), (third - 1, 1), (third + 1, 0), (WORD - 1, 0)):
        assert encode(Schema((YEARS, METRES)), {"age": 6}, Scripted([word])).codes == (code, 3)
    for second, code in ((third, 0), (third - 1, 1)):  # the digits of a third go on like this
        words = [third, second] if second < third else [third, second, WORD - 1]
        assert encode(Schema((YEARS,)), {"age": 6}, Scripted(words)).codes == (code,)


def by_engine(path: Path, schema: Schema, seed: int) -> Codes:
    return records_of(path, schema, seeded(seed), codes=False)[0].codes


def by_line(path: Path, schema: Schema, seed: int) -> Codes:
    with open_table(path, schema, seeded(seed)) as table:
        return joined(table.batches()).codes


@pytest.mark.parametrize("read", [by_engine, by_line])
def test_tables_of_numbers_are_rounded_with_the_source(tmp_path: Path, read: Callable[..., Codes]) -> None:
    schema = Schema((METRES, YEARS))
    path = tmp_path / "data.csv"
    path.write_text("age,height\n18,\n120,1.5\n6,2\n45,  \n" + "24,0.5\n" * 3_000)
    codes = read(path, schema, 1)
    assert codes[[0, 1, 3]].tolist() == [[3, 1], [1, 5], [3, 3]]
    assert codes[2].tolist() in ([2, 0], [2, 1])
    assert (codes[4:, 0] == 0).all()
    assert 1_300 < int((codes[4:, 1] == 1).sum()) < 1_700  # half, but for a chance below 1e-12
    assert (codes == read(path, schema, 1)).all()
    assert (codes != read(path, schema, 2)).any()


def test_tables_of_numbers_that_do_not_fit_are_refused_unquoted(tmp_path: Path) -> None:
    schema, path = Schema((METRES, YEARS)), tmp_path / "data.csv"
    path.write_text(f"age,height\n18,1\n{SECRET},1\n121,1\n7,{SECRET}\n")
    with pytest.raises(RecordError) as fault:
        records_of(path, schema, codes=False)
    assert all(f"line {line}" in str(fault.value) for line in (3, 4, 5))
    assert SECRET not in str(fault.value)
    path.write_text("age,height\n3,2\n5,\n")
    assert records_of(path, schema, codes=True)[0].codes.tolist() == [[2, 3], [3, 5]]


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
NO_DECIMALS = ["nan", "inf", "1e999", float("inf"), float("nan"), "1,7", "tall", "0.5 to < 1.5"]


@pytest.mark.parametrize(
    ("attribute", "answer"),
    [(AGE, answer) for answer in [*NO_NUMBERS, 23.0, Decimal(23), float("nan"), "9" * 5_000]]
    + [(HEIGHT, answer) for answer in NO_DECIMALS],
)
@pytest.mark.parametrize("clamp", [False, True])
def test_what_is_no_number_of_its_kind_is_refused(attribute: Attribute, answer: Any, clamp: bool) -> None:
    with pytest.raises(RecordError, match=f"'{attribute.name}'|neither a text nor a number"):
        encode(Schema((msgspec.structs.replace(attribute, clamp=clamp),)), {attribute.name: answer})


@pytest.mark.parametrize(("answer", "clamped"), [("-1", 0), ("121", 4), ("9" * 300, 4), (-5, 0)])
def test_numbers_out_of_range_are_refused_or_clamped(answer: Any, clamped: int) -> None:
    with pytest.raises(RecordError, match="'age'") as fault:
        encode(Schema((AGE,)), {"age": answer})
    assert str(answer) not in str(fault.value)
    assert encode(Schema((msgspec.structs.replace(AGE, clamp=True),)), {"age": answer}).codes == (clamped,)


@given(st.integers(0, 120))
def test_a_number_lies_between_the_ends_of_its_bin(number: int) -> None:
    (code,) = encode(Schema((AGE,)), {"age": str(number)}).codes
    assert AGE.ranges is not None
    assert AGE.ranges.lowest[code] <= number <= AGE.ranges.highest[code]


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
    assert records_of(path, schema, codes=False)[0].codes.tolist() == [[1, 1], [2, 4], [2, 0], [2, 4]]
    path.write_text(f"smokes,age\nyes,18\n,\nyes,{SECRET}\nno,121\n{SECRET},5\n")
    with pytest.raises(RecordError) as fault:
        records_of(path, schema, codes=False)
    for line in (3, 4, 5, 6):
        assert f"line {line}" in str(fault.value)
    assert SECRET not in str(fault.value)
    assert "121" not in str(fault.value)


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
    body["digest"] = canonical.digest(body)
    with pytest.raises(PlanError, match="'age'"):
        load_plan(canonical.canonical(body))


@pytest.mark.parametrize("decimals", [False, True])
@pytest.mark.parametrize("answer", ["\x1c77", "\x1f77", "77\x1d"])
def test_what_is_stripped_is_what_is_read(answer: str, decimals: bool) -> None:
    """Python strips more than its numbers do, whose own refusals would quote the answer."""
    assert Bins.of("'age'", (0, 18, 120), 10, decimals=decimals, clamp=False).place(answer) == 1


def test_numbers_too_large_to_hold_are_refused_unquoted() -> None:
    for answer in (10**400, "9" * 5_000):
        with pytest.raises(RecordError) as refusal:
            Bins.of("'age'", (0, 18, 120), 10, decimals=True, clamp=False).place(answer)
        assert "99" not in str(refusal.value)


@pytest.mark.parametrize("declared", [(0, 5, 10**400), BinRange(0, 10**400, 1), BinRange(0.0, float("inf"), 1.0)])
def test_edges_that_no_document_can_hold_are_refused(declared: Any) -> None:
    for decimals in (False, True):
        with pytest.raises(SchemaError):
            Bins.of("attribute 'age'", declared, 10, decimals=decimals, clamp=False)


SCHOOL = Attribute("school", ("none", "primary", "secondary", "college"))
INCOME = Attribute("income", ("low", "middle", "high"), optional=True)
CLASSES: tuple[dict[str, tuple[str, ...]], ...] = (
    {"school": ("none", "primary"), "income": ("low",)},
    {"school": ("secondary", "college"), "income": ("middle", "high")},
)
ALIGNED_TOML = """
[[attributes]]
name = "school"
labels = ["none", "primary", "secondary", "college"]

[[attributes]]
name = "income"
labels = ["low", "middle", "high"]
optional = true

[[alignments]]
classes = [
    { school = ["none", "primary"], income = ["low"] },
    { school = ["secondary", "college"], income = ["middle", "high"] },
]
"""


def test_toml_json_and_python_declare_the_same_alignments() -> None:
    python = Schema((SCHOOL, INCOME), (Alignment(CLASSES),))
    assert Schema.from_toml(ALIGNED_TOML) == python
    assert len({Schema.from_toml(ALIGNED_TOML), python}) == 1
    assert Schema.from_json(canonical.canonical(msgspec.to_builtins(python))) == python
    assert python.alignments[0].names == ("school", "income")


def test_a_plan_keeps_the_alignments() -> None:
    plan = design(Schema.from_toml(ALIGNED_TOML), 1.0, "corr-rr", source=Scripted([1, 2]))
    assert load_plan(plan.dump()) == plan


def test_a_schema_without_alignments_says_nothing_of_them() -> None:
    assert msgspec.to_builtins(Schema((SCHOOL, INCOME))).keys() == {"attributes"}


def test_names_and_labels_are_compared_in_form_nfc() -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    schema = Schema(
        (Attribute(composed, (composed, "x")), Attribute("b", ("y", "z"))),
        (Alignment(({decomposed: (decomposed,), "b": ("y",)}, {composed: ("x",), "b": ("z",)})),),
    )
    assert schema.alignments[0].classes[0] == {composed: (composed,), "b": ("y",)}


def changed(place: int, **labels: tuple[str, ...]) -> list[dict[str, tuple[str, ...]]]:
    return [{**own, **labels} if number == place else dict(own) for number, own in enumerate(CLASSES)]


@pytest.mark.parametrize(
    ("classes", "word"),
    [
        (changed(0, school=("none",)), "primary"),
        (changed(1, school=("none", "secondary", "college")), "twice"),
        (changed(0, school=("none", "none", "primary")), "twice"),
        (changed(0, school=("none", "primary", "nursery")), "nursery"),
        (changed(0, income=("low", NO_ANSWER)), "no answer"),
        (changed(0, income=()), "income"),
        (changed(0, age=("young",)), "same attributes"),
        ([{**own, "age": ("young",)} for own in CLASSES], "age"),
        ([CLASSES[0]], "two classes"),
        ([], "two classes"),
        ([{"school": own["school"]} for own in CLASSES], "two attributes"),
    ],
)
def test_classes_that_do_not_divide_the_labels_are_refused(
    classes: list[dict[str, tuple[str, ...]]], word: str
) -> None:
    with pytest.raises(SchemaError, match=word):
        Schema((SCHOOL, INCOME), (Alignment(tuple(classes)),))


def test_a_pair_is_aligned_once() -> None:
    third = Attribute("wealth", ("poor", "rich"))
    three = Alignment(tuple({**own, "wealth": (label,)} for own, label in zip(CLASSES, third.labels, strict=True)))
    assert Schema((SCHOOL, INCOME, third), (three,))
    with pytest.raises(SchemaError, match="twice"):
        Schema((SCHOOL, INCOME, third), (three, Alignment(CLASSES)))


@pytest.mark.parametrize("text", ['[{"classes": 1}]', '[{"classes": [], "between": []}]', "{}", '[{"classes": [[]]}]'])
def test_another_form_is_refused(text: str) -> None:
    with pytest.raises(SchemaError, match="schema"):
        Schema.from_json('{"attributes": [{"name": "a", "labels": ["x", "y"]}], "alignments": ' + text + "}")
