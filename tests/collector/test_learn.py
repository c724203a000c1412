"""What a next plan is learned from: fills, groups and several pivots, and what the estimates say of them."""

from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privtally.collector import learn as tables
from privtally.collector.copies import copy_probabilities, proposition, published
from privtally.collector.estimate import estimate, unbiased
from privtally.collector.inverse import project_to_simplex
from privtally.collector.learn import fit_pairs, learn
from privtally.collector.pairs import estimate_pairs
from privtally.collector.tally import count, nothing
from privtally.documents.campaign import Campaign, History, Phase
from privtally.documents.plan import Plan, load_plan
from privtally.errors import CountsError, EstimateError, LearningError, PlanError
from privtally.exact.rational import PROBABILITY_UNIT, nearest_distribution, nearest_probability
from privtally.mechanisms.channels import randomized_response
from privtally.mechanisms.fills import CopyFill, RowFill, TableFill, UniformFill
from privtally.mechanisms.named import NAMED
from privtally.names import RULES, MechanismName, Method, Rule
from privtally.privacy.loss import certify, dump_certificate
from privtally.privacy.verify import verify
from tests.collector.made_up import assert_covering, campaign, cell_gaps, gaps_of, made_up_law, marginals_of, simulated
from tests.support import expected_counts, first_plan

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
    assert (following.name, following.epsilon, following.answers) == (mechanism, first.epsilon, first.answers)
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
        codes = np.array([[0, 2], [2, 0]] if mechanism == "smp" else [[0] * single.mechanism.width], dtype=np.uint8)
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


def test_a_label_that_never_occurs_has_the_marginal_row() -> None:
    plan = first_plan((2, 2), 6.0, "cond-rr")
    counts = expected_counts(plan, np.array([[0.0, 0.0], [0.25, 0.75]]), 1e9)
    (part,) = learn([(plan, counts)]).parts
    assert isinstance(part.fill, TableFill)
    (table,) = (table for table in part.fill.tables if table.other == 1)
    assert np.array(table.rows) == pytest.approx(np.array([[0.25, 0.75]] * 2), abs=1e-3)


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


@pytest.mark.parametrize("scale", [2.0**53, 1e20])
def test_the_nearest_distribution_to_very_noisy_values(scale: float) -> None:
    assert project_to_simplex(np.array([-1.0, 3.0, 2.0]) * scale).tolist() == [0, 1, 0]
    assert project_to_simplex(np.array([3.0, 3.0, 2.0]) * scale).tolist() == [0.5, 0.5, 0]


SIZES = (3, 2, 3, 2, 4)
GROUPS = [["q2", "q0"], ["q4"], ["q1", "q3"]]
PLACES = ((2, 0), (4,), (1, 3))


@cache
def population_of_groups() -> np.ndarray:
    """Answers that go together, of which some are rare."""
    return np.random.default_rng(8).dirichlet(np.full(int(np.prod(SIZES)), 0.3)).reshape(SIZES)


def phase(plan: Plan, people: int, seed: int) -> History:
    return [(plan, simulated(plan, population_of_groups(), people, np.random.default_rng(seed)))]


@cache
def started(mechanism: MechanismName) -> History:
    return phase(first_plan(SIZES, 6.0, mechanism, groups=GROUPS), 4_000, 1)


@pytest.mark.parametrize(("mechanism", "kind"), [("rs-rfd", RowFill), ("corr-rr", CopyFill), ("cond-rr", TableFill)])
def test_the_next_plan_has_a_part_for_each_group(mechanism: MechanismName, kind: type) -> None:
    plan = learn(started(mechanism))
    assert plan.groups == PLACES == tuple(part.attributes for part in plan.parts)
    assert [type(part.fill) for part in plan.parts] == [kind, type(None), kind]
    assert float(plan.mechanism.ratio) == pytest.approx(np.exp(6.0))
    assert learn([*started(mechanism), *phase(plan, 4_000, 2)]).groups == PLACES


