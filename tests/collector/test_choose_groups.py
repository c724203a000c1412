"""Groups that are chosen from the reports of Phase I."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from privtally.collector.estimate import Phase, estimate
from privtally.collector.learn import compare_groups, grouping, learn
from privtally.collector.learn.grouping import _Compared
from privtally.collector.learn.judges import information_of
from privtally.documents.campaign import Campaign
from privtally.errors import LearningError, PlanError
from privtally.exact.arrays import Floats
from privtally.exact.probability import nearest_distribution
from privtally.mechanisms import Part
from privtally.mechanisms.channel import randomized_response
from privtally.mechanisms.filling import as_codes, conditional
from privtally.mechanisms.fills import RowFill, UniformFill
from privtally.mechanisms.grouping import unbiased_variance
from privtally.mechanisms.named import Groups, best_channel
from privtally.names import MechanismName
from privtally.privacy.certificate import certify, dump_certificate
from privtally.privacy.verify import verify
from tests.collector.made_up import answered_independently, simulated
from tests.mechanisms.test_grouping import partitions
from tests.support import first_plan

FOUR = (3, 3, 3, 3)
ALONE = ((0,), (1,), (2,), (3,))
LEARNING: tuple[MechanismName, ...] = ("rs-rfd", "corr-rr", "cond-rr")


@cache
def phase1(mechanism: MechanismName, epsilon: float) -> Phase:
    answers = np.random.default_rng(3).dirichlet(np.full(81, 0.5)).reshape(FOUR)
    plan = first_plan(FOUR, epsilon, mechanism)
    return plan, simulated(plan, answers, 3_000, np.random.default_rng(1))


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 10.0])
@pytest.mark.parametrize("mechanism", LEARNING)
def test_the_choice_is_a_plan_of_the_campaign(mechanism: MechanismName, epsilon: float) -> None:
    first, counts = phase1(mechanism, epsilon)
    choice = compare_groups([(first, counts)])
    plan = learn([(first, counts)], groups="auto")
    assert tuple(part.attributes for part in plan.parts) == choice.groups
    assert plan.groups == (choice.groups if len(choice.groups) > 1 else None)
    assert choice.error <= min(choice.errors[ALONE], choice.errors[((0, 1, 2, 3),)])
    assert float(plan.sampler.ratio) == pytest.approx(np.exp(epsilon))
    verify(plan.dump(), dump_certificate(certify(plan)))
    assert len(Campaign.draft(first).open().close().follow(plan).plans) == 2


def test_a_large_budget_asks_everything_and_a_small_one_has_one_group() -> None:
    for epsilon, groups in ((0.5, ((0, 1, 2, 3),)), (12.0, ALONE)):
        history = [phase1("cond-rr", epsilon)]
        plan = learn(history, groups="auto")
        assert tuple(part.attributes for part in plan.parts) == groups
        assert (plan.learned is not None, [part.fill is None for part in plan.parts]) == (
            True,
            [epsilon > 1] * len(groups),
        )
        again = (plan, simulated(plan, np.full(FOUR, 1 / 81), 500, np.random.default_rng(2)))
        assert len(estimate([*history, again]).provenance.phases) == 2


def test_groups_may_be_named_anew() -> None:
    history = [phase1("corr-rr", 4.0)]
    plan = learn(history, groups=[["q3", "q0"], ["q1", "q2"]])
    assert plan.groups == ((3, 0), (1, 2))
    assert learn(history).groups is None
    with pytest.raises(PlanError, match="'q1'"):
        learn(history, groups=[["q3", "q0"], ["q2"]])
    unequal = first_plan((2, 3, 2, 3), 4.0, "corr-rr", groups=[["q0", "q2"], ["q1", "q3"]])
    counts = simulated(unequal, np.full((2, 3, 2, 3), 1 / 36), 500, np.random.default_rng(2))
    with pytest.raises(PlanError, match="answers"):
        learn([(unequal, counts)], groups=[["q0", "q1"], ["q2", "q3"]])
    for part in learn([(unequal, counts)], groups="auto").parts:
        assert len({unequal.schema.sizes[own] for own in part.attributes}) == 1
    with pytest.raises(LearningError, match="nothing"):
        compare_groups(
            [(first_plan(FOUR), simulated(first_plan(FOUR), np.full(FOUR, 1 / 81), 50, np.random.default_rng(2)))]
        )


SIX = (2, 2, 3, 4, 8, 16)


def variance_at(epsilon: float, truth: list[Floats], rows: tuple[tuple[float, ...], ...]) -> Callable[[Groups], float]:
    """The mean variance of an unbiased frequency from one report, at the true frequencies, with these fills."""

    @cache
    def alone(own: int, members: int, groups: int) -> float:
        budget = Fraction(epsilon) / groups
        channel = best_channel(budget, SIX[own]).channel(budget, SIX[own])
        fill = as_codes(conditional([rows[own]]), channel).push(np.ones(1))
        return unbiased_variance(channel, 1 / members, truth[own], fill)

    return lambda groups: sum(alone(own, len(group), len(groups)) for group in groups for own in group) / len(SIX)


def test_the_choice_is_near_the_best_of_all_partitions() -> None:
    """Within 5 % by the exact variance at the true frequencies; one group, or all alone, is not."""
    made_up = np.random.default_rng(6)
    truth = [made_up.dirichlet(np.ones(size)) for size in SIX]
    every = [tuple(map(tuple, partition)) for partition in partitions(range(6))]
    ends = []
    for epsilon in (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0):
        plan = first_plan(SIX, epsilon, "rs-rfd")
        history = [(plan, answered_independently(plan, truth, 4_000))]
        learned = learn(history, max_pivot_guess=1.0).parts[0].fill
        assert isinstance(learned, RowFill)
        variance_of = variance_at(epsilon, truth, learned.rows)
        best = min(map(variance_of, every))
        assert variance_of(compare_groups(history, max_pivot_guess=1.0).groups) <= 1.05 * best
        one_or_alone = (tuple(range(6)),), tuple((own,) for own in range(6))
        ends.append([variance_of(groups) / best for groups in one_or_alone])
    assert np.max(ends) > 1.05


def test_the_closed_form_with_a_fill_is_the_variance_of_its_law() -> None:
    channel = randomized_response(Fraction(2), 3)
    row, truth = nearest_distribution(np.array([0.2, 0.3, 0.5])), np.array([0.6, 0.3, 0.1])
    reported = 0.5 * channel.push(truth) + 0.5 * np.array(row)
    scale = 0.5 * float(channel.scale)
    assert unbiased_variance(channel, 0.5, truth, np.array(row)) == pytest.approx(
        float(np.mean(reported * (1 - reported))) / scale**2
    )


def test_a_gain_that_is_smaller_than_its_spread_is_not_taken() -> None:
    class Stub:
        weights = np.array([0.5, 0.5])

        def errors(self, groups: Groups) -> Floats:
            return {1: np.array([1.0, 1.0]), 2: np.array([0.1, 2.0]), 3: np.array([0.5, 0.6])}[len(groups)]

    compared = _Compared(Stub(), lambda _group: None)
    one, two, three = ((0, 1, 2),), ((0, 1), (2,)), ((0,), (1,), (2,))
    assert all(map(compared.add, (one, two, three)))
    assert compared.expected(two) < compared.expected(one)
    assert not compared.supports(two, one)
    assert compared.supports(three, one)


def test_the_information_of_even_fills_is_that_of_the_law() -> None:
    """At uniform answers one report of d attributes has 1/d² of what everybody asked would give, next to even fills."""
    channel = randomized_response(Fraction(1), 3)
    uniform = [np.full(3, 1 / 3)] * 2
    both = information_of(Part((0, 1), 1, (channel, channel), UniformFill()), uniform)
    alone = information_of(Part((0,), 1, (channel,)), uniform[:1])
    direction = np.array([1.0, -1.0, 0.0])
    assert direction @ both[:3, :3] @ direction == pytest.approx(direction @ alone @ direction / 4)


def test_many_labels_are_judged_by_even_fills(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "MOST_DIRECTIONS", 3)
    choice = compare_groups([phase1("cond-rr", 4.0)])
    assert choice.groups in choice.errors


def test_many_attributes_are_not_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "MOST_MERGED", 3)
    assert len(compare_groups([phase1("cond-rr", 4.0)]).errors) == 4
