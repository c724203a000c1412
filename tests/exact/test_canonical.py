import hashlib
import json
import math
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privtally.documents.counts import load_counts
from privtally.documents.estimate import load_estimate
from privtally.documents.plan import load_plan
from privtally.errors import PlanError, PrivtallyError
from privtally.exact import canonical
from privtally.schema import Schema

# Numbers and their canonical text, from RFC 8785, appendix B.
RFC_8785 = [
    (0.0, "0"),
    (-0.0, "0"),
    (5e-324, "5e-324"),
    (-5e-324, "-5e-324"),
    (1.7976931348623157e308, "1.7976931348623157e+308"),
    (9007199254740992.0, "9007199254740992"),
    (295147905179352830000.0, "295147905179352830000"),
    (9.999999999999997e22, "9.999999999999997e+22"),
    (1e23, "1e+23"),
    (1.0000000000000001e23, "1.0000000000000001e+23"),
    (999999999999999700000.0, "999999999999999700000"),
    (999999999999999900000.0, "999999999999999900000"),
    (1e21, "1e+21"),
    (9.999999999999997e-7, "9.999999999999997e-7"),
    (0.000001, "0.000001"),
    (333333333.33333325, "333333333.33333325"),
    (333333333.3333334, "333333333.3333334"),
    (-0.0000033333333333333333, "-0.0000033333333333333333"),
]


@pytest.mark.parametrize(("value", "text"), RFC_8785)
def test_numbers_are_written_as_rfc_8785_says(value: float, text: str) -> None:
    assert canonical.number(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_read_back_the_same(value: float) -> None:
    assert float(canonical.number(value)) == value


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_there_is_no_number_for_nan_or_infinity(value: float) -> None:
    with pytest.raises(ValueError, match="no number"):
        canonical.canonical({"x": value})


def test_keys_are_sorted_by_utf16_units() -> None:
    # From RFC 8785, section 3.2.3: the emoji's surrogates sort before U+FB33.
    keys = ["€", "\r", "\ufb33", "1", "😀", "\x80", "ö"]
    text = canonical.canonical(dict.fromkeys(keys, 0)).decode()
    assert list(json.loads(text)) == ["\r", "1", "\x80", "ö", "€", "😀", "\ufb33"]


def test_strings_are_written_as_they_are() -> None:
    assert canonical.canonical('€ " \\ \x0f \n') == '"€ \\" \\\\ \\u000f \\n"'.encode()


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(json_values)
def test_canonical_json_reads_back_and_is_stable(value: object) -> None:
    try:
        data = canonical.canonical(value)
    except UnicodeEncodeError:
        return  # half a surrogate pair has no UTF-8
    assert canonical.canonical(json.loads(data)) == data
    assert canonical.digest(value) == hashlib.sha256(data).hexdigest()


class _Document(msgspec.Struct, tag_field="format", tag="test/1"):
    numbers: list[int | float | dict[str, int]]


@pytest.mark.parametrize(
    "number", [str(canonical.MAX_INTEGER + 1), str(-canonical.MAX_INTEGER - 1), "1" + "0" * 30, "9" * 5_000]
)
@pytest.mark.parametrize("place", ["{}", '{{"deep": {}}}'], ids=["shallow", "deep"])
def test_integers_that_readers_disagree_about_are_refused_wherever_they_stand(number: str, place: str) -> None:
    text = '{"format": "test/1", "numbers": [1, ' + place.format(number) + "]}"
    for read in (canonical.decode_object, lambda *rest: canonical.decode(rest[0], _Document, *rest[1:])):
        with pytest.raises(PlanError, match="9,007,199,254,740,991"):
            read(text, PlanError, "it")


def test_the_largest_integers_are_read() -> None:
    text = json.dumps({"format": "test/1", "numbers": [canonical.MAX_INTEGER, -canonical.MAX_INTEGER, 1e300]})
    assert canonical.decode(text, _Document, PlanError, "it").numbers == [
        canonical.MAX_INTEGER,
        -canonical.MAX_INTEGER,
        1e300,
    ]


@pytest.mark.parametrize("mistake", ["plan.json", "a place/plan.JSON", Path("plan.json"), None])
def test_a_path_in_place_of_a_documents_content_is_named(mistake: Any) -> None:
    for load in (load_plan, load_counts, load_estimate, Schema.from_json):
        with pytest.raises(PrivtallyError, match=r"privtally\.load reads a file"):
            load(mistake)


@pytest.mark.parametrize("mark", ["\ufeff", "\ufeff".encode()])
def test_a_byte_order_mark_in_front_is_left_out(mark: str | bytes) -> None:
    text = '{"format": "test/1", "numbers": []}'
    data = mark + text if isinstance(mark, str) else mark + text.encode()
    assert canonical.decode(data, _Document, PlanError, "it").numbers == []
    assert canonical.decode_object(data, PlanError, "it")["numbers"] == []
