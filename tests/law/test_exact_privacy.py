"""Every mechanism's law, enumerated: no report is more than e^ε times likelier under one record than another."""

from fractions import Fraction
from math import exp, log

import pytest

from privtally.exact.exponential import at_most_exp, log_floor
from privtally.mechanisms import Pivot, Split, uniform_fills
from privtally.mechanisms.channel import Keep, randomized_response
from privtally.names import MechanismName
from tests.support import cases, exp_below, plan_of, records_of, worst_ratio


@pytest.mark.parametrize(("mechanism", "sizes"), cases())
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_no_two_records_are_further_apart_than_epsilon(
    mechanism: MechanismName, sizes: tuple[int, ...], epsilon: float
) -> None:
    sampler = plan_of(mechanism, sizes, epsilon).sampler
    laws = [sampler.law(record) for record in records_of(sizes)]
    assert all(sum(law.values()) == 1 for law in laws)
    worst = worst_ratio(laws)
    assert worst <= exp_below(Fraction(epsilon))
    assert worst <= sampler.ratio
    # The promise is kept, and nearly all of it is used.
    assert worst >= exp_below(Fraction(epsilon) * Fraction(9_999, 10_000))


@pytest.mark.parametrize("fills_below", ["none copied", "all copied"])
def test_copying_never_or_always_is_as_private(fills_below: str) -> None:
    copies = 0.0 if fills_below == "none copied" else 1.0
    plan = plan_of("corr-rr", (3, 3, 3))
    matrix = tuple(tuple(1.0 if own == other else copies for other in range(3)) for own in range(3))
    extreme = type(plan)(
        schema=plan.schema, epsilon=1.0, campaign="corr-rr", phase=2, mechanism="corr-rr", copy_probability=matrix
    )
    assert worst_ratio([extreme.sampler.law(record) for record in records_of((3, 3, 3))]) <= exp_below(Fraction(1))


def test_the_enumeration_catches_a_pivot_that_spends_an_amplified_budget() -> None:
    """ε′ = ln(d(e^ε − 1) + 1) on the pivot is not ε-LDP for whole records (k = 2, d = 4, ε = 1)."""
    amplified = Fraction(log(4 * (exp(1) - 1) + 1))
    sizes = (2, 2, 2, 2)
    sampler = Pivot.of(sizes, amplified, uniform_fills(sizes))
    laws = {record: sampler.law(record) for record in records_of(sizes)}
    zero = (0, 0, 0, 0)
    found = [
        max(
            log(worst_ratio([laws[zero], law]))
            for record, law in laws.items()
            if sum(code != 0 for code in record) == differing
        )
        for differing in (1, 2, 3, 4)
    ]
    assert [round(epsilon, 2) for epsilon in found] == [1.00, 1.49, 1.82, 2.06]


def test_the_enumeration_catches_a_weight_that_is_a_little_too_large() -> None:
    honest = randomized_response(Fraction(1, 2), 3)
    greedy = Keep(3, honest.same + honest.same // 10**6, honest.other - honest.other // 10**6)
    laws = [Split((greedy, honest)).law(record) for record in records_of((3, 3))]
    assert worst_ratio(laws) > exp_below(Fraction(1)) * (1 + Fraction(1, 10**7))


@pytest.mark.parametrize("size", [2, 3, 4, 17, 1_000, 65_536])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 5.0, 32.0])
def test_weights_realise_nearly_the_whole_budget_and_never_more(size: int, epsilon: float) -> None:
    channel = randomized_response(Fraction(epsilon), size)
    assert channel.ratio <= exp_below(Fraction(epsilon))
    assert channel.ratio >= exp_below(Fraction(epsilon) * Fraction(9_999, 10_000))
    assert 1 - Fraction(1, 2**17) < Fraction(channel.total, 2**64) < 1
    assert 0.9999 * epsilon <= log_floor(channel.ratio) <= epsilon


def test_exact_comparison_with_the_exponential() -> None:
    for power in (Fraction(1, 10**6), Fraction(1), Fraction(32)):
        below = exp_below(power)
        assert at_most_exp(below, power)
        assert not at_most_exp(below + Fraction(1, 10**30), power)
