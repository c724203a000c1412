"""Tables given several pivots, learned from Phase I."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest

from privtally.collector.estimate import History, estimate
from privtally.collector.learn import learn, tables
from privtally.collector.learn.tables import fit_pairs
from privtally.collector.pairs import estimate_pairs
from privtally.errors import EstimateError, LearningError, PlanError
from privtally.mechanisms.fills import TableFill
from privtally.names import Method
from tests.collector.made_up import made_up_law, marginals_of, simulated
from tests.support import expected_counts, first_plan

SIZES = (2, 3, 2)


@cache
def pairwise_population(strength: float = 1.0) -> np.ndarray:
    """Answers of which every two go together, and no three beyond that."""
    made_up = np.random.default_rng(2)
    logs = np.zeros(SIZES)
    for axis in range(3):
        shape = [size if place != axis else 1 for place, size in enumerate(SIZES)]
        logs = logs + strength * made_up.normal(size=shape)
    chances: np.ndarray = np.exp(logs) / np.exp(logs).sum()
    return chances


def history(answers: np.ndarray, epsilon: float, people: int, seed: int = 1) -> History:
    plan = first_plan(answers.shape, epsilon, "cond-rr")
    return [(plan, simulated(plan, answers, people, np.random.default_rng(seed)))]


def test_tables_are_those_of_the_population() -> None:
    """Where no three answers go together beyond their pairs; the pivots' codes count in lexicographic order."""
    answers = pairwise_population()
    plan = first_plan(SIZES, 6.0, "cond-rr")
    (part,) = learn([(plan, expected_counts(plan, answers, 1e12))], pivots=2).parts
    assert part.pivots == 2
    assert isinstance(part.fill, TableFill)
    (table,) = (each for each in part.fill.tables if (each.pivots, each.other) == ((0, 1), 2))
    wanted = (answers / answers.sum(axis=2, keepdims=True)).reshape(6, 2)
    assert np.array(table.rows) == pytest.approx(wanted, abs=1e-3)
    assert np.abs(np.array(table.rows) - wanted[::-1]).max() > 0.05


def test_a_fit_has_the_pairwise_tables() -> None:
    answers = made_up_law((2, 3, 4, 2), seed=8)
    pairs: dict[tuple[int, int], np.ndarray] = {
        pair: answers.sum(axis=tuple(axis for axis in range(4) if axis not in pair))
        for pair in combinations(range(4), 2)
    }
    joint = fit_pairs((0, 2, 3, 1), pairs, marginals_of(answers))
    assert joint.sum(axis=(2, 3)) == pytest.approx(pairs[0, 2], abs=1e-6)
    assert joint.sum(axis=(0, 1)) == pytest.approx(pairs[1, 3].T, abs=1e-6)


def test_noise_supports_one_pivot_with_the_whole_budget() -> None:
    """Independent answers, few people, a small budget: the plan says what was wanted."""
    plan = learn(history(np.full(SIZES, 1 / 12), 0.5, 200), pivots=2)
    assert [part.pivots for part in plan.parts] == [1]
    assert plan.learned is not None
    assert plan.learned.pivots == 2
    assert float(plan.sampler.parts[0].asked[0].ratio) == pytest.approx(np.exp(0.5))
    many = learn(history(pairwise_population(), 6.0, 50_000), pivots=2)
    assert [part.pivots for part in many.parts] == [2]
    assert float(many.sampler.parts[0].asked[0].ratio) == pytest.approx(np.exp(3.0))


def test_only_attributes_that_go_together_gain() -> None:
    """Given noise alone the gain is negative on average over 200 runs; the pivot is then left out of a table's rows."""
    noise = [
        tables.gain_of(history(np.full(SIZES, 1 / 12), 2.0, 300, seed), (0, 1), (np.full(2, 0.5), np.full(3, 1 / 3)))
        for seed in range(200)
    ]
    assert np.mean(noise) < 0
    answers = pairwise_population()
    first, second, _ = marginals_of(answers)
    assert tables.gain_of(history(answers, 8.0, 20_000), (0, 1), (first, second)) > 0
    rows = np.array(tables._rows((0, 1), 2, (0,), {(0, 2): answers.sum(axis=1)}, marginals_of(answers)))
    assert rows.reshape(2, 3, 2)[:, 0] == pytest.approx(rows.reshape(2, 3, 2)[:, 2])
    assert np.abs(rows.reshape(2, 3, 2)[0, 0] - rows.reshape(2, 3, 2)[1, 0]).max() > 0.01


