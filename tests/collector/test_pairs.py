"""Tables of two attributes are unbiased, their variances are those of repeated campaigns, and fits are proper."""

from functools import cache
from itertools import combinations

import msgspec
import numpy as np
import pytest

from privtally.collector import pairs
from privtally.collector.estimate import estimate, one_way
from privtally.collector.pairs import (
    Carried,
    PairEstimates,
    carried,
    carries,
    consistent_table,
    dependence,
    estimate_pair,
    estimate_pairs,
    fitted,
    interior_table,
    shrunk,
)
from privtally.collector.tally import count, nothing
from privtally.collector.together import JointTable
from privtally.documents.campaign import Phase
from privtally.documents.plan import Plan
from privtally.errors import EstimateError
from privtally.mechanisms.fills import UniformFill
from privtally.names import MechanismName, Method
from tests.collector.made_up import (
    assert_covering,
    campaign,
    cell_gaps,
    copies,
    copying_groups,
    made_up_law,
    plans_of_every_kind,
    simulated,
    two_groups,
    two_pivots,
)
from tests.support import EXTENDED_PLANS, counts_of, expected_counts, first_plan, part_of, plan_of, plan_with

CARRYING: dict[str, tuple[Plan, list[tuple[int, int]]]] = {
    "spl": (first_plan((2, 3, 2), 4.0), [(0, 1), (2, 1)]),
    "two silent pivots": (two_pivots(None, (2, 3, 2), 6.0), [(0, 1), (2, 1)]),
    "two silent groups": (two_groups(None, None, (2, 3, 2, 2), 6.0), [(0, 1), (3, 2)]),
    "many labels": (plan_with(*EXTENDED_PLANS["large, each alone"], 6.0), [(0, 1), (1, 0)]),
}


def truth_of(answers: np.ndarray, one: int, two: int) -> np.ndarray:
    joint: np.ndarray = answers.sum(axis=tuple(axis for axis in range(answers.ndim) if axis not in (one, two)))
    return joint if one < two else joint.T


def table_of(phase: Phase, one: int = 0, two: int = 1) -> Carried:
    table = carried(phase, one, two)
    assert table is not None
    return table


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
        exact = table_of((plan, expected_counts(plan, answers, 1e13)), one, two)
        np.testing.assert_allclose(exact.frequencies, truth, atol=1e-9)
        tables = [table_of((plan, counts), one, two) for counts in runs]
        found = np.array([table.frequencies for table in tables])
        stated = np.mean([table.covariance.diagonal().reshape(truth.shape) for table in tables], axis=0)
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
    shares = {"spl": 1, "many labels": 1, "two silent pivots": 1 / 3, "two silent groups": 1 / 4}
    for one, two in pairs:
        assert table_of((plan, counts), one, two).reports == pytest.approx(5_000 * shares[kind], rel=0.1)


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
    assert interior_table([(plan, counts)], 0, 1) is None


def test_phases_are_weighted_by_their_precision() -> None:
    history = campaign("cond-rr", 2)
    alone = interior_table(history[:1], 0, 1)
    both = interior_table(history, 0, 1)
    twice = interior_table([history[0], history[0]], 0, 1)
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


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_the_noise_of_dependence_is_what_independent_answers_show(epsilon: float) -> None:
    """Over 200 runs, within 25 %: a mean of sums of four squares is known to 5 %. All variances would be too much."""
    plan = first_plan((2, 5), epsilon)
    law = np.outer([0.3, 0.7], [0.1, 0.2, 0.3, 0.2, 0.2])
    generator = np.random.default_rng(1)
    seen, stated, all_variances = 0.0, 0.0, 0.0
    for _ in range(200):
        history = [(plan, simulated(plan, law, 500, generator))]
        inside = interior_table(history, 0, 1)
        assert inside is not None
        seen += float(np.sum(dependence(inside, *one_way(history, "unbiased").frequencies) ** 2))
        stated += float(inside.variances.sum())
        all_variances += float(table_of(history[0]).covariance.trace())
    assert seen == pytest.approx(stated, rel=0.25)
    if epsilon > 1:
        assert all_variances > 1.5 * seen


