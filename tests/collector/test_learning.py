from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privtally.collector.joint import conditional_rows, debias_pair, pair_joint
from privtally.collector.learn.rules import learn, proposition, published
from privtally.collector.simplex import project_to_simplex
from privtally.documents.counts import Counts, count, nothing
from privtally.documents.plan import Plan, design
from privtally.errors import CountsError, LearningError
from privtally.exact.probability import nearest_distribution, nearest_probability
from privtally.lab.seed import seeded
from privtally.mechanisms.channel import PROBABILITY_UNIT, randomized_response
from privtally.names import RULES, MechanismName
from privtally.participant.respond import respond_many
from privtally.schema import Records
from tests.support import schema_of

SCALE = float(randomized_response(Fraction(1), 4).scale)


def distribution(size: int) -> st.SearchStrategy[np.ndarray]:
    return st.lists(st.floats(0.01, 1), min_size=size, max_size=size).map(lambda w: np.array(w) / sum(w))


def mean_squared_error(pivot: np.ndarray, other: np.ndarray, scale: float, users: int, p: float) -> float:
    """The paper's Theorem 1, summed over the labels: what Proposition 1 minimises."""
    size = len(pivot)
    q = (1 - scale) / size
    a = (size * p - 1) / (size - 1)
    mu = (other + (1 - p) / (size - 1) + a * pivot) / 2
    variance = (q + scale * mu) * (1 - q - scale * mu) / (users * scale**2)
    return float(np.sum(variance + (mu - other) ** 2))


@given(distribution(4), distribution(4), st.integers(2, 100_000))
def test_the_proposition_minimises_the_theorems_error(pivot: np.ndarray, other: np.ndarray, users: int) -> None:
    chosen = proposition(pivot, other, SCALE, users)
    assert 0 <= chosen <= 1
    best = mean_squared_error(pivot, other, SCALE, users, float(chosen))
    for p in np.linspace(0, 1, 101):
        assert best <= mean_squared_error(pivot, other, SCALE, users, float(p)) + 1e-9 * abs(best)


@given(distribution(2), distribution(2), st.integers(2, 100_000))
def test_with_two_labels_the_published_formula_is_the_proposition(
    pivot: np.ndarray, other: np.ndarray, users: int
) -> None:
    scale = float(randomized_response(Fraction(1), 2).scale)
    if abs(other[0] - 0.5) > 1e-6:
        assert published(pivot, other, scale, users) == pytest.approx(proposition(other, pivot, scale, users), abs=1e-6)


def test_the_published_formula_is_near_one_for_more_labels() -> None:
    pi = np.array([0.4, 0.3, 0.2, 0.1])
    assert published(pi, pi[::-1], SCALE, 18_000) > 0.6
    assert proposition(pi, pi[::-1], SCALE, 18_000) == 0


def test_a_uniform_pivot_makes_copying_indifferent() -> None:
    uniform = np.full(4, 0.25)
    assert proposition(uniform, np.array([0.4, 0.3, 0.2, 0.1]), SCALE, 1_000) == 0.25
    half = np.full(2, 0.5)
    assert published(np.array([0.2, 0.8]), half, SCALE, 1_000) == 0.5


def first_phase(
    mechanism: MechanismName, sizes: tuple[int, ...], people: int = 40_000
) -> tuple[Plan, Counts, np.ndarray]:
    plan = design(schema_of(sizes), 6.0, mechanism)
    made_up = np.random.default_rng(8)
    first = made_up.choice(sizes[0], people, p=made_up.dirichlet(np.full(sizes[0], 5.0)))
    columns = [first] + [
        np.where(made_up.random(people) < 0.7, first % size, made_up.integers(0, size, people)) for size in sizes[1:]
    ]
    codes = np.column_stack(columns).astype(np.uint8)
    return plan, count(plan, respond_many(plan, Records(plan.schema, codes), seeded(8)).codes), codes


@pytest.mark.parametrize("rule", RULES)
def test_copy_probabilities_for_every_ordered_pair(rule: str) -> None:
    plan, counts, _ = first_phase("corr-rr", (3, 3, 3))
    second = learn(plan, counts, rule=rule)  # type: ignore[arg-type]
    assert second.phase == 2
    assert second.mechanism == "corr-rr"
    assert second.copy_probability is not None
    assert np.shape(second.copy_probability) == (3, 3)
    assert second.learned is not None
    assert (second.learned.plan, second.learned.counts) == (plan.digest, counts.digest)
    assert (second.learned.rule, second.learned.phase2_users) == (rule, 360_000)


