"""Estimates of rounds are read strictly."""

from typing import Any

import msgspec
import numpy as np
import pytest

from privtally.documents.estimate import AttributeEstimate, Change, Estimate, PhaseUsed, Provenance, RoundEstimate
from privtally.errors import EstimateError


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