def test_noise_alone_leaves_independence_and_certainty_leaves_the_table() -> None:
    first, second = np.array([0.4, 0.6]), np.array([0.3, 0.7])
    independent, beyond = np.outer(first, second), 0.1 * np.array([[1, -1], [-1, 1]])
    inside = independent + beyond - first[:, None] / 2 - second / 2 + 1 / 4
    for noise, kept in ((0.0, 1.0), (0.01, 0.75), (0.04, 0.0), (9.0, 0.0)):
        table = JointTable(inside, np.full((2, 2), noise / 4), 1)
        assert dependence(table, first, second) == pytest.approx(beyond)
        assert shrunk(table, first, second) == pytest.approx(independent + kept * beyond)


def test_a_pair_that_nobody_reported_is_not_known_to_be_empty() -> None:
    """At a large budget nothing but the people in a cell makes its error: that of a single person is the least."""
    plan = first_plan((2, 3), 16.0)
    tensor = np.array([[20, 10, 0], [30, 20, 20]])
    table = table_of((plan, counts_of(plan, tensor)))
    assert np.sqrt(table.covariance[2, 2]) > 0.9 / tensor.sum()


def test_a_channel_with_very_many_labels_is_not_undone() -> None:
    """Its matrix would have 700 MB."""
    plan = first_plan((2, 9_000), 2.0)
    counts = count(plan, np.zeros((5, 2), dtype=np.uint16))
    assert counts.pair_tables
    assert carried((plan, counts), 0, 1) is None


TRUTH = np.array([[0.3, 0.1, 0.0], [0.05, 0.15, 0.4]])


def asked(people: int, epsilon: float, seed: int) -> Phase:
    plan = first_plan((2, 3, 2), epsilon)
    return plan, simulated(plan, TRUTH[:, :, None] * [0.5, 0.5], people, np.random.default_rng(seed))


def test_the_other_way_round_is_the_transpose() -> None:
    phase = asked(5_000, 3.0, 2)
    one, two = estimate_pair([phase], "q0", "q1"), estimate_pair([phase], "q1", "q0")
    assert np.array(one.frequencies) == pytest.approx(np.array(two.frequencies).T)
    assert np.array(one.standard_errors) == pytest.approx(np.array(two.standard_errors).T)
    assert (one.attributes, one.labels) == (two.attributes[::-1], two.labels[::-1])


def test_a_csv_has_a_line_for_each_two_labels() -> None:
    lines = estimate_pair([asked(500, 3.0, 2)], "q1", "q0").to_csv().decode().splitlines()
    assert lines[0].split(",")[:2] == ["q1", "q0"]
    assert [line.split(",")[:2] for line in lines[1:3]] == [["a0", "a0"], ["a0", "a1"]]
    assert len(lines) == 7


def test_what_carries_nothing_says_so() -> None:
    plan = plan_of("corr-rr", (2, 2))
    with pytest.raises(EstimateError, match="'q0' and 'q1'"):
        estimate_pair([(plan, count(plan, np.zeros((5, 2), dtype=np.uint8)))], "q0", "q1")
    phase = asked(50, 1.0, 1)
    with pytest.raises(EstimateError, match="'x'"):
        estimate_pair([phase], "q0", "x")
    with pytest.raises(EstimateError, match="'q0'"):
        estimate_pair([phase], "q0", "q0")
    with pytest.raises(EstimateError, match="phase 1"):
        estimate_pair([(phase[0], nothing(phase[0]))], "q0", "q1")
    wide = first_plan((3_000, 3_000))
    many = np.random.default_rng(1).integers(0, 3_000, (9, 2)).astype(np.uint16)
    with pytest.raises(EstimateError, match="'q0' and 'q1'"):
        estimate_pair([(wide, count(wide, many))], "q0", "q1")


@pytest.mark.parametrize("mechanism", ["rs-rfd", "corr-rr", "cond-rr"])
def test_a_campaign_of_any_length_may_be_given_whole(mechanism: MechanismName) -> None:
    """Only the first phase carries both answers; the others make the margins more exact."""
    history = campaign(mechanism, 3)
    alone = estimate_pair(history[:1], "q0", "q1")
    assert alone.reports == history[0][1].reports
    for phases in (2, 3):
        more = estimate_pair(history[:phases][::-1], "q0", "q1")
        assert more.reports == alone.reports
        assert np.square(more.standard_errors).mean() < np.square(alone.standard_errors).mean()
    with pytest.raises(EstimateError):
        estimate_pair(history[1:], "q0", "q1")


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_table_with_a_number_that_is_not_finite_is_refused(number: float) -> None:
    found = estimate_pair([asked(100, 2.0, 1)], "q0", "q1")
    for name in ("frequencies", "standard_errors"):
        with pytest.raises(EstimateError, match="finite"):
            msgspec.structs.replace(found, **{name: ((number, 0.0, 0.0), (0.0, 0.0, 0.0))})


