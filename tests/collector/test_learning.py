from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privtally.collector.estimate import Phase
from privtally.collector.learn import learn
from privtally.collector.learn.rules import proposition, published
from privtally.collector.simplex import project_to_simplex
from privtally.collector.tally import count, nothing
from privtally.documents.plan import Plan, design, load_plan
from privtally.errors import CountsError, EstimateError, LearningError, PlanError
from privtally.exact.probability import PROBABILITY_UNIT, nearest_distribution, nearest_probability
from privtally.lab.seed import seeded
from privtally.mechanisms import NAMED
from privtally.mechanisms.channel import randomized_response
from privtally.mechanisms.fills import CopyFill, RowFill, TableFill, UniformFill
from privtally.names import RULES, MechanismName, Rule
from privtally.schema import Schema
from tests.collector.made_up import campaign, marginals_of, simulated
from tests.support import first_plan

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


def population(sizes: tuple[int, ...]) -> np.ndarray:
    """Records in which every further attribute follows the first one seven times in ten."""
    first = np.random.default_rng(8).dirichlet(np.full(sizes[0], 5.0))
    law = np.zeros(sizes)
    for record in np.ndindex(sizes):
        law[record] = first[record[0]] * np.prod(
            [0.7 * (code == record[0] % size) + 0.3 / size for code, size in zip(record[1:], sizes[1:], strict=True)]
        )
    return law


def first_phase(mechanism: MechanismName, sizes: tuple[int, ...], people: int = 40_000) -> Phase:
    plan = first_plan(sizes, 6.0, mechanism)
    return plan, simulated(plan, population(sizes), people, np.random.default_rng(8))


def copy_probability(plan: Plan) -> np.ndarray:
    (part,) = plan.parts
    assert isinstance(part.fill, CopyFill)
    return np.array(part.fill.probability)


@pytest.mark.parametrize("rule", RULES)
def test_copy_probabilities_for_every_ordered_pair(rule: Rule) -> None:
    plan, counts = first_phase("corr-rr", (3, 3, 3))
    second = learn([(plan, counts)], rule=rule)
    assert copy_probability(second).shape == (3, 3)
    assert second.learned is not None
    assert (second.learned.rule, second.learned.people) == (rule, 360_000)


def test_the_paper_rules_choose_what_their_formulas_say() -> None:
    """The frequencies are those that the first phase gives; copy_probability[pivot][other]."""
    plan, counts = first_phase("corr-rr", (3, 3), people=10**9)
    frequencies = marginals_of(population((3, 3)))
    scale = float(randomized_response(Fraction(6), 3).scale)
    for rule, formula in (("proposition", proposition), ("published", published)):
        found = copy_probability(learn([(plan, counts)], rule=rule, people=5_000))  # type: ignore[arg-type]
        assert found[0, 1] == pytest.approx(float(formula(frequencies[0], frequencies[1], scale, 5_000)), abs=0.01)
        assert found[1, 0] == pytest.approx(float(formula(frequencies[1], frequencies[0], scale, 5_000)), abs=0.01)


def test_rows_are_the_frequencies_so_far_clipped_and_normalised() -> None:
    second = learn([first_phase("rs-rfd", (2, 3, 5))])
    (part,) = second.parts
    assert isinstance(part.fill, RowFill)
    for row, true in zip(part.fill.rows, marginals_of(population((2, 3, 5))), strict=True):
        assert sum(Fraction(share) for share in row) == 1
        assert row == pytest.approx(true, abs=0.05)


def test_conditional_tables_come_close_to_the_true_ones() -> None:
    sizes = (2, 3, 4)
    second, law = learn([first_phase("cond-rr", sizes)]), population(sizes)
    (part,) = second.parts
    assert isinstance(part.fill, TableFill)
    for table in part.fill.tables:
        (pivot,) = table.pivots
        (rest,) = set(range(3)) - {pivot, table.other}
        joint = law.sum(axis=rest)
        joint = joint if pivot < table.other else joint.T
        for row, true in zip(table.rows, joint / joint.sum(axis=1, keepdims=True), strict=True):
            assert row == pytest.approx(true, abs=0.08)
    assert second.learned is not None
    assert second.learned.rule is None