def rows_of(plan: Plan) -> dict[tuple[int, ...], Any]:
    """The rows of every fill, by the attributes that they are given and of."""
    rows: dict[tuple[int, ...], Any] = {}
    for part in plan.parts:
        if isinstance(part.fill, RowFill):
            rows |= {(attribute,): row for attribute, row in zip(part.attributes, part.fill.rows, strict=True)}
        if isinstance(part.fill, TableFill):
            for table in part.fill.tables:
                rows[part.attributes[table.pivots[0]], part.attributes[table.other]] = table.rows
    return rows


@pytest.mark.parametrize(("mechanism", "fills"), [("rs-rfd", 4), ("cond-rr", 4)])
def test_fills_are_those_of_the_group_s_own_attributes(mechanism: MechanismName, fills: int) -> None:
    """The same reports to a plan without groups teach the same: the first phases of both are SPL."""
    whole = rows_of(learn(phase(first_plan(SIZES, 6.0, mechanism), 4_000, 1)))
    found = rows_of(learn(started(mechanism)))
    assert len(found) == fills
    for attributes, rows in found.items():
        assert np.array(rows) == pytest.approx(np.array(whole[attributes]), abs=1e-6)


@pytest.mark.parametrize("rule", ["proposition", "published"])
def test_the_paper_s_rules_look_at_one_group_with_its_budget(rule: Rule) -> None:
    history = started("corr-rr")
    frequencies = unbiased(history, []).frequencies
    for part in learn(history, rule=rule, people=9_000).parts:
        if isinstance(part.fill, CopyFill):
            own = [frequencies[place] for place in part.attributes]
            assert part.fill.probability == copy_probabilities(own, 2.0, 9_000, rule)


FOUR = (3, 3, 3, 3)
LEARNING: tuple[MechanismName, ...] = ("rs-rfd", "corr-rr", "cond-rr")


@cache
def phase1(mechanism: MechanismName, epsilon: float) -> Phase:
    answers = np.random.default_rng(3).dirichlet(np.full(81, 0.5)).reshape(FOUR)
    plan = first_plan(FOUR, epsilon, mechanism)
    return plan, simulated(plan, answers, 3_000, np.random.default_rng(1))


@pytest.mark.parametrize(("epsilon", "groups"), [(1.0, ((0, 1, 2, 3),)), (6.0, ((0, 1), (2, 3)))])
@pytest.mark.parametrize("mechanism", LEARNING)
def test_the_choice_is_a_plan_of_the_campaign(
    mechanism: MechanismName, epsilon: float, groups: tuple[tuple[int, ...], ...]
) -> None:
    """What the choice depends on is known before anybody has answered."""
    first, counts = phase1(mechanism, epsilon)
    plan = learn([(first, counts)], groups="auto")
    assert tuple(part.attributes for part in plan.parts) == groups
    assert plan.groups == (groups if len(groups) > 1 else None)
    assert float(plan.mechanism.ratio) == pytest.approx(np.exp(epsilon))
    verify(plan.dump(), dump_certificate(certify(plan)))
    assert len(Campaign.draft(first).open().close().follow(plan).plans) == 2
    again = (plan, simulated(plan, np.full(FOUR, 1 / 81), 500, np.random.default_rng(2)))
    assert len(estimate([(first, counts), again]).provenance.phases) == 2


def test_groups_may_be_named_anew() -> None:
    history = [phase1("corr-rr", 4.0)]
    plan = learn(history, groups=[["q3", "q0"], ["q1", "q2"]])
    assert plan.groups == ((3, 0), (1, 2))
    assert learn(history).groups is None
    with pytest.raises(PlanError, match="'q1'"):
        learn(history, groups=[["q3", "q0"], ["q2"]])
    unequal = first_plan((2, 3, 2, 3), 4.0, "corr-rr", groups=[["q0", "q2"], ["q1", "q3"]])
    counts = simulated(unequal, np.full((2, 3, 2, 3), 1 / 36), 500, np.random.default_rng(2))
    crossed = learn([(unequal, counts)], groups=[["q0", "q1"], ["q2", "q3"]])
    assert [part.fill for part in crossed.parts] == [UniformFill(), UniformFill()]


