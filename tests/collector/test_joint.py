"""Tables of two attributes are unbiased, their variances are those of repeated campaigns, and fits are proper."""

from fractions import Fraction

import numpy as np
import pytest

from privtally.collector.consistent import interior_table
from privtally.collector.joint import _undoing, carries, conditional_rows, fitted, joint_table, shrunk
from privtally.collector.tally import count
from privtally.documents.plan import Plan
from privtally.mechanisms.channel import randomized_response
from privtally.mechanisms.fills import UniformFill
from privtally.mechanisms.named import best_channel
from tests.collector.made_up import (
    campaign,
    copies,
    copying_groups,
    made_up_law,
    plans_of_every_kind,
    simulated,
    two_groups,
    two_pivots,
)
from tests.support import counts_of, expected_counts, first_plan, plan_of

CARRYING: dict[str, tuple[Plan, list[tuple[int, int]]]] = {
    "spl": (first_plan((2, 3, 2), 4.0), [(0, 1), (2, 1)]),
    "two silent pivots": (two_pivots(None, (2, 3, 2), 6.0), [(0, 1), (2, 1)]),
    "two silent groups": (two_groups(None, None, (2, 3, 2, 2), 6.0), [(0, 1), (3, 2)]),
}


def truth_of(answers: np.ndarray, one: int, two: int) -> np.ndarray:
    joint: np.ndarray = answers.sum(axis=tuple(axis for axis in range(answers.ndim) if axis not in (one, two)))
    return joint if one < two else joint.T


@pytest.mark.parametrize("kind", CARRYING)
def test_tables_are_unbiased_with_the_variances_that_they_state(kind: str) -> None:
    """Exactly from counts as expected; over 300 runs the mean within five standard errors, the variances within 40 %.

    A variance of 300 runs is known to 8 %. Twice or half the variance must fail.
    """
    plan, pairs = CARRYING[kind]
    answers = made_up_law(plan.schema.sizes)
    generator = np.random.default_rng(3)
    runs = [simulated(plan, answers, 3_000, generator) for _ in range(300)]
    for one, two in pairs:
        truth = truth_of(answers, one, two)
        exact = joint_table([(plan, expected_counts(plan, answers, 1e13))], one, two)
        assert exact is not None
        np.testing.assert_allclose(exact.frequencies, truth, atol=1e-9)
        tables = [joint_table([(plan, counts)], one, two) for counts in runs]
        found = np.array([table.frequencies for table in tables if table is not None])
        stated = np.mean([table.variances for table in tables if table is not None], axis=0)
        assert (np.abs(found.mean(axis=0) - truth) < 5 * np.sqrt(stated / len(found))).all()
        ratio = found.var(axis=0) / stated
        assert ratio.min() > 0.6
        assert ratio.max() < 1.4
        assert not (2 * ratio.max() < 1.4)
        assert not (ratio.min() / 2 > 0.6)


@pytest.mark.parametrize("kind", CARRYING)
def test_only_reports_with_both_answers_count(kind: str) -> None:
    plan, pairs = CARRYING[kind]
    counts = simulated(plan, made_up_law(plan.schema.sizes), 5_000, np.random.default_rng(1))
    shares = {"spl": 1, "two silent pivots": 1 / 3, "two silent groups": 1 / 4}
    for one, two in pairs:
        table = joint_table([(plan, counts)], one, two)
        assert table is not None
        assert table.reports == pytest.approx(5_000 * shares[kind], rel=0.1)


def test_which_plans_carry_which_pairs() -> None:
    pairs = {
        name: [carries(plan, 0, other) for other in range(1, len(plan.schema.attributes))]
        for name, plan in plans_of_every_kind().items()
    }
    assert pairs == {
        "spl": [True],
        "smp": [False],
        "rs-fd": [False],
        "rs-rfd": [False],
        "corr-rr": [False],
        "cond-rr": [False],
        "copying groups": [False, False, False],
        "silent groups": [True, False, True],
        "two pivots, silent": [True, True],
        "two pivots, uniform": [False, False],
        "two pivots, rows": [False, False],
        "two pivots, tables": [False, False],
    }
    mixed = two_groups(copies((1.0, 0.5), (0.5, 1.0)), None, (2, 2, 2, 2))
    assert not carries(mixed, 0, 1)


@pytest.mark.parametrize("plan", [plan_of("smp", (2, 3)), copying_groups(), two_pivots(UniformFill())])
def test_plans_that_carry_nothing_give_no_table(plan: Plan) -> None:
    counts = simulated(plan, made_up_law(plan.schema.sizes), 500, np.random.default_rng(1))
    assert joint_table([(plan, counts)], 0, 1) is None


