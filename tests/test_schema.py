import msgspec
import numpy as np
import pytest

from privtally.errors import RecordError, SchemaError
from privtally.schema import Attribute, Record, Records, Schema, code_type

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
        (["a", "b\n"], "control character"),
        (["a", "\x1b[31m"], "control character"),
        (["a", "\ud800"], "surrogate"),
        ([str(code) for code in range(65_537)], "65537"),
    ],
)
def test_bad_labels_are_refused(labels: list[str], reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        Attribute("q", tuple(labels))


def test_the_largest_domain_is_allowed() -> None:
    assert Attribute("q", tuple(map(str, range(65_536)))).size == 65_536


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"attributes": []}', "at least one question"),
        (
            '{"attributes": [{"name": "a", "labels": ["x", "y"]}, {"name": "a", "labels": ["x", "y"]}]}',
            "declared twice",
        ),
        ('{"attributes": [{"name": "a", "labels": ["x", "y"], "note": 1}]}', "unknown field `note`"),
        ('{"attributes": [{"name": "a", "labels": ["x", 2]}]}', "Expected `str`, got `int`"),
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


def test_labels_from_python_are_checked_too() -> None:
    with pytest.raises(SchemaError, match="a list of answers, not one text"):
        Schema.of({"smokes": "no"})
    with pytest.raises(SchemaError, match="must be a text"):
        Schema.of({"smokes": [1, 2]})  # type: ignore[list-item]


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


def test_a_blank_label_is_refused() -> None:
    with pytest.raises(SchemaError, match="blank"):
        Attribute("q", ("yes", "  "))


@pytest.mark.parametrize("labels", [2, 500])
def test_a_wrong_answer_hears_the_labels_and_is_not_quoted(labels: int) -> None:
    schema = Schema.of({"town": [f"town {place}" for place in range(labels)]})
    with pytest.raises(RecordError) as refusal:
        schema.codes_of(["somewhere else"])
    said = str(refusal.value)
    assert ("'town 0', 'town 1'" in said, "somewhere" in said, len(said) < 500) == (True, False, True)


def test_a_schema_of_a_list_is_that_of_a_tuple() -> None:
    attributes = [Attribute("q", ("a", "b"))]
    schema = Schema(attributes)  # type: ignore[arg-type]
    assert schema == Schema(tuple(attributes)) == Schema.from_json(msgspec.json.encode(schema))
    assert hash(schema) == hash(Schema(tuple(attributes)))


def test_one_text_is_no_list_of_labels() -> None:
    for declare in (lambda: Attribute("q", "abc"), lambda: Schema.of({"q": "abc"})):  # type: ignore[arg-type]
        with pytest.raises(SchemaError, match="'q' needs a list of answers, not one text"):
            declare()
