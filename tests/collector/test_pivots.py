"""Several silent pivots: frequencies and two-way tables with true standard errors, and what they are worth."""

from functools import cache
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from scipy import stats

from privtally.collector.estimate import Phase, estimate
from privtally.collector.joint import joint_table
from privtally.collector.pairs import estimate_pair, estimate_pairs
from privtally.documents.plan import Plan
from privtally.errors import EstimateError
from tests.collector.made_up import simulated
from tests.scale import scaled
from tests.support import counts_of, first_plan, plan_of

SIZES = (3, 2, 3, 2)
RUNS, PEOPLE = 1_000, 3_000


@cache
def population() -> np.ndarray:
    return np.random.default_rng(9).dirichlet(np.full(int(np.prod(SIZES)), 0.5)).reshape(SIZES)


def plan_with_pivots(pivots: int) -> Plan:
    return first_plan(SIZES, 4.0, "smp", pivots=pivots)


@cache
def runs(pivots: int) -> list[Phase]:
    plan, generator = plan_with_pivots(pivots), np.random.default_rng(pivots)
    return [(plan, simulated(plan, population(), PEOPLE, generator)) for _ in range(RUNS)]


def covers(scores: np.ndarray) -> None:
    """95 % intervals cover 94 to 96 % of the time, up to a false alarm in 1e-7; those a quarter too narrow do not."""
    least, most = stats.binom.ppf(5e-8, RUNS, 0.94), stats.binom.isf(5e-8, RUNS, 0.96)
    assert least <= np.sum(np.abs(scores) < 1.96) <= most
    assert np.sum(np.abs(scores) < 1.96 * 0.75) < least


@pytest.mark.parametrize("pivots", scaled([2], [2, 3]))
def test_unbiased_intervals_cover(pivots: int) -> None:
    truth = population().sum(axis=(0, 1, 3))[1]
    found = [estimate([phase], "unbiased").attributes["q2"] for phase in runs(pivots)]
    covers(np.array([(each.frequencies[1] - truth) / each.standard_errors[1] for each in found]))


@pytest.mark.parametrize("pivots", [2, 3])
def test_pooled_intervals_cover(pivots: int) -> None:
    """All 10 frequencies in 100 runs, at fixed seeds: at least 93 %; intervals half as wide do not."""
    inside, narrow = [], []
    for phase in runs(pivots)[:100]:
        for own, each in enumerate(estimate([phase], "likelihood").attributes.values()):
            truth = population().sum(axis=tuple(axis for axis in range(4) if axis != own))
            gap = np.abs(np.array(each.frequencies) - truth) / np.array(each.standard_errors)
            inside += list(gap < 1.96)
            narrow += list(gap < 0.98)
    assert np.mean(inside) >= 0.93
    assert np.mean(narrow) < 0.93


@pytest.mark.parametrize("pivots", [2, 3])
def test_two_way_tables_have_true_standard_errors(pivots: int) -> None:
    truth = population().sum(axis=(1, 3))
    cell = np.unravel_index(np.argmax(truth), truth.shape)
    tables = [joint_table([phase], 0, 2) for phase in runs(pivots)]
    scores = [(each.frequencies[cell] - truth[cell]) / each.variances[cell] ** 0.5 for each in tables if each]
    assert len(scores) == RUNS
    covers(np.array(scores))


def test_the_reports_of_a_pair_are_those_that_answer_both() -> None:
    plan, counts = runs(2)[0]
    every = estimate_pairs([(plan, counts)])
    assert [table.attributes for table in every.tables] == [(f"q{a}", f"q{b}") for a, b in combinations(range(4), 2)]
    assert every.missing == ()
    assert sum(table.reports for table in every.tables) == PEOPLE
    assert every.tables[1] == estimate_pair([(plan, counts)], "q0", "q2")
    lines = every.to_csv().decode().splitlines()
    assert len(lines) == 1 + sum(len(table.labels[0]) * len(table.labels[1]) for table in every.tables)
    assert lines[1].split(",")[:4] == ["q0", "q1", "a0", "a0"]


def test_pairs_within_a_group_are_missing() -> None:
    plan = first_plan(SIZES, 4.0, "smp", groups=[["q0", "q1"], ["q2", "q3"]])
    found = estimate_pairs([(plan, simulated(plan, population(), PEOPLE, np.random.default_rng(1)))])
    assert found.missing == (("q0", "q1"), ("q2", "q3"))
    assert [table.attributes for table in found.tables] == [("q0", "q2"), ("q0", "q3"), ("q1", "q2"), ("q1", "q3")]
    for mechanism in ("smp", "rs-fd"):
        alone = plan_of(mechanism, SIZES)
        with pytest.raises(EstimateError, match="together"):
            estimate_pairs([(alone, simulated(alone, population(), 100, np.random.default_rng(1)))])


def test_a_table_whose_errors_are_as_large_as_its_entries_says_so() -> None:
    for epsilon, noisy in ((0.5, True), (8.0, False)):
        plan = first_plan(SIZES, epsilon, "smp", pivots=2)
        counts = simulated(plan, population(), PEOPLE, np.random.default_rng(2))
        assert estimate_pair([(plan, counts)], "q0", "q2").noisy is noisy


MEASURED = {
    (4, 2): ((1, 270, 117, 2.3), (2, None, None, 1.7), (4, None, None, 0.8)),
    (4, 4): ((1, 1825, 564, 3.2), (2, None, None, 3.4), (4, None, None, 2.5)),
    (6, 4): ((1, 9946, 1409, 7.1), (2, None, None, 7.9), (4, None, None, 5.8)),
    (8, 3): ((1, 15168, 1428, 10.6), (2, None, None, 10.0), (4, None, None, 5.4)),
}
"""(attributes, labels): epsilon, the variance of a cell from one report of SPL, of two pivots, and their ratio."""


def cell_variance(plan: Plan) -> float:
    """The variance of a cell of a two-way table from one report, where every answer is as frequent."""
    part = plan.sampler.parts[0]
    labels, attributes = plan.schema.sizes[0], len(plan.schema.sizes)
    each = 10**7
    tensor = np.zeros(plan.sampler.outputs, dtype=np.int64)
    if part.silent:
        for one, two in combinations(range(attributes), 2):
            for codes in product(range(labels), repeat=2):
                report = [labels] * attributes
                report[one], report[two] = codes
                tensor[tuple(report)] = each
        reports = comb(attributes, 2) * labels**2 * each
    else:
        tensor[...] = each
        reports = labels**attributes * each
    found = joint_table([(plan, counts_of(plan, tensor))], 0, 1)
    assert found is not None
    return float(found.variances.mean() * reports)


@pytest.mark.parametrize(("shape", "wanted"), MEASURED.items())
def test_what_two_pivots_are_worth(
    shape: tuple[int, int], wanted: tuple[tuple[int, int | None, int | None, float], ...]
) -> None:
    sizes = (shape[1],) * shape[0]
    for epsilon, spl, pivots, ratio in wanted:
        one = cell_variance(first_plan(sizes, epsilon, "spl"))
        two = cell_variance(first_plan(sizes, epsilon, "smp", pivots=2))
        assert one / two == pytest.approx(ratio, abs=0.051)
        if spl is not None and pivots is not None:
            assert one == pytest.approx(spl, abs=0.6)
            assert two == pytest.approx(pivots, abs=0.6)
