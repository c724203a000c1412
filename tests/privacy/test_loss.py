"""The auditor's exact losses against brute force over all pairs of records."""

from fractions import Fraction
from itertools import combinations
from math import exp, lcm, log

import pytest

from privtally.mechanisms.channels import randomized_response
from privtally.mechanisms.fills import UniformFill
from privtally.mechanisms.mechanism import Law, Mechanism, Part
from privtally.names import MechanismName
from privtally.privacy.audit import audit, audit_campaign
from privtally.privacy.loss import losses
from tests.support import EXTENSIONS, all_laws, cases, exp_below, laws_of, plan_of

SMALL = [(2, 2), (3, 3), (2, 2, 2), (2, 3), (3, 3, 3), (2, 2, 2, 2), (2, 3, 5), (5, 2)]


def brute_force(laws: dict[tuple[int, ...], Law]) -> dict[int, Fraction]:
    """The largest ratio for each number of differing attributes, from the enumerated laws of all records."""
    whole = lcm(*(chance.denominator for law in laws.values() for chance in law.values()))
    weights = {record: {report: int(chance * whole) for report, chance in law.items()} for record, law in laws.items()}
    found: dict[int, tuple[int, int]] = {}
    for one, two in combinations(weights, 2):
        differing = sum(x != y for x, y in zip(one, two, strict=True))
        assert weights[one].keys() == weights[two].keys()
        high, low = found.get(differing, (0, 1))
        for report, weight in weights[one].items():
            other = weights[two][report]
            if weight * low > high * other or other * low > high * weight:
                high, low = max(weight, other), min(weight, other)
        found[differing] = high, low
    return {differing: Fraction(*ratio) for differing, ratio in found.items()}


def assert_losses_are_those_of(mechanism: Mechanism, laws: dict[tuple[int, ...], Law]) -> None:
    """The same ratios as brute force, each attained by the records and the report that go with it."""
    found = losses(mechanism)
    assert {loss.differing: loss.ratio for loss in found} == brute_force(laws)
    for loss in found:
        assert loss.exact
        assert sum(x != y for x, y in zip(loss.record, loss.other_record, strict=True)) == loss.differing
        assert laws[loss.record][loss.report] / laws[loss.other_record][loss.report] == loss.ratio


@pytest.mark.parametrize(("mechanism", "sizes"), cases(SMALL))
def test_losses_are_those_of_the_law(mechanism: MechanismName, sizes: tuple[int, ...]) -> None:
    sampler = plan_of(mechanism, sizes, epsilon=1.3).mechanism
    assert_losses_are_those_of(sampler, all_laws(sampler))


@pytest.mark.parametrize("name", EXTENSIONS)
def test_losses_of_any_parts_pivots_and_channels_are_those_of_the_law(name: str) -> None:
    assert_losses_are_those_of(EXTENSIONS[name](2.0), laws_of(name, 2.0))


@pytest.mark.parametrize(("mechanism", "sizes"), cases([(4, 4, 4, 4), (2, 3, 5)]))
@pytest.mark.parametrize("epsilon", [0.1, 4.0])
def test_realised_is_at_most_and_nearly_the_promise(
    mechanism: MechanismName, sizes: tuple[int, ...], epsilon: float
) -> None:
    result = audit(plan_of(mechanism, sizes, epsilon))
    pairs = (entry["ratio"] for entry in result["by_differing_attributes"])
    largest = max(Fraction(int(high, 16), int(low, 16)) for high, low in pairs)
    assert largest <= exp_below(Fraction(epsilon))
    assert largest >= exp_below(Fraction(epsilon) * Fraction(9_999, 10_000))
    assert result["exact"] is True
    assert 0.9999 * epsilon <= result["realised"] <= epsilon


def test_an_amplified_pivot_is_measured() -> None:
    """k = 2, d = 4, nominal ε = 1, pivot budget ln(d(e − 1) + 1): more than ε as soon as two attributes differ."""
    channel = randomized_response(Fraction(log(4 * (exp(1) - 1) + 1)), 2)
    found = losses(Mechanism((Part((0, 1, 2, 3), 1, (channel,) * 4, 3, UniformFill()),)))
    assert [round(log(loss.ratio), 2) for loss in found] == [1.00, 1.49, 1.82, 2.06]


@pytest.mark.parametrize(("mechanism", "attributes"), [("rs-fd", 50), ("rs-rfd", 50), ("corr-rr", 20)])
def test_large_plans_get_a_bound_and_say_so(mechanism: MechanismName, attributes: int) -> None:
    plan = plan_of(mechanism, (100,) * attributes, epsilon=1.0)
    result = audit(plan)
    assert result["exact"] is False
    assert 0.9999 <= result["realised"] <= 1
    assert len(result["by_differing_attributes"]) == attributes
    if mechanism == "corr-rr":
        assert result["pivot_guess"] is None
    else:
        assert 1 / 50 <= result["pivot_guess"] <= 1 / 20
        assert result["pivot_guess_exact"]


def test_several_plans_add_up() -> None:
    one, two = plan_of("spl", (3, 3), epsilon=1.0), plan_of("corr-rr", (3, 3), epsilon=2.0)
    result = audit_campaign([one, two])
    assert result["epsilon"] == 3
    assert 0.9999 * 3 <= result["realised"] <= 3
    assert [part["plan"] for part in result["plans"]] == [one.digest, two.digest]
    assert audit_campaign([one]) == audit(one)
