"""Channels by themselves: laws that sum to 1, sets and their holders, pushes against probabilities."""

from fractions import Fraction

import numpy as np
import pytest

from privtally.errors import PlanError
from privtally.exact.randomness import WORD
from privtally.lab.population import seeded
from privtally.mechanisms.channels import (
    Asked,
    Channel,
    Keep,
    Rows,
    Uniform,
    conditional,
    copying,
    largest_and_smallest,
    randomized_response,
)
from privtally.mechanisms.projective import Geometry, Projective, projective_response

ASKED: dict[str, Asked] = {
    "response on 2": randomized_response(Fraction(1), 2),
    "response on 5": randomized_response(Fraction(1, 3), 5),
    "lines": projective_response(Fraction(1), 7, Geometry(2, 3)),
    "two lines": projective_response(Fraction(2), 2, Geometry(2, 3)),
    "planes": projective_response(Fraction(2), 9, Geometry(2, 4)),
    "lines of three": projective_response(Fraction(1, 4), 7, Geometry(3, 3)),
    "planes of three": projective_response(Fraction(2), 9, Geometry(3, 4)),
    "lines of five": projective_response(Fraction(2), 31, Geometry(5, 3)),
}
FILLING: dict[str, tuple[Channel, int]] = {
    "a point": (conditional([[0.0, 0.0, 1.0, 0.0]]), 3),
    "evenly on 5": (Uniform(5), 3),
    "a row": (conditional([[0.125, 0.5, 0.375]]), 4),
    "a table": (conditional([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]]), 3),
    "copies": (copying(0.25, 3), 3),
    "never copies": (copying(0.0, 2), 2),
}
CHANNELS: dict[str, tuple[Channel, int]] = {
    **{name: (channel, channel.inputs) for name, channel in ASKED.items()},
    **FILLING,
}


@pytest.mark.parametrize(("channel", "inputs"), CHANNELS.values(), ids=CHANNELS)
def test_probabilities_sum_to_one_and_pushes_follow_them(channel: Channel, inputs: int) -> None:
    law = [[channel.probability(code, output) for output in range(channel.outputs)] for code in range(inputs)]
    assert all(sum(row) == 1 for row in law)
    exact = np.array([[Fraction(int(one == two)) for two in range(inputs)] for one in range(inputs)], dtype=object)
    assert [list(row) for row in channel.push(exact)] == law
    shares = np.random.default_rng(0).dirichlet(np.ones(inputs), size=(2, 3))
    np.testing.assert_allclose(channel.push(shares), shares @ np.array(law, dtype=float), atol=1e-15)


@pytest.mark.parametrize(("channel", "inputs"), CHANNELS.values(), ids=CHANNELS)
def test_a_scale_is_the_channel_up_to_a_constant(channel: Channel, inputs: int) -> None:
    if channel.scale is None:
        return
    one, two = (np.random.default_rng(seed).dirichlet(np.ones(inputs)) for seed in (1, 2))
    difference = channel.push(one) - channel.push(two)
    if isinstance(channel, Projective):
        difference = channel.support(difference)
    if channel.scale == 0:
        np.testing.assert_allclose(difference, 0, atol=1e-15)
    else:
        np.testing.assert_allclose(difference, float(channel.scale) * (one - two), atol=1e-15)


@pytest.mark.parametrize("channel", ASKED.values(), ids=ASKED)
def test_holders_are_the_inputs_to_whose_set_an_output_belongs(channel: Asked) -> None:
    inside, outside = Fraction(channel.same, channel.total), Fraction(channel.other, channel.total)
    for output in range(channel.outputs):
        for code in range(channel.inputs):
            expected = inside if code in channel.holders(output) else outside
            assert channel.probability(code, output) == expected


@pytest.mark.parametrize("channel", ASKED.values(), ids=ASKED)
def test_the_largest_and_the_smallest_probability_of_every_output(channel: Asked) -> None:
    ratios = []
    for output in range(channel.outputs):
        chances = [channel.probability(code, output) for code in range(channel.inputs)]
        largest, smallest = largest_and_smallest(channel, output)
        assert largest != smallest
        assert chances[largest] == max(chances)
        assert chances[smallest] == min(chances)
        ratios.append(chances[largest] / chances[smallest])
    tells = any(0 < len(channel.holders(output)) < channel.inputs for output in range(channel.outputs))
    assert max(ratios) == (channel.ratio if tells else 1)


def test_the_most_that_a_word_holds_is_taken() -> None:
    largest = Keep(2, WORD - 2, 1)
    assert largest.probability(0, 0) == Fraction(WORD - 2, WORD - 1)
    assert set(largest.draw(np.zeros(100, dtype=np.uint8), seeded(1)).tolist()) == {0}


@pytest.mark.parametrize(("size", "same", "other"), [(1, 1, 1), (2, -1, 1), (2, 0, 0), (2, WORD, 1), (3, 1, -1)])
def test_weights_that_are_no_law_are_refused(size: int, same: int, other: int) -> None:
    with pytest.raises(PlanError, match=str(size)):
        Keep(size, same, other)


@pytest.mark.parametrize("rows", [[[0.5, 0.25]], [[1.5, -0.5]], [[0.1, 0.9]]])
def test_rows_that_are_no_law_are_refused(rows: list[list[float]]) -> None:
    with pytest.raises(PlanError):
        conditional(rows)


def test_weights_of_rows_are_checked() -> None:
    with pytest.raises(PlanError):
        Rows(np.array([[1, 2]], dtype=np.int64))


@pytest.mark.parametrize(("epsilon", "size"), [(60.0, 2), (1e-17, 2)])
def test_budgets_that_a_word_cannot_realise_are_refused(epsilon: float, size: int) -> None:
    with pytest.raises(PlanError, match=f"{epsilon:g}"):
        randomized_response(Fraction(epsilon), size)
