"""Intervals of an estimate: one definition, and each contains its own estimate. And its table as CSV."""

import csv
import io
import re
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privtally.documents.estimate import (
    NORMAL_95,
    AttributeEstimate,
    Change,
    Estimate,
    Located,
    PhaseUsed,
    Provenance,
    RoundEstimate,
    csv_of,
)
from privtally.errors import EstimateError


def interval(frequency: float, error: float) -> tuple[float, float]:
    both, errors = np.array([frequency, 1 - frequency]), np.array([error, error])
    estimate = AttributeEstimate.of(("a", "b"), both, errors, intervals=True)
    assert isinstance(estimate.low, tuple)
    assert isinstance(estimate.high, tuple)
    return estimate.low[0], estimate.high[0]


@given(st.floats(-3, 4), st.floats(0, 3))
def test_an_interval_contains_its_estimate_and_is_cut_at_the_ends_of_the_possible(
    frequency: float, error: float
) -> None:
    low, high = interval(frequency, error)
    assert low <= frequency <= high
    assert low >= min(0, frequency)
    assert high <= max(1, frequency)
    assert high - low <= 2 * NORMAL_95 * error + 1e-12


def test_an_interval_reaches_as_far_as_the_standard_errors_say() -> None:
    assert interval(0.5, 0.1) == pytest.approx((0.5 - 0.1 * NORMAL_95, 0.5 + 0.1 * NORMAL_95))
    assert interval(0.1, 0.1) == pytest.approx((0, 0.1 + 0.1 * NORMAL_95))
    assert interval(-0.5, 0.1) == pytest.approx((-0.5, -0.5 + 0.1 * NORMAL_95))
    assert interval(1.2, 0.5) == pytest.approx((1.2 - 0.5 * NORMAL_95, 1.2))


@pytest.mark.parametrize(
    ("low", "high"), [((0.6, 0.2), (0.7, 0.6)), ((0.1, 0.1), (0.4, 0.6)), ((0.1,), (0.6,)), ((0.1, 0.1), ())]
)
def test_intervals_that_miss_their_frequency_are_refused(low: tuple[float, ...], high: tuple[float, ...]) -> None:
    with pytest.raises(EstimateError):
        AttributeEstimate(("a", "b"), (0.5, 0.5), (0.1, 0.1), low, high)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_refused(number: float) -> None:
    for frequencies, errors in (((number, 0.5), (0.1, 0.1)), ((0.5, 0.5), (0.1, number))):
        with pytest.raises(EstimateError):
            AttributeEstimate(("a", "b"), frequencies, errors)
    with pytest.raises(EstimateError):
        Located(number, number, number)
    with pytest.raises(EstimateError):
        Change(0.5, number)


@given(st.lists(st.text("=+-@'\t 1.e,\"\u00e9"), min_size=1))
def test_no_text_is_a_formula_and_every_text_can_be_read_back(texts: list[str]) -> None:
    (row,) = csv.reader(io.StringIO(csv_of(texts, []).decode()))
    assert not [cell for cell in row if cell[:1] in set("=+-@\t") and not re.fullmatch(r"[+-][0-9]+([.][0-9]+)?", cell)]
    assert [re.sub(r"^'(?='*[=+@\t-])", "", cell) for cell in row] == texts


def test_numbers_stay_numbers() -> None:
    assert csv_of(["-5", "+0.5"], [[-0.1, -1e-7, None], ["-", "'90s", "-10 to 0"]]).decode().splitlines() == [
        "-5,+0.5",
        "-0.1,-1e-07,",
        "'-,'90s,'-10 to 0",
    ]


def attribute(labels: tuple[str, ...] = ("no", "yes")) -> AttributeEstimate:
    return AttributeEstimate.of(labels, np.array([0.25, 0.75]), np.array([0.01, 0.01]), intervals=True)


def round_of(number: int, labels: tuple[str, ...] = ("no", "yes"), name: str = "a") -> RoundEstimate:
    return RoundEstimate(number, (number,), {name: attribute(labels)})


GOOD = Estimate(
    attributes={"a": attribute()},
    method="likelihood",
    biased=False,
    notes=(),
    provenance=Provenance("0" * 64, "spl", (PhaseUsed(1, 1.0, 10, "1" * 64, "2" * 64),), "tests"),
)


@pytest.mark.parametrize(
    "fields",
    [
        {"rounds": ()},
        {"rounds": (round_of(2), round_of(1))},
        {"rounds": (round_of(1), round_of(1))},
        {"rounds": (round_of(1, ("no", "maybe")),)},
        {"rounds": (round_of(1, name="b"),)},
        {"changes": {"b": Change(0.5, 0.1)}},
    ],
)
def test_rounds_that_do_not_fit_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(EstimateError):
        msgspec.structs.replace(GOOD, **fields)
    assert msgspec.structs.replace(GOOD, rounds=(round_of(1), round_of(3)), changes={"a": Change(0.0, 0.1)})


IMPOSSIBLE: list[tuple[Any, ...]] = [
    (Change, 1.1, 0.1),
    (Change, 0.5, 0.0),
    (RoundEstimate, 0, (1,), {}),
    (RoundEstimate, 1, (), {}),
]


@pytest.mark.parametrize("made", IMPOSSIBLE)
def test_impossible_numbers_are_refused(made: tuple[Any, ...]) -> None:
    kind, *values = made
    with pytest.raises(EstimateError):
        kind(*values)