def test_a_group_of_as_many_attributes_as_pivots_is_asked_whole() -> None:
    found = history(made_up_law((2, 3, 2, 2), seed=3), 8.0, 100_000)
    plan = learn(found, groups=[["q0", "q1"], ["q2"], ["q3"]], pivots=2)
    assert [(part.pivots, part.fill) for part in plan.parts] == [(2, None), (1, None), (1, None)]
    assert float(plan.sampler.ratio) == pytest.approx(np.exp(8.0))


def test_three_pivots_fall_back_step_by_step() -> None:
    """Of four attributes only pairs (0, 1) and (2, 3) go together, so that no table has more than one pivot."""
    pair = np.array([[0.45, 0.05], [0.05, 0.45]])
    plan = learn(history(np.multiply.outer(pair, pair), 8.0, 20_000), pivots=3)
    assert [part.pivots for part in plan.parts] == [1]


def test_a_third_phase_learns_from_two_hidden_pivots_too() -> None:
    answers = pairwise_population()
    found = [*history(answers, 6.0, 20_000)]
    plan = learn(found, pivots=2)
    found.append((plan, simulated(plan, answers, 5_000, np.random.default_rng(3))))
    for third in (learn(found, pivots=2), learn(found, groups="auto")):
        assert third.learned is not None
        assert third.learned.reports == 25_000


def test_bad_wishes_are_refused() -> None:
    found = history(pairwise_population(), 4.0, 500)
    for pivots in (0, 4, True):
        with pytest.raises(PlanError, match="pivots"):
            learn(found, pivots=pivots)
    with pytest.raises(LearningError, match="auto"):
        learn(found, pivots=2, groups="auto")
    copies = first_plan((2, 2, 2), 1.0, "corr-rr")
    counts = simulated(copies, np.full((2, 2, 2), 1 / 8), 50, np.random.default_rng(1))
    with pytest.raises(PlanError, match="pivots = 1"):
        learn([(copies, counts)], pivots=2)
    wide = first_plan((30, 30, 30), 4.0, "cond-rr")
    many = simulated(wide, np.full((30, 30, 30), 30.0**-3), 50, np.random.default_rng(1))
    with pytest.raises(EstimateError, match="pivots"):
        learn([(wide, many)], pivots=2)


@cache
def campaigns() -> list[History]:
    """Both phases of a campaign, repeated; the second plan is learned once, from people of its own."""
    answers, generator = pairwise_population(), np.random.default_rng(7)
    first = first_plan(SIZES, 6.0, "cond-rr")
    second = learn([(first, simulated(first, answers, 50_000, generator))], pivots=2)
    assert [part.pivots for part in second.parts] == [2]
    people = ((first, 500), (second, 2_000))
    return [[(plan, simulated(plan, answers, count, generator)) for plan, count in people] for _ in range(60)]


@pytest.mark.parametrize("method", ["unbiased", "likelihood"])
def test_both_phases_together_cover(method: Method) -> None:
    """All frequencies, and all cells of two tables, at fixed seeds; intervals half as wide do not."""
    answers = pairwise_population()
    alone, pairs = [], []
    for found in campaigns():
        for own, truth in zip(estimate(found, method).attributes.values(), marginals_of(answers), strict=True):
            alone += list(np.abs(np.array(own.frequencies) - truth) / np.array(own.standard_errors))
        for table in estimate_pairs(found, method).tables[:2]:
            axis = 2 if table.attributes == ("q0", "q1") else 1
            gaps = np.abs(np.array(table.frequencies) - answers.sum(axis=axis))
            pairs += list((gaps / np.array(table.standard_errors)).ravel())
    for scores in (alone, pairs):
        assert np.mean(np.array(scores) < 1.96) >= 0.93
        assert np.mean(np.array(scores) < 0.98) < 0.93


def test_both_phases_say_more_than_one() -> None:
    for found in campaigns()[:3]:
        both, first = (estimate_pairs(phases, "unbiased") for phases in (found, found[:1]))
        for more, less in zip(both.tables, first.tables, strict=True):
            assert np.square(more.standard_errors).mean() < np.square(less.standard_errors).mean()
            assert more.reports == 2_500


def test_more_pivots_than_any_group_has_attributes_are_refused() -> None:
    plan = first_plan((2, 2), 4.0, "cond-rr")
    history = [(plan, expected_counts(plan, made_up_law((2, 2)), 1e4))]
    with pytest.raises(PlanError, match="3 questions a report"):
        learn(history, pivots=3)
