import pytest

from privtally.documents.plan import design, load_plan
from privtally.errors import PlanError, RecordError, SchemaError
from privtally.mechanisms.fills import label_by_label
from privtally.mechanisms.named import coarsened
from privtally.participant.respond import encode
from privtally.schema import NO_ANSWER, Alignment, Attribute, Schema
from tests.support import Scripted

HEALTH = Attribute("health", tuple("uvwx"), ordered=True)
MOOD = Attribute("mood", tuple("123456"), ordered=True)
AGE = Attribute("age", bins=(0, 18, 30, 45, 65, 120), optional=True)


def test_all_attributes_get_the_classes_of_the_shortest() -> None:
    schema = coarsened(Schema((MOOD, HEALTH, AGE)))
    assert [attribute.labels for attribute in schema.attributes] == [
        ("1 | 2", "3", "4 | 5", "6"),
        tuple("uvwx"),
        (*Attribute("age", bins=(0, 30, 45, 65, 120)).labels, NO_ANSWER),
    ]
    assert label_by_label(schema, (0, 1))


def test_a_merged_attribute_takes_the_answers_that_it_stands_for() -> None:
    schema = coarsened(Schema((MOOD, HEALTH, AGE)))
    assert encode(schema, {"mood": "5", "health": "v", "age": "29"}).codes == (2, 1, 0)
    assert encode(schema, {"mood": "1", "health": "x", "age": None}).codes == (0, 3, 4)
    with pytest.raises(RecordError):
        encode(schema, {"mood": "1 | 2", "health": "v", "age": "29"})


def test_a_plan_says_which_answers_were_merged() -> None:
    plan = design(coarsened(Schema((MOOD, HEALTH))), 1.0, "corr-rr", source=Scripted([1, 2]))
    again = load_plan(plan.dump())
    assert again == plan
    assert again.schema.attributes[0].merged == (("1", "2"), ("3",), ("4", "5"), ("6",))


def test_classes_are_joined_until_all_attributes_have_them() -> None:
    """The first two go together one by one, the first and third in two classes only."""
    three = tuple(Attribute(name, tuple(f"{name}{code}" for code in range(3))) for name in "abc")
    schema = Schema(
        three,
        (
            Alignment(tuple({"a": (f"a{code}",), "b": (f"b{code}",)} for code in range(3))),
            Alignment(({"a": ("a0", "a2"), "c": ("c1",)}, {"a": ("a1",), "c": ("c0", "c2")})),
        ),
    )
    assert [attribute.labels for attribute in coarsened(schema).attributes] == [
        ("a0 | a2", "a1"),
        ("b0 | b2", "b1"),
        ("c1", "c0 | c2"),
    ]


def test_bins_keep_their_order() -> None:
    age = Attribute("age", bins=(0, 18, 30, 45))
    turned = Alignment(({"age": age.labels[2:], "b": ("1",)}, {"age": age.labels[:2], "b": ("2",)}))
    schema = coarsened(Schema((age, Attribute("b", ("1", "2"))), (turned,)))
    wide = Attribute("age", bins=(0, 30, 45))
    assert [attribute.labels for attribute in schema.attributes] == [wide.labels, ("1", "2")]
    assert schema.alignments[0].classes[0] == {"age": wide.labels[1:], "b": ("1",)}


def test_what_cannot_be_merged_is_refused() -> None:
    with pytest.raises(PlanError, match="aligned"):
        coarsened(Schema.of({"a": ["x", "y"], "b": ["1", "2", "3"]}))
    age = Attribute("age", bins=(0, 18, 30, 45))
    crossed = Alignment(({"age": age.labels[::2], "b": ("1",)}, {"age": age.labels[1:2], "b": ("2",)}))
    with pytest.raises(PlanError, match="side by side"):
        coarsened(Schema((age, Attribute("b", ("1", "2"))), (crossed,)))
    three = tuple(Attribute(name, tuple(f"{name}{code}" for code in range(3))) for name in "abc")
    first = Alignment(({"a": ("a0", "a1"), "b": ("b0",)}, {"a": ("a2",), "b": ("b1", "b2")}))
    second = Alignment(({"a": ("a0",), "c": ("c0",)}, {"a": ("a1", "a2"), "c": ("c1", "c2")}))
    with pytest.raises(PlanError, match="one class"):
        coarsened(Schema(three, (first, second)))


@pytest.mark.parametrize(
    "fields",
    [
        {"merged": (("a", "b"), ("b", "c"))},
        {"merged": (("a", "b"), ())},
        {"merged": (("a", "b"), ("c",)), "labels": ("a", "b")},
        {"merged": (("a", "b"), ("c",)), "bins": (0, 1, 2)},
        {"merged": (("a", "b"),)},
        {"merged": (("a | b",), ("a", "b"))},
    ],
)
def test_classes_that_are_none_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(SchemaError):
        Attribute("q", **fields)  # type: ignore[arg-type]


def test_points_of_a_grid_are_not_merged() -> None:
    grid, three = Attribute("age", grid=(0, 18, 30, 120)), Attribute("three", ("x", "y", "z"), ordered=True)
    with pytest.raises(PlanError, match="'age' has a grid"):
        coarsened(Schema((grid, three)))


def test_merging_twice_still_takes_the_first_answers() -> None:
    four = Attribute("four", ("a", "b", "c", "d"), ordered=True)
    schema = coarsened(Schema((four, Attribute("three", ("x", "y", "z"), ordered=True))))
    again = coarsened(Schema((schema.attributes[0], Attribute("two", ("no", "yes"))), _pairing(schema.attributes[0])))
    assert sorted(set(again.attributes[0].place_of.values())) == [0, 1]
    assert set(again.attributes[0].place_of) == {"a", "b", "c", "d"}


def _pairing(own: Attribute) -> tuple[Alignment, ...]:
    """The first label with no, the others with yes."""
    return (Alignment(({own.name: own.labels[:1], "two": ("no",)}, {own.name: own.labels[1:], "two": ("yes",)})),)
