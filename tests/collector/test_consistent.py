"""Two-way tables that agree with each other and with the frequencies of every attribute alone."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from privtally.collector import consistent
from privtally.collector.consistent import carried, combined, consistent_table
from privtally.collector.estimate import Phase, estimate, one_way
from privtally.collector.pairs import PairEstimates, estimate_pair, estimate_pairs
from privtally.documents.plan import Plan
from privtally.errors import EstimateError
from privtally.names import Method
from tests.collector.made_up import simulated
from tests.scale import scaled
from tests.support import first_plan

SIZES = (3, 2, 3, 2)
PEOPLE, RUNS = 3_000, 400
KINDS = ("spl", "two pivots", "groups")


@cache
def population() -> np.ndarray:
    return np.random.default_rng(19).dirichlet(np.full(int(np.prod(SIZES)), 0.5)).reshape(SIZES)


def plan_of_kind(kind: str) -> Plan:
    if kind == "spl":
        return first_plan(SIZES, 8.0)
    if kind == "two pivots":
        return first_plan(SIZES, 4.0, "smp", pivots=2)
    return first_plan(SIZES, 4.0, "smp", groups=[["q0", "q1"], ["q2", "q3"]])


@cache
def runs(kind: str) -> list[Phase]:
    plan, generator = plan_of_kind(kind), np.random.default_rng(len(kind))
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
    monkeypatch.setattr(consistent, "MOST_CELLS", 0)
    history = runs("spl")[:1]
    assert margins_off(estimate_pairs(history, "unbiased"), history, "unbiased") < 1e-8


def covers(scores: np.ndarray) -> None:
    """95 % intervals cover 94 to 96 % of the time, up to a false alarm in 1e-6; those half as wide do not."""
    least, most = stats.binom.ppf(5e-7, RUNS, 0.94), stats.binom.isf(5e-7, RUNS, 0.96)
    assert least <= np.sum(np.abs(scores) < 1.96) <= most
    assert np.sum(np.abs(scores) < 0.98) < least


def scores(kind: str, method: Method, count: int) -> np.ndarray:
    """(run, cell): errors of the table of q0 and q2 in standard errors."""
    truth = population().sum(axis=(1, 3))
    found = [estimate_pair([phase], "q0", "q2", method) for phase in runs(kind)[:count]]
    return np.array([(np.array(each.frequencies) - truth) / np.array(each.standard_errors) for each in found])


@pytest.mark.parametrize("kind", scaled(["two pivots"], list(KINDS)))
def test_unbiased_tables_have_true_standard_errors(kind: str) -> None:
    covers(scores(kind, "unbiased", RUNS)[:, 1, 0])


@pytest.mark.parametrize("kind", ["spl", "two pivots"])
def test_pooled_tables_cover(kind: str) -> None:
    """All 9 cells in 60 runs, at fixed seeds; intervals half as wide do not."""
    found = np.abs(scores(kind, "likelihood", 60))
    assert np.mean(found < 1.96) >= 0.93
    assert np.mean(found < 0.98) < 0.93


def test_bounds_for_large_tables_hold_and_are_near(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = estimate_pair(runs("spl")[:1], "q0", "q2", "unbiased")
    monkeypatch.setattr(consistent, "MOST_CELLS", 0)
    found = np.abs(scores("spl", "unbiased", 200))
    assert np.mean(found < 1.96) >= 0.93
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


def test_phases_are_weighted_by_their_precision() -> None:
    """Twice the same table has half the covariance; a noisy one beside an exact one changes little."""
    table = carried(runs("spl")[0], 0, 2)
    noisy = carried(runs("two pivots")[0], 0, 2)
    assert table is not None
    assert noisy is not None
    twice = combined([table, table])
    assert twice.frequencies == pytest.approx(table.frequencies)
    assert twice.covariance == pytest.approx(table.covariance / 2)
    both = combined([table, noisy])
    assert (both.covariance.diagonal() < np.minimum(table.covariance.diagonal(), noisy.covariance.diagonal())).all()
    assert both.reports == table.reports + noisy.reports


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
