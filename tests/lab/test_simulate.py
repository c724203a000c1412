"""Counts sampled without users have the law that counting users has.

Given the records, the counts of reports are a sum over independent people, so their mean and covariance follow from the
enumerated law exactly. The samples' means and covariances are held against those within seven of their own standard
errors: with at most 40,000 comparisons of which each fails with probability 3e-12, a correct simulation is refused with
probability about 1e-7; the seed is fixed. Counting users one by one passes the same test, and a simulation that draws
everybody from the mean record must fail it.

All runs are drawn at once: a run's number stands beside each record as three more attributes, which pass unchanged.
"""

from itertools import product

import numpy as np
import pytest

from privtally.documents.counts import SubReports
from privtally.lab.population import seeded
from privtally.lab.simulate import simulate
from privtally.mechanisms.channels import Keep
from privtally.mechanisms.mechanism import Mechanism, Part
from tests.collector.made_up import parts_with_other_alphabets, plans_of_every_kind
from tests.lab.moments import agrees
from tests.support import plan_of

DIGIT = 18
RUNS = DIGIT**3
NUMBERS = np.indices((DIGIT,) * 3).reshape(3, -1).T
"""The digits of every run's number."""

MECHANISMS = {name: plan.mechanism for name, plan in plans_of_every_kind().items()} | {
    f"other alphabet, {name}": Mechanism((part,)) for name, part in parts_with_other_alphabets().items()
}


def people_of(mechanism: Mechanism) -> SubReports:
    """A handful of different records, some rare and some frequent."""
    records = np.array(list(product(*map(range, mechanism.sizes))))
    chosen = np.unique(np.linspace(0, len(records) - 1, 6).astype(int))
    return SubReports(records[chosen], np.array([40, 25, 12, 3, 60, 31])[: len(chosen)])


def theory(mechanism: Mechanism, people: SubReports) -> tuple[np.ndarray, np.ndarray]:
    """The exact mean and covariance of the counts of every report, possible or not."""
    cells = int(np.prod(mechanism.outputs))
    mean, covariance = np.zeros(cells), np.zeros((cells, cells))
    for record, times in zip(people.codes.tolist(), people.times.tolist(), strict=True):
        chances = np.zeros(cells)
        for report, chance in mechanism.law(record).items():
            chances[np.ravel_multi_index(report, mechanism.outputs)] = float(chance)
        mean += times * chances
        covariance += times * (np.diag(chances) - np.outer(chances, chances))
    return mean, covariance


def counted(reports: np.ndarray, times: np.ndarray, outputs: tuple[int, ...], runs: np.ndarray) -> np.ndarray:
    """The counts of every report in every run."""
    cells = int(np.prod(outputs))
    keys = np.ravel_multi_index(tuple(reports.T.astype(int)), outputs) + cells * runs
    return np.bincount(keys, times, cells * (runs.max() + 1)).reshape(-1, cells)


def sampled(mechanism: Mechanism, people: SubReports, generator: np.random.Generator) -> np.ndarray:
    width, unchanged = mechanism.width, Keep(DIGIT, 1, 0)
    numbered = Mechanism((*mechanism.parts, *(Part((width + place,), 1, (unchanged,)) for place in range(3))))
    codes = np.hstack([np.tile(people.codes, (RUNS, 1)), np.repeat(NUMBERS, len(people), axis=0)])
    reports = simulate(numbered, SubReports(codes, np.tile(people.times, RUNS)), generator)
    runs = np.ravel_multi_index(tuple(reports.codes[:, width:].T), (DIGIT,) * 3)
    return counted(reports.codes[:, :width], reports.times, mechanism.outputs, runs)


@pytest.mark.parametrize("name", MECHANISMS)
def test_counts_have_the_law_of_counting_users(name: str) -> None:
    mechanism = MECHANISMS[name]
    people = people_of(mechanism)
    mean, covariance = theory(mechanism, people)
    assert agrees(sampled(mechanism, people, np.random.default_rng(1)), mean, covariance)
    # The control: everybody drawn from the mean record has the same mean and another covariance.
    total = int(people.times.sum())
    careless = np.random.default_rng(1).multinomial(total, mean / total, size=RUNS)
    assert agrees(careless, mean, total * (np.diag(mean / total) - np.outer(mean, mean) / total**2))
    assert not agrees(careless, mean, covariance)


@pytest.mark.parametrize("name", MECHANISMS)
def test_counting_users_one_by_one_passes_the_same_test(name: str) -> None:
    mechanism, runs = MECHANISMS[name], 1_000
    people = people_of(mechanism)
    records = np.repeat(people.codes, people.times, axis=0).astype(np.uint8)
    codes = mechanism.privatise(np.tile(records, (runs, 1)), seeded(2))
    numbers = np.repeat(np.arange(runs), len(records))
    samples = counted(codes, np.ones(len(codes)), mechanism.outputs, numbers)
    assert agrees(samples, *theory(mechanism, people))


@pytest.mark.parametrize("drift", [-0.2, 0.2])
def test_the_law_of_another_budget_is_refused(drift: float) -> None:
    mechanism = plan_of("corr-rr", (3, 3), 3.0, seed=3).mechanism
    people = people_of(mechanism)
    other = plan_of("corr-rr", (3, 3), 3.0 + drift, seed=3).mechanism
    assert not agrees(sampled(other, people, np.random.default_rng(1)), *theory(mechanism, people))


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_billion_people_cost_what_a_thousand_do(name: str) -> None:
    """With so many people the counts are nearly their means."""
    mechanism = MECHANISMS[name]
    people = people_of(mechanism)
    many = SubReports(people.codes, people.times * 10**7)
    reports = simulate(mechanism, many, np.random.default_rng(1))
    assert reports.times.sum() == many.times.sum()
    mean, covariance = theory(mechanism, people)
    found = counted(reports.codes, reports.times, mechanism.outputs, np.zeros(len(reports), dtype=int))[0]
    assert (np.abs(found / 10**7 - mean) <= 6 * np.sqrt(np.diag(covariance) / 10**7)).all()


@pytest.mark.parametrize("name", MECHANISMS)
def test_reports_are_distinct_and_in_order(name: str) -> None:
    mechanism = MECHANISMS[name]
    reports = simulate(mechanism, people_of(mechanism), np.random.default_rng(1))
    rows = reports.codes.tolist()
    assert rows == sorted(rows)
    assert len(set(map(tuple, rows))) == len(rows)
    assert (reports.times > 0).all()


def test_nobody_sends_nothing() -> None:
    for mechanism in MECHANISMS.values():
        nobody = SubReports(np.empty((0, mechanism.width), dtype=np.int64), np.empty(0, dtype=np.int64))
        assert len(simulate(mechanism, nobody, np.random.default_rng(1))) == 0
