"""Counts sampled without users have the law that counting users has.

Given the records, the counts of whole reports are a sum over independent people, so their mean and covariance follow
from the enumerated law exactly. The samples' means and covariances are held against those within seven of their own
standard errors: with some 2,000 comparisons of which each fails with probability 3e-12, a correct simulation is
refused with probability below 1e-8; the seed is fixed. Counting users one by one passes the same test, and a
simulation that draws everybody from the mean record must fail it.
"""

import numpy as np
import pytest

from privtally.documents.plan import Plan
from privtally.lab.collectors import from_answers, from_tensor, matrices, scales
from privtally.lab.population import marginals
from privtally.lab.seed import seeded
from privtally.lab.simulate import pivot_whole, private_pivots, spl_whole
from privtally.mechanisms import Pivot, Sample, Split
from privtally.names import MECHANISMS, MechanismName
from privtally.participant.respond import respond_many
from privtally.schema import Records
from tests.lab.moments import agrees
from tests.support import plan_of, records_of

RUNS = 20_000
TABLES: dict[tuple[int, ...], np.ndarray] = {
    (2, 3): np.array([[40, 5, 0], [12, 3, 60]]),
    (3, 3): np.array([[50, 4, 1], [0, 20, 9], [3, 2, 31]]),
}


def shape_of(mechanism: MechanismName) -> tuple[int, ...]:
    return (3, 3) if mechanism == "corr-rr" else (2, 3)


def theory(plan: Plan, table: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[tuple[int, ...]]]:
    """The exact mean and covariance of the counts of every whole report."""
    laws = {record: plan.sampler.law(record) for record in records_of(table.shape)}
    reports = sorted(set().union(*laws.values()))
    mean, covariance = np.zeros(len(reports)), np.zeros((len(reports), len(reports)))
    for record, law in laws.items():
        chances = np.array([float(law.get(report, 0)) for report in reports])
        mean += table[record] * chances
        covariance += table[record] * (np.diag(chances) - np.outer(chances, chances))
    return mean, covariance, reports


def sampled(plan: Plan, tables: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """The counts of whole reports, (run, attribute, attribute …)."""
    sampler = plan.sampler
    if isinstance(sampler, Split):
        return spl_whole(tables, scales(sampler.channels), generator)
    assert isinstance(sampler, Pivot)
    return pivot_whole(private_pivots(tables, scales(sampler.channels), generator), matrices(sampler), generator)


@pytest.mark.parametrize("mechanism", [name for name in MECHANISMS if name != "smp"])
def test_whole_report_counts_have_the_law_of_counting_users(mechanism: MechanismName) -> None:
    shape = shape_of(mechanism)
    plan, table = plan_of(mechanism, shape, epsilon=3.0, seed=3), TABLES[shape]
    mean, covariance, reports = theory(plan, table)
    tensors = sampled(plan, np.broadcast_to(table, (RUNS, *shape)), np.random.default_rng(1))
    assert agrees(tensors.reshape(RUNS, -1), mean, covariance)
    assert reports == records_of(shape)
    # The control: everybody drawn from the mean record has the same mean and another covariance.
    careless = np.random.default_rng(1).multinomial(table.sum(), mean / mean.sum(), size=RUNS)
    assert agrees(careless, mean, table.sum() * (np.diag(mean / mean.sum()) - np.outer(mean, mean) / mean.sum() ** 2))
    assert not agrees(careless, mean, covariance)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_counting_users_one_by_one_passes_the_same_test(mechanism: MechanismName) -> None:
    shape = shape_of(mechanism)
    plan, table = plan_of(mechanism, shape, epsilon=3.0, seed=3), TABLES[shape]
    mean, covariance, reports = theory(plan, table)
    people = np.repeat(np.array(records_of(shape)), table.ravel(), axis=0).astype(np.uint8)
    runs = 4_000
    codes = respond_many(plan, Records(plan.schema, np.tile(people, (runs, 1))), seeded(2)).codes
    keys = np.ravel_multi_index(tuple(codes.T.astype(int)), plan.sampler.outputs)
    places = np.ravel_multi_index(np.array(reports).T, plan.sampler.outputs)
    cells = int(np.prod(plan.sampler.outputs))
    flat = keys + cells * np.repeat(np.arange(runs), len(people))
    samples = np.bincount(flat, minlength=cells * runs).reshape(runs, cells)[:, places]
    assert agrees(samples, mean, covariance)


def test_smp_counts_have_the_law_of_counting_users() -> None:
    plan, table = plan_of("smp", (2, 3), epsilon=3.0), TABLES[2, 3]
    assert isinstance(plan.sampler, Sample)
    mean, covariance, reports = theory(plan, table)
    tables = np.broadcast_to(table, (RUNS, 2, 3))
    private = private_pivots(tables, scales(plan.sampler.channels), np.random.default_rng(1))
    # In the order of the reports: q1 answered and q0 not asked comes after q0 answered.
    assert reports == [(0, 3), (1, 3), (2, 0), (2, 1), (2, 2)]
    assert agrees(np.hstack(private), mean, covariance)
    assert not agrees(np.hstack(private)[:, ::-1], mean, covariance)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_billion_people_cost_what_a_thousand_do(mechanism: MechanismName) -> None:
    shape = shape_of(mechanism)
    plan = plan_of(mechanism, shape)
    table = TABLES[shape][None] * 10**8
    generator = np.random.default_rng(1)
    if isinstance(plan.sampler, Sample):
        counts = from_answers(plan, private_pivots(table, scales(plan.sampler.channels), generator))
    else:
        counts = from_tensor(plan, sampled(plan, table, generator)[0])
    assert counts.reports == table.sum()
    assert [int(margin.sum()) for margin in marginals(table)] == [table.sum()] * 2
