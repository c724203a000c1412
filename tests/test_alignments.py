import msgspec
import pytest

from privtally.alignments import Alignment
from privtally.documents.plan import design, load_plan
from privtally.errors import SchemaError
from privtally.exact import wire
from privtally.schema import NO_ANSWER, Attribute, Schema
from tests.support import Scripted

SCHOOL = Attribute("school", ("none", "primary", "secondary", "college"))
INCOME = Attribute("income", ("low", "middle", "high"), optional=True)
CLASSES: tuple[dict[str, tuple[str, ...]], ...] = (
    {"school": ("none", "primary"), "income": ("low",)},
    {"school": ("secondary", "college"), "income": ("middle", "high")},
)
TOML = """
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


def test_toml_json_and_python_say_the_same() -> None:
    python = Schema((SCHOOL, INCOME), (Alignment(CLASSES),))
    assert Schema.from_toml(TOML) == python
    assert len({Schema.from_toml(TOML), python}) == 1
    assert Schema.from_json(wire.canonical(msgspec.to_builtins(python))) == python
    assert python.alignments[0].names == ("school", "income")


def test_a_plan_keeps_the_alignments() -> None:
    plan = design(Schema.from_toml(TOML), 1.0, "corr-rr", source=Scripted([1, 2]))
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
