"""Several pivots, hidden or open: frequencies and two-way tables from whole reports."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest

from privtally.collector.estimate import estimate, unbiased
from privtally.collector.inverse import Terms, check_readable, terms_of
from privtally.collector.pairs import estimate_pair, estimate_pairs
from privtally.documents.campaign import Phase
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.errors import EstimateError
from privtally.mechanisms.fills import AnyFill, UniformFill
from privtally.names import Method
from tests.collector.made_up import assert_covering, cell_gaps, gaps_of, made_up_law, marginals_of, simulated
from tests.support import EXTENDED_PLANS, expected_counts, first_plan, part_of, plan_of, plan_with, table_fill

SIZES = (2, 3, 2, 2)
POPULATION = made_up_law(SIZES, seed=4)
RUNS, PEOPLE = 60, 3_000


def plan_for(pivots: int, fill: AnyFill | None = None) -> Plan:
    fill = fill or table_fill(SIZES, pivots, np.random.default_rng(pivots))
    return plan_with((part_of((0, 1, 2, 3), pivots, fill),), SIZES, 6.0)


def terms_in(plan: Plan, counts: Counts) -> Terms:
    (part,) = plan.mechanism.parts
    subs = counts.parts[part.attributes]
    assert subs is not None
    return terms_of(part, subs)


def margin(answers: np.ndarray, places: tuple[int, ...]) -> np.ndarray:
    found: np.ndarray = answers.sum(axis=tuple(axis for axis in range(answers.ndim) if axis not in places))
    return found


@pytest.mark.parametrize("pivots", [2, 3])
@pytest.mark.parametrize("kind", ["table", "uniform"])
def test_expected_reports_give_the_true_tables(pivots: int, kind: str) -> None:
    """All tables of at most m attributes, up to the rounding of counts; those of another population are far away."""
    plan = plan_for(pivots, UniformFill() if kind == "uniform" else None)
    found = terms_in(plan, expected_counts(plan, POPULATION, 1e13))
    for size in range(1, pivots + 1):
        for places in combinations(range(4), size):
            assert found.frequencies(places) == pytest.approx(margin(POPULATION, places), abs=1e-9)
    assert all(map(found.known, range(4)))
    assert np.abs(found.frequencies((0, 1)) - margin(made_up_law(SIZES, seed=5), (0, 1))).max() > 0.01


def test_a_group_is_read_by_the_places_of_its_attributes() -> None:
    plan = plan_with(*EXTENDED_PLANS["two pivots in a group, table"], epsilon=6.0)
    answers = made_up_law((2, 3, 3, 2), seed=6)
    history = [(plan, expected_counts(plan, answers, 1e13))]
    for found, truth in zip(unbiased(history, []).frequencies, marginals_of(answers), strict=True):
        assert found == pytest.approx(truth, abs=1e-9)
    table = estimate_pair(history, "q0", "q2", "unbiased")
    assert np.array(table.frequencies) == pytest.approx(margin(answers, (0, 2)), abs=1e-9)
    assert estimate_pairs(history).missing == (("q0", "q1"), ("q1", "q2"), ("q1", "q3"))


@cache
def runs(pivots: int) -> list[Phase]:
    plan, generator = plan_for(pivots), np.random.default_rng(pivots)
    return [(plan, simulated(plan, POPULATION, PEOPLE, generator)) for _ in range(RUNS)]


@pytest.mark.parametrize("method", ["unbiased", "likelihood"])
def test_estimates_cover(method: Method) -> None:
    """All frequencies, and the cells of a table, in 60 runs at fixed seeds; intervals half as wide do not."""
    alone, pairs = [], []
    for phase in runs(2)[:60]:
        alone += gaps_of(estimate([phase], method), POPULATION)
        pairs += cell_gaps(estimate_pair([phase], "q0", "q1", method), POPULATION)
    assert_covering(alone)
    assert_covering(pairs)


def test_what_is_too_large_to_read_is_refused() -> None:
    check_readable((4,) * 6, 3)
    for sizes in ((4,) * 10, (2,) * 60, (100, 100, 100)):
        with pytest.raises(EstimateError, match="too many different reports"):
            check_readable(sizes, 2)


def test_reports_that_were_not_kept_whole_are_refused() -> None:
    plan = plan_for(2)
    counts = simulated(plan, POPULATION, 500, np.random.default_rng(1), limit=3)
    with pytest.raises(EstimateError, match="different reports"):
        estimate([(plan, counts)], "unbiased")
    even = plan_for(2, UniformFill())
    with pytest.raises(EstimateError, match="together"):
        estimate_pairs([(even, simulated(even, POPULATION, 500, np.random.default_rng(1), limit=3))])


OPEN_SIZES = (3, 2, 3, 2)
OPEN_RUNS, OPEN_PEOPLE = 100, 3_000


@cache
def population() -> np.ndarray:
    return np.random.default_rng(9).dirichlet(np.full(int(np.prod(OPEN_SIZES)), 0.5)).reshape(OPEN_SIZES)


@cache
def open_runs(pivots: int) -> list[Phase]:
    plan, generator = first_plan(OPEN_SIZES, 4.0, "smp", pivots=pivots), np.random.default_rng(pivots)
    return [(plan, simulated(plan, population(), OPEN_PEOPLE, generator)) for _ in range(OPEN_RUNS)]


@pytest.mark.parametrize("pivots", [2, 3])
def test_pooled_intervals_cover(pivots: int) -> None:
    """All 10 frequencies in 100 runs, at fixed seeds: at least 93 %; intervals half as wide do not."""
    estimates = (estimate([phase], "likelihood") for phase in open_runs(pivots)[:100])
    assert_covering([gap for found in estimates for gap in gaps_of(found, population())])


def test_the_reports_of_a_pair_are_those_that_answer_both() -> None:
    plan, counts = open_runs(2)[0]
    every = estimate_pairs([(plan, counts)])
    assert [table.attributes for table in every.tables] == [(f"q{a}", f"q{b}") for a, b in combinations(range(4), 2)]
    assert every.missing == ()
    assert sum(table.reports for table in every.tables) == OPEN_PEOPLE
    assert every.tables[1] == estimate_pair([(plan, counts)], "q0", "q2")
    lines = every.to_csv().decode().splitlines()
    assert len(lines) == 1 + sum(len(table.labels[0]) * len(table.labels[1]) for table in every.tables)
    assert lines[1].split(",")[:4] == ["q0", "q1", "a0", "a0"]


def test_pairs_within_a_group_are_missing() -> None:
    plan = first_plan(OPEN_SIZES, 4.0, "smp", groups=[["q0", "q1"], ["q2", "q3"]])
    found = estimate_pairs([(plan, simulated(plan, population(), OPEN_PEOPLE, np.random.default_rng(1)))])
    assert found.missing == (("q0", "q1"), ("q2", "q3"))
    assert [table.attributes for table in found.tables] == [("q0", "q2"), ("q0", "q3"), ("q1", "q2"), ("q1", "q3")]
    for mechanism in ("smp", "rs-fd"):
        alone = plan_of(mechanism, OPEN_SIZES)
        with pytest.raises(EstimateError, match="together"):
            estimate_pairs([(alone, simulated(alone, population(), 100, np.random.default_rng(1)))])


def test_a_table_whose_errors_are_as_large_as_its_entries_says_so() -> None:
    for epsilon, noisy in ((0.5, True), (8.0, False)):
        plan = first_plan(OPEN_SIZES, epsilon, "smp", pivots=2)
        counts = simulated(plan, population(), OPEN_PEOPLE, np.random.default_rng(2))
        assert estimate_pair([(plan, counts)], "q0", "q2").noisy is noisy