JOINT_SIZES = (2, 3, 2)


@cache
def pairwise_population(strength: float = 1.0) -> np.ndarray:
    """Answers of which every two go together, and no three beyond that."""
    made_up = np.random.default_rng(2)
    logs = np.zeros(JOINT_SIZES)
    for axis in range(3):
        shape = [size if place != axis else 1 for place, size in enumerate(JOINT_SIZES)]
        logs = logs + strength * made_up.normal(size=shape)
    chances: np.ndarray = np.exp(logs) / np.exp(logs).sum()
    return chances


def history(answers: np.ndarray, epsilon: float, people: int, seed: int = 1) -> History:
    plan = first_plan(answers.shape, epsilon, "cond-rr")
    return [(plan, simulated(plan, answers, people, np.random.default_rng(seed)))]


def test_tables_are_those_of_the_population() -> None:
    """Where no three answers go together beyond their pairs; the pivots' codes count in lexicographic order."""
    answers = pairwise_population()
    plan = first_plan(JOINT_SIZES, 6.0, "cond-rr")
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
    pairs |= {(two, one): table.T for (one, two), table in pairs.items()}
    joint = fit_pairs((0, 2, 3, 1), pairs, marginals_of(answers))
    assert joint.sum(axis=(2, 3)) == pytest.approx(pairs[0, 2], abs=1e-6)
    assert joint.sum(axis=(0, 1)) == pytest.approx(pairs[1, 3].T, abs=1e-6)


def test_noise_supports_one_pivot_with_the_whole_budget() -> None:
    """Independent answers, few people, a small budget: the plan says what was wanted."""
    plan = learn(history(np.full(JOINT_SIZES, 1 / 12), 0.5, 200), pivots=2)
    assert [part.pivots for part in plan.parts] == [1]
    assert plan.learned is not None
    assert plan.learned.pivots == 2
    assert float(plan.mechanism.parts[0].asked[0].ratio) == pytest.approx(np.exp(0.5))
    many = learn(history(pairwise_population(), 6.0, 50_000), pivots=2)
    assert [part.pivots for part in many.parts] == [2]
    assert float(many.mechanism.parts[0].asked[0].ratio) == pytest.approx(np.exp(3.0))


def test_only_attributes_that_go_together_gain() -> None:
    """Given noise alone the gain is negative on average over 200 runs."""
    noise = [
        tables.gain_of(
            history(np.full(JOINT_SIZES, 1 / 12), 2.0, 300, seed),
            (0, 1),
            (np.full(2, 0.5), np.full(3, 1 / 3)),
        )
        for seed in range(200)
    ]
    assert np.mean(noise) < 0
    answers = pairwise_population()
    first, second, _ = marginals_of(answers)
    assert tables.gain_of(history(answers, 8.0, 20_000), (0, 1), (first, second)) > 0


def test_a_group_of_as_many_attributes_as_pivots_is_asked_whole() -> None:
    found = history(made_up_law((2, 3, 2, 2), seed=3), 8.0, 100_000)
    plan = learn(found, groups=[["q0", "q1"], ["q2"], ["q3"]], pivots=2)
    assert [(part.pivots, part.fill) for part in plan.parts] == [(2, None), (1, None), (1, None)]
    assert float(plan.mechanism.ratio) == pytest.approx(np.exp(8.0))


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
    with pytest.raises(PlanError, match="3 questions a report"):
        learn(found, groups=[["q0", "q1"], ["q2"]], pivots=3)
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
    first = first_plan(JOINT_SIZES, 6.0, "cond-rr")
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
        alone += gaps_of(estimate(found, method), answers)
        for table in estimate_pairs(found, method).tables[:2]:
            pairs += cell_gaps(table, answers)
    assert_covering(alone)
    assert_covering(pairs)