SIZES = (3, 2, 3, 2)
PEOPLE, RUNS = 3_000, 200
KINDS: dict[str, Plan] = {
    "spl": first_plan(SIZES, 8.0),
    "two pivots": first_plan(SIZES, 4.0, "smp", pivots=2),
    "groups": first_plan(SIZES, 4.0, "smp", groups=[["q0", "q1"], ["q2", "q3"]]),
    "two hidden pivots": plan_with((part_of((0, 1, 2, 3), 2, UniformFill()),), SIZES, 6.0),
}


def population() -> np.ndarray:
    return made_up_law(SIZES, seed=19)


@cache
def runs(kind: str) -> list[Phase]:
    plan, generator = KINDS[kind], np.random.default_rng(len(kind))
    return [(plan, simulated(plan, population(), PEOPLE, generator)) for _ in range(RUNS)]


def margins_off(found: PairEstimates, history: list[Phase], method: Method) -> float:
    """How far the margins of all tables are from the frequencies of each attribute alone."""
    alone = {name: np.array(own.frequencies) for name, own in estimate(history, method).attributes.items()}
    gaps = []
    for table in found.tables:
        cells = np.array(table.frequencies)
        gaps += [np.abs(cells.sum(axis=1 - axis) - alone[name]).max() for axis, name in enumerate(table.attributes)]
    return float(max(gaps))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["unbiased", "likelihood"])
def test_margins_are_the_one_way_estimates(kind: str, method: Method) -> None:
    """Those of the other method are further away."""
    history = runs(kind)[:1]
    found = estimate_pairs(history, method)
    assert len(found.tables) + len(found.missing) == 6
    assert margins_off(found, history, method) < 1e-8
    assert margins_off(found, history, "likelihood" if method == "unbiased" else "unbiased") > 1e-4
    if method == "likelihood":
        assert min(np.array(table.frequencies).min() for table in found.tables) >= 0


def test_large_tables_have_the_same_margins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "MOST_JOINT_CELLS", 0)
    history = runs("spl")[:1]
    assert margins_off(estimate_pairs(history, "unbiased"), history, "unbiased") < 1e-8


def scores(kind: str, method: Method, count: int) -> list[float]:
    """Errors of the tables of q0 and q2 in standard errors."""
    tables = (estimate_pair([phase], "q0", "q2", method) for phase in runs(kind)[:count])
    return [gap for table in tables for gap in cell_gaps(table, population())]


@pytest.mark.parametrize("kind", ["spl", "two pivots"])
def test_pooled_tables_cover(kind: str) -> None:
    """All 9 cells in 60 runs, at fixed seeds; intervals half as wide do not."""
    assert_covering(scores(kind, "likelihood", 60))


def test_bounds_for_large_tables_hold_and_are_near(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = estimate_pair(runs("spl")[:1], "q0", "q2", "unbiased")
    monkeypatch.setattr(pairs, "MOST_JOINT_CELLS", 0)
    assert np.mean(np.array(scores("spl", "unbiased", 200)) < 1.96) >= 0.93
    bound = estimate_pair(runs("spl")[:1], "q0", "q2", "unbiased")
    ratio = np.array(bound.standard_errors) / np.array(exact.standard_errors)
    assert ratio.max() < 2


def test_other_reports_make_a_table_more_exact() -> None:
    """With two pivots a third of the reports that answer an attribute carry the pair; its margins rest on all."""
    history = runs("two pivots")[:1]
    alone = carried(history[0], 0, 2)
    found = consistent_table(history, 0, 2, one_way(history, "unbiased"))
    assert alone is not None
    assert found is not None
    assert (found.variances.ravel() < alone.covariance.diagonal()).all()


def test_the_paper_has_no_two_way_tables() -> None:
    with pytest.raises(EstimateError, match="unbiased"):
        estimate_pair(runs("spl")[:1], "q0", "q2", "paper")
    with pytest.raises(EstimateError, match="unbiased"):
        estimate_pairs(runs("spl")[:1], "paper")


def test_every_pair_alone_is_that_of_all() -> None:
    history = runs("two pivots")[:1]
    every = estimate_pairs(history, "unbiased")
    for table, (one, two) in zip(every.tables, combinations(range(4), 2), strict=True):
        assert table == estimate_pair(history, f"q{one}", f"q{two}", "unbiased")