def test_priors_are_phase_1_clipped_and_normalised() -> None:
    plan, counts, codes = first_phase("rs-rfd", (2, 3, 5))
    second = learn(plan, counts)
    assert second.priors is not None
    for own, prior in enumerate(second.priors):
        assert sum(Fraction(share) for share in prior) == 1
        assert prior == pytest.approx(np.bincount(codes[:, own]) / len(codes), abs=0.05)


def test_conditional_tables_come_close_to_the_true_ones() -> None:
    plan, counts, codes = first_phase("cond-rr", (2, 3, 4))
    second = learn(plan, counts)
    assert second.conditional_tables is not None
    for pivot in range(3):
        for other in range(3):
            table = second.conditional_tables[pivot][other]
            if pivot == other:
                assert table is None
                continue
            assert table is not None
            for code, row in enumerate(table):
                mine = codes[codes[:, pivot] == code, other]
                assert row == pytest.approx(np.bincount(mine, minlength=len(row)) / len(mine), abs=0.08)
    assert second.learned is not None
    assert second.learned.rule is None


def test_joint_tables_agree_with_the_marginals() -> None:
    plan, counts, _ = first_phase("cond-rr", (3, 4), people=200)
    marginals = [np.array([0.2, 0.5, 0.3]), np.array([0.1, 0.2, 0.0, 0.7])]
    joint = pair_joint(plan, counts, 0, 1, marginals)
    assert joint.min() >= 0
    np.testing.assert_allclose(joint.sum(axis=1), marginals[0], atol=1e-6)
    np.testing.assert_allclose(joint.sum(axis=0), marginals[1], atol=1e-6)


def test_debiasing_a_pair_undoes_both_channels() -> None:
    made_up = np.random.default_rng(4)
    true = made_up.dirichlet(np.ones(12)).reshape(3, 4)
    one, two = randomized_response(Fraction(1), 3), randomized_response(Fraction(1, 2), 4)
    reported = two.push(one.push(true.T).T)
    np.testing.assert_allclose(debias_pair(reported, one, two), true, atol=1e-12)


def test_a_label_that_never_occurs_gets_the_marginal_row() -> None:
    rows = conditional_rows(np.array([[0.0, 0.0], [0.25, 0.75]]))
    assert [row.tolist() for row in rows] == [[0.25, 0.75], [0.25, 0.75]]


def test_what_cannot_be_learned_is_refused() -> None:
    plan, counts, _ = first_phase("corr-rr", (2, 2), people=100)
    second = learn(plan, counts)
    spl = design(schema_of((2, 2)), 1.0, "spl")
    with pytest.raises(LearningError, match="nothing to learn from phase 2 of corr-rr"):
        learn(second, counts)
    with pytest.raises(LearningError, match="nothing to learn from phase 1 of spl"):
        learn(spl, nothing(spl))
    with pytest.raises(LearningError, match="no reports"):
        learn(plan, nothing(plan))
    with pytest.raises(CountsError, match="belong to plan"):
        learn(plan, count(second, np.zeros((3, 2), dtype=np.uint8)))
    with pytest.raises(LearningError, match="at least 1, got 0"):
        learn(plan, counts, phase2_users=0)
    with pytest.raises(LearningError, match="rule must be one of"):
        learn(plan, counts, rule="guess")  # type: ignore[arg-type]


def test_phase_2_with_a_single_person_can_be_learned_for() -> None:
    plan, counts, _ = first_phase("corr-rr", (2, 2), people=100)
    assert learn(plan, counts, phase2_users=1).copy_probability is not None
    assert learn(plan, counts, phase2_users=1, rule="published").copy_probability is not None


@given(st.lists(st.floats(0, 1), min_size=2, max_size=50).filter(lambda w: sum(w) > 1e-3))
def test_rounded_distributions_sum_to_exactly_one(weights: list[float]) -> None:
    rounded = nearest_distribution(np.array(weights))
    assert sum(Fraction(share) for share in rounded) == 1
    assert all((share * PROBABILITY_UNIT).is_integer() for share in rounded)
    assert rounded == pytest.approx(np.array(weights) / sum(weights), abs=1e-9)


def test_rounded_probabilities_keep_the_ends() -> None:
    assert nearest_probability(0.0) == 0
    assert nearest_probability(1.0) == 1
    assert nearest_probability(0.1) == pytest.approx(0.1, abs=2.0**-33)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=12))
def test_the_projection_is_the_nearest_distribution(values: list[float]) -> None:
    point = np.array(values)
    projected = project_to_simplex(point)
    assert projected.min() >= 0
    assert projected.sum() == pytest.approx(1, abs=1e-9)
    # Optimality: no move of mass from one label to another comes nearer (first-order condition).
    slack = point - projected
    assert all(slack[own] >= slack.max() - 1e-9 for own in range(len(values)) if projected[own] > 0)
