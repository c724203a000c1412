"""The auditor's exact losses against brute force over all pairs of records."""

from fractions import Fraction
from itertools import combinations
from math import exp, log, prod

import pytest

from privtally.documents.plan import Plan
from privtally.mechanisms import Pivot, Split, uniform_fills
from privtally.names import MechanismName
from privtally.privacy.audit import audit, audit_campaign
from privtally.privacy.loss import MAX_STATES, losses, worst
from tests.support import cases, exp_below, plan_of, records_of

SMALL = [(2, 2), (3, 3), (2, 2, 2), (2, 3), (3, 3, 3), (2, 2, 2, 2), (2, 3, 5), (5, 2)]


def brute_force(plan: Plan) -> dict[int, Fraction]:
    """The largest ratio for each number of differing attributes, from the enumerated laws of all records."""
    laws = {record: plan.sampler.law(record) for record in records_of(plan.schema.sizes)}
    found: dict[int, Fraction] = {}
    for one, two in combinations(laws, 2):
        differing = sum(x != y for x, y in zip(one, two, strict=True))
        for report, chance in laws[one].items():
            other = laws[two][report]
            if chance or other:
                found[differing] = max(found.get(differing, Fraction(0)), chance / other, other / chance)
    return found


@pytest.mark.parametrize(("mechanism", "sizes"), cases(SMALL))
def test_losses_are_those_of_the_law(mechanism: MechanismName, sizes: tuple[int, ...]) -> None:
    plan = plan_of(mechanism, sizes, epsilon=1.3)
    found = losses(plan.sampler)
    truth = brute_force(plan)
    assert {loss.differing: loss.ratio for loss in found} == truth
    assert all(loss.exact for loss in found)
    for loss in found:
        assert loss.record is not None
        assert loss.other_record is not None
        assert loss.report is not None
        assert sum(x != y for x, y in zip(loss.record, loss.other_record, strict=True)) == loss.differing
        law, other = plan.sampler.law(loss.record), plan.sampler.law(loss.other_record)
        assert law[loss.report] / other[loss.report] == loss.ratio


@pytest.mark.parametrize(("mechanism", "sizes"), cases([(4, 4, 4, 4), (2, 3, 5)]))
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_realised_is_at_most_and_nearly_the_promise(
    mechanism: MechanismName, sizes: tuple[int, ...], epsilon: float
) -> None:
    loss = worst(losses(plan_of(mechanism, sizes, epsilon).sampler))
    assert loss.ratio <= exp_below(Fraction(epsilon))
    assert loss.ratio >= exp_below(Fraction(epsilon) * Fraction(9_999, 10_000))
    result = audit(plan_of(mechanism, sizes, epsilon))
    assert result["exact"] is True
    assert 0.9999 * epsilon <= result["realised"] <= epsilon


def test_an_amplified_pivot_is_measured() -> None:
    """k = 2, d = 4, nominal ε = 1, pivot budget ln(d(e − 1) + 1): more than ε as soon as two attributes differ."""
    sizes = (2, 2, 2, 2)
    amplified = Fraction(log(4 * (exp(1) - 1) + 1))
    found = losses(Pivot.of(sizes, amplified, uniform_fills(sizes)))
    assert [round(log(loss.ratio), 2) for loss in found] == [1.00, 1.49, 1.82, 2.06]


@pytest.mark.parametrize("mechanism", ["rs-fd", "rs-rfd", "corr-rr"])
def test_large_plans_get_a_bound_and_say_so(mechanism: MechanismName) -> None:
    plan = plan_of(mechanism, (100,) * 50, epsilon=1.0)
    result = audit(plan)
    assert result["exact"] is False
    assert 0.9999 <= result["realised"] <= 1
    assert len(result["by_differing_attributes"]) == 50
    assert result["pivot_guess"] is None


@pytest.mark.parametrize("mechanism", ["rs-fd", "rs-rfd", "corr-rr", "cond-rr"])
def test_the_bound_holds_where_it_can_be_compared(mechanism: MechanismName) -> None:
    sampler = plan_of(mechanism, (3, 3, 3)).sampler
    assert worst(losses(sampler)).ratio <= sampler.ratio
    assert prod(sampler.outputs) * 5**3 <= MAX_STATES


def test_split_by_hand() -> None:
    sampler = Split.of((2, 3), Fraction(1))
    ratios = sorted((channel.ratio for channel in sampler.channels), reverse=True)
    assert [loss.ratio for loss in losses(sampler)] == [ratios[0], ratios[0] * ratios[1]]


def test_several_plans_add_up() -> None:
    one, two = plan_of("spl", (3, 3), epsilon=1.0), plan_of("corr-rr", (3, 3), epsilon=2.0)
    result = audit_campaign([one, two])
    assert result["epsilon"] == 3
    assert 0.9999 * 3 <= result["realised"] <= 3
    assert [part["plan"] for part in result["plans"]] == [one.digest, two.digest]
    assert audit_campaign([one]) == audit(one)