def test_phases_are_weighted_by_their_precision() -> None:
    history = campaign("cond-rr", 2)
    alone = joint_table(history[:1], 0, 1)
    both = joint_table(history, 0, 1)
    twice = joint_table([history[0], history[0]], 0, 1)
    assert alone is not None
    assert both is not None
    assert twice is not None
    np.testing.assert_array_equal(both.frequencies, alone.frequencies)
    np.testing.assert_allclose(twice.frequencies, alone.frequencies)
    np.testing.assert_allclose(twice.variances, alone.variances / 2)
    assert twice.reports == 2 * alone.reports


def test_a_fitted_table_is_proper_and_has_the_marginals() -> None:
    first, second = np.array([0.2, 0.5, 0.3]), np.array([0.1, 0.2, 0.0, 0.7])
    raw = np.random.default_rng(4).normal(1 / 12, 0.1, (3, 4))
    joint = fitted(raw, first, second)
    assert raw.min() < 0 <= joint.min()
    np.testing.assert_allclose(joint.sum(axis=1), first, atol=1e-6)
    np.testing.assert_allclose(joint.sum(axis=0), second, atol=1e-6)


def test_a_table_that_fits_already_stays() -> None:
    joint = made_up_law((3, 4))
    np.testing.assert_allclose(fitted(joint, joint.sum(axis=1), joint.sum(axis=0)), joint, atol=1e-5)


def test_a_label_that_never_occurs_gets_the_marginal_row() -> None:
    rows = conditional_rows(np.array([[0.0, 0.0], [0.25, 0.75]]))
    assert [row.tolist() for row in rows] == [[0.25, 0.75], [0.25, 0.75]]


def dependence(table: np.ndarray) -> np.ndarray:
    return table - np.outer(table.sum(axis=1), table.sum(axis=0))


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_the_noise_of_dependence_is_what_independent_answers_show(epsilon: float) -> None:
    """Over 200 runs, within 25 %: a mean of sums of four squares is known to 5 %. All variances would be too much."""
    plan = first_plan((2, 5), epsilon)
    law = np.outer([0.3, 0.7], [0.1, 0.2, 0.3, 0.2, 0.2])
    generator = np.random.default_rng(1)
    seen, stated, all_variances = 0.0, 0.0, 0.0
    for _ in range(200):
        history = [(plan, simulated(plan, law, 500, generator))]
        table, inside = joint_table(history, 0, 1), interior_table(history, 0, 1)
        assert table is not None
        assert inside is not None
        seen += float(np.sum(dependence(table.frequencies) ** 2))
        stated += float(inside.variances.sum())
        all_variances += float(table.variances.sum())
    assert seen == pytest.approx(stated, rel=0.25)
    if epsilon > 1:
        assert all_variances > 1.5 * seen


def test_noise_alone_leaves_independence_and_certainty_leaves_the_table() -> None:
    seen = np.array([[0.3, 0.1], [0.1, 0.5]])
    first, second = seen.sum(axis=1), seen.sum(axis=0)
    square = float(np.sum(dependence(seen) ** 2))
    for noise, kept in ((0.0, 1.0), (square / 4, 0.75), (square, 0.0), (9.0, 0.0)):
        found = shrunk(seen, noise, first, second)
        assert found == pytest.approx(np.outer(first, second) + kept * dependence(seen))
    even = np.full((2, 2), 0.25)
    assert shrunk(even, 0.0, first, second) == pytest.approx(np.outer(first, second))


def test_a_pair_that_nobody_reported_is_not_known_to_be_empty() -> None:
    """At a large budget nothing but the people in a cell makes its error: that of a single person is the least."""
    plan = first_plan((2, 3), 16.0)
    tensor = np.array([[20, 10, 0], [30, 20, 20]])
    table = joint_table([(plan, counts_of(plan, tensor))], 0, 1)
    assert table is not None
    assert np.sqrt(table.variances[0, 2]) > 0.9 / tensor.sum()


@pytest.mark.parametrize("size", [3, 40, 200])
def test_the_matrix_that_undoes_a_channel_takes_its_law_back_to_each_label(size: int) -> None:
    budget = Fraction(1)
    for channel in (randomized_response(budget, size), best_channel(budget, size).channel(budget, size)):
        np.testing.assert_array_equal(channel.members().T, channel.support(np.eye(channel.outputs)))
        np.testing.assert_allclose(_undoing(channel) @ channel.push(np.eye(size)).T, np.eye(size), atol=1e-9)


def test_a_channel_with_very_many_labels_is_not_undone() -> None:
    """Its matrix would have 700 MB."""
    plan = first_plan((2, 9_000), 2.0)
    counts = count(plan, np.zeros((5, 2), dtype=np.uint16))
    assert counts.pair_tables
    assert joint_table([(plan, counts)], 0, 1) is None