@pytest.mark.parametrize("mechanism", [name for name, named in NAMED.items() if named.learns])
@pytest.mark.parametrize("phases", [1, 2, 3])
def test_a_plan_is_learned_from_all_phases_before_it(mechanism: MechanismName, phases: int) -> None:
    history = campaign(mechanism, phases)
    first = history[0][0]
    following = learn(history[::-1], people=1_000)
    assert (following.phase, following.campaign, following.campaign_id) == (phases + 1, first.digest, first.digest)
    assert (following.mechanism, following.epsilon, following.answers) == (mechanism, first.epsilon, first.answers)
    assert following.learned is not None
    assert [(source.plan, source.counts, source.reports) for source in following.learned.history] == [
        (plan.digest, counts.digest, counts.reports) for plan, counts in history
    ]
    assert type(following.parts[0].fill) is NAMED[mechanism].learned
    assert load_plan(following.dump()) == following


@pytest.mark.parametrize("mechanism", ["rs-rfd", "corr-rr"])
def test_every_phase_of_the_history_counts(mechanism: MechanismName) -> None:
    """Other counts in any one phase give another fill."""
    history = campaign(mechanism, 2)
    how: Any = {"rule": "published"} if mechanism == "corr-rr" else {}
    fill = learn(history, people=1_000, **how).parts[0].fill
    for changed in range(2):
        plan, counts = history[changed]
        more = counts + count(plan, np.zeros((400, 2), dtype=np.uint8))
        other = [(plan, more) if own == changed else phase for own, phase in enumerate(history)]
        assert learn(other, people=1_000, **how).parts[0].fill != fill


def test_what_cannot_be_learned_is_refused() -> None:
    plan, counts = first_phase("corr-rr", (2, 2), people=100)
    second = learn([(plan, counts)])
    zeros = np.zeros((3, 2), dtype=np.uint8)
    for mechanism in (name for name, named in NAMED.items() if not named.learns):
        single = first_plan((2, 2), 1.0, mechanism)
        codes = np.array([[0, 2], [2, 0]] if mechanism == "smp" else [[0, 0]], dtype=np.uint8)
        with pytest.raises(LearningError, match=mechanism):
            learn([(single, count(single, codes))])
    for nothing_there in ([], [(plan, nothing(plan))], [(plan, counts), (second, nothing(second))]):
        with pytest.raises(LearningError):
            learn(nothing_there)
    with pytest.raises(CountsError, match=plan.digest[:12]):
        learn([(plan, count(second, zeros))])
    with pytest.raises(EstimateError, match="phase 1"):
        learn([(plan, counts), (plan, counts)])
    another = msgspec.structs.replace(plan, nonce="0" * 32)
    with pytest.raises(EstimateError, match="campaign"):
        learn([(another, count(another, zeros)), (second, count(second, zeros))])
    with pytest.raises(PlanError, match="0"):
        learn([(plan, counts)], people=0)
    with pytest.raises(PlanError, match="people"):
        learn([(plan, counts)], people=10**18)
    for people in (900.5, True, np.int64(900), "900"):
        with pytest.raises(PlanError, match="whole number"):
            learn([(plan, counts)], people=people)  # type: ignore[arg-type]
    with pytest.raises(LearningError, match="rule"):
        learn([(plan, counts)], rule="guess")  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", RULES)
def test_a_phase_of_a_single_person_can_be_learned_for(rule: Rule) -> None:
    second = learn([first_phase("corr-rr", (2, 2), people=100)], people=1, rule=rule)
    assert second.learned is not None
    assert second.learned.people == 1


def test_tables_are_refused_where_nothing_keeps_pairs() -> None:
    plan, counts = first_phase("cond-rr", (2, 2), people=100)
    bare = type(counts)(counts.plan, counts.reports, counts.attributes, {}, {})
    with pytest.raises(LearningError):
        learn([(plan, bare)])


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


def test_with_very_many_labels_copies_are_not_weighed() -> None:
    """Matrices over two questions of 40,000 labels would have 51 GB."""
    labels = [str(code) for code in range(40_000)]
    first = design(Schema.of({"one": labels, "two": labels}), 2.0, "corr-rr", source=seeded(1))
    codes = np.arange(40, dtype=np.uint16).reshape(20, 2)
    second = learn([(first, count(first, codes))], people=100)
    assert [part.fill for part in second.parts] == [UniformFill()]


@pytest.mark.parametrize("scale", [2.0**53, 1e20])
def test_the_nearest_distribution_to_very_noisy_values(scale: float) -> None:
    assert project_to_simplex(np.array([-1.0, 3.0, 2.0]) * scale).tolist() == [0, 1, 0]
    assert project_to_simplex(np.array([3.0, 3.0, 2.0]) * scale).tolist() == [0.5, 0.5, 0]
