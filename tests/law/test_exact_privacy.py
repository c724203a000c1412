"""Every mechanism's law, enumerated: no report is more than e^ε times likelier under one record than another."""

from collections.abc import Callable
from fractions import Fraction
from math import prod

import pytest

from privtally.exact.rational import at_most_exp, log_floor
from privtally.mechanisms.channels import Keep, randomized_response
from privtally.mechanisms.fills import CopyFill, UniformFill
from privtally.mechanisms.mechanism import Mechanism, Part
from privtally.mechanisms.projective import Geometry, projective_response
from privtally.names import MechanismName
from tests.scale import scaled
from tests.support import (
    EXTENSIONS,
    all_laws,
    cases,
    exp_below,
    first_plan,
    later_plan,
    laws_of,
    plan_of,
    worst_ratio,
)

NEARLY_ALL = Fraction(9_999, 10_000)
"""The share of a promised budget that must be used."""


@pytest.mark.parametrize(
    ("mechanism", "sizes"), [*cases(), *scaled([], cases([(4, 4, 4), (3, 3, 3, 3), (4, 4, 4, 4)]))]
)
def test_no_two_records_are_further_apart_than_epsilon(mechanism: MechanismName, sizes: tuple[int, ...]) -> None:
    sampler = plan_of(mechanism, sizes, 2.0).mechanism
    assert_private(sampler, list(all_laws(sampler).values()), 2.0)


@pytest.mark.parametrize("name", EXTENSIONS)
def test_no_two_records_are_further_apart_under_any_parts_pivots_and_channels(name: str) -> None:
    assert_private(EXTENSIONS[name](1.0), list(laws_of(name, 1.0).values()), 1.0)


def assert_private(mechanism: Mechanism, laws: list[dict[tuple[int, ...], Fraction]], epsilon: float) -> None:
    """Laws that sum to 1, the promise kept in exact arithmetic, and nearly all of it used."""
    assert all(sum(law.values()) == 1 for law in laws)
    worst = worst_ratio(laws)
    assert worst <= exp_below(Fraction(epsilon))
    assert worst <= mechanism.ratio == prod(part.ratio for part in mechanism.parts)
    assert worst >= exp_below(Fraction(epsilon) * NEARLY_ALL)


@pytest.mark.parametrize("copies", [0.0, 1.0])
def test_copying_never_or_always_is_as_private(copies: float) -> None:
    matrix = tuple(tuple(1.0 if own == other else copies for other in range(3)) for own in range(3))
    extreme = later_plan(first_plan((3, 3, 3), 1.0, "corr-rr"), CopyFill(matrix)).mechanism
    assert worst_ratio(list(all_laws(extreme).values())) <= exp_below(Fraction(1))


def greedy_alone(budget: Fraction) -> Mechanism:
    honest = randomized_response(budget / 2, 3)
    return Mechanism((Part((0,), 1, (_a_little_more(honest),)), Part((1,), 1, (honest,))))


def greedy_pivot(budget: Fraction) -> Mechanism:
    honest = randomized_response(budget / 2, 3)
    return Mechanism((Part((0, 1, 2), 2, (_a_little_more(honest), honest, honest), 1, UniformFill()),))


def greedy_planes(budget: Fraction) -> Mechanism:
    channel = projective_response(budget * (1 + Fraction(1, 10**5)), 6, Geometry(2, 3))
    return Mechanism((Part((0, 1), 1, (channel,) * 2, 1, UniformFill()),))


def _a_little_more(honest: Keep) -> Keep:
    return Keep(3, honest.same + honest.same // 10**5, honest.other - honest.other // 10**5)


@pytest.mark.parametrize("greedy", [greedy_alone, greedy_pivot, greedy_planes])
def test_the_enumeration_catches_a_weight_that_is_a_little_too_large(greedy: Callable[[Fraction], Mechanism]) -> None:
    mechanism = greedy(Fraction(1))
    assert worst_ratio(list(all_laws(mechanism).values())) > exp_below(Fraction(1)) * (1 + Fraction(1, 10**7))


@pytest.mark.parametrize("size", [2, 3, 4, 17, 1_000, 65_536])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 5.0, 32.0])
def test_weights_realise_nearly_the_whole_budget_and_never_more(size: int, epsilon: float) -> None:
    channel = randomized_response(Fraction(epsilon), size)
    assert channel.ratio <= exp_below(Fraction(epsilon))
    assert channel.ratio >= exp_below(Fraction(epsilon) * NEARLY_ALL)
    assert 1 - Fraction(1, 2**17) < Fraction(channel.total, 2**64) < 1
    assert 0.9999 * epsilon <= log_floor(channel.ratio) <= epsilon


def test_exact_comparison_with_the_exponential() -> None:
    for power in (Fraction(1, 10**6), Fraction(1), Fraction(32)):
        below = exp_below(power)
        assert at_most_exp(below, power)
        assert not at_most_exp(below + Fraction(1, 10**30), power)
