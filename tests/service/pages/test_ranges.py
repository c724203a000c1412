"""Ranges of numbers as they are typed, and their refusals in the form's words."""

import pytest

from privtally.scales import BinRange
from privtally.service.pages.editor import read_range
from privtally.service.pages.rendering import LANGUAGES, PageRefusalError, why, words_in


@pytest.mark.parametrize(
    ("typed", "bins", "decimals"),
    [
        (("18", "98", "10"), BinRange(18, 98, 10), False),
        (("0", "5", "2,5"), BinRange(0, 5, 2.5), True),
        (("0", "1", "0.125"), BinRange(0, 1, 0.125), True),
        (("-1,5", "1,5", "0,5"), BinRange(-1.5, 1.5, 0.5), True),
        (("0", "0.3", "0.1"), BinRange(0, 0.3, 0.1), True),
    ],
)
def test_a_range_has_either_decimal_sign(typed: tuple[str, str, str], bins: BinRange, decimals: bool) -> None:
    assert read_range("age", *typed) == (bins, decimals)


@pytest.mark.parametrize(
    ("typed", "key", "better"),
    [
        (("18", "100", "10"), "draft.divide", 98),
        (("0", "10", "10"), "draft.divide", 20),
        (("0", "2", "0,75"), "draft.divide", 1.5),
        (("10", "0", "1"), "draft.order", None),
        (("0", "10", "0"), "draft.order", None),
        (("0", "10", "-1"), "draft.order", None),
        (("0", "100000", "1"), "draft.steps", None),
        (("0", "1e300", "1"), "draft.range.large", None),
        (("0", "inf", "1"), "draft.range", None),
        (("0", "nan", "1"), "draft.range", None),
        (("0", "x", "1"), "draft.range", None),
        (("", "", ""), "draft.range", None),
        (("0", "1,000", "100"), "draft.thousands", None),
        (("0", "1.000.000", "100"), "draft.thousands", None),
        (("0", "9" * 5_000, "100"), "draft.range", None),
    ],
)
def test_refusals_are_in_the_catalogue_and_name_an_end_that_fits(
    typed: tuple[str, str, str], key: str, better: float | None
) -> None:
    with pytest.raises(PageRefusalError) as refusal:
        read_range("age", *typed)
    assert refusal.value.key == key
    assert refusal.value.values.get("better") == better
    said = {str(why(refusal.value, words_in(language))) for language in LANGUAGES}
    assert len(said) == len(LANGUAGES)
    assert not any("lang=" in text for text in said)
    if better is not None:
        assert read_range("age", typed[0], str(better), typed[2])
