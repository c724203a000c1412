"""Standard errors are true: intervals cover what they should, about as often as they should.

People are drawn from a population, both phases are run, and the interval estimate ± 1.96 s.e. of one frequency either
covers or does not. Its chance to cover is 95 % up to the normal approximation, taken here as 94 to 96 %. The number of
covering runs then lies between the bounds below but for a chance of 1e-7; the seed is fixed. Intervals that are a
quarter too narrow or a third too wide must fall outside.
"""

import numpy as np
import pytest
from scipy import stats

from privtally.collector.estimate import estimate
from privtally.collector.learn.rules import learn
from privtally.documents.counts import count
from privtally.documents.plan import Plan, design
from privtally.lab.seed import seeded
from privtally.names import TWO_PHASE, MechanismName, Method
from privtally.participant.respond import respond_many
from privtally.schema import Records
from tests.support import schema_of

RUNS, PEOPLE, PHASE_1 = 3_000, 2_000, 400
EPSILON = 3.0
SIZES = (3, 3, 3)
CELL = (1, 2)
"""The attribute and label whose intervals are counted: one cell, so that the runs are independent."""


def population(people: int, made_up: np.random.Generator) -> Records:
    first = made_up.choice(3, people, p=[0.5, 0.3, 0.2])
    second = np.where(made_up.random(people) < 0.6, first, made_up.choice(3, people, p=[0.2, 0.3, 0.5]))
    third = made_up.choice(3, people, p=[0.1, 0.3, 0.6])
    return Records(schema_of(SIZES), np.column_stack([first, second, third]).astype(np.uint8))


TRUTH = [
    np.array([0.5, 0.3, 0.2]),
    0.6 * np.array([0.5, 0.3, 0.2]) + 0.4 * np.array([0.2, 0.3, 0.5]),
    np.array([0.1, 0.3, 0.6]),
]


def plans_of(mechanism: MechanismName) -> list[Plan]:
    """The plans of a campaign; the second phase's parameters are learned once, from people of their own."""
    first = design(schema_of(SIZES), EPSILON, mechanism)
    if mechanism not in TWO_PHASE:
        return [first]
    pilot = respond_many(first, population(20_000, np.random.default_rng(99)), seeded(99))
    return [first, learn(first, count(first, pilot.codes), phase2_users=PEOPLE - PHASE_1)]


def expectation(plans: list[Plan], method: Method) -> float:
    """What the estimate of the cell is on average: the truth, or, for the paper's Phase II, what it converges to."""
    own, code = CELL
    truth = float(TRUTH[own][code])
    if method == "unbiased" or plans[-1].mechanism not in ("corr-rr", "cond-rr"):
        return truth
    reported = plans[-1].sampler.expect(TRUTH)[own][code]
    keep = design(schema_of((3,)), EPSILON, "spl").sampler
    q = keep.law((0,))[1,]
    second = (reported - float(q)) / (1 - 3 * float(q))
    return float((PHASE_1 * truth + (PEOPLE - PHASE_1) * second) / PEOPLE)


def z_scores(mechanism: MechanismName, method: Method) -> np.ndarray:
    plans = plans_of(mechanism)
    own, code = CELL
    target = expectation(plans, method)
    made_up, source = np.random.default_rng(1), seeded(1)
    sizes = [PEOPLE] if len(plans) == 1 else [PHASE_1, PEOPLE - PHASE_1]
    codes = [
        respond_many(plan, population(RUNS * size, made_up), source).codes.reshape(RUNS, size, 3)
        for plan, size in zip(plans, sizes, strict=True)
    ]
    scores = []
    for run in range(RUNS):
        phases = [(plan, count(plan, part[run])) for plan, part in zip(plans, codes, strict=True)]
        attribute = estimate(phases, method).attributes[f"q{own}"]
        scores.append((attribute.frequencies[code] - target) / attribute.standard_errors[code])
    return np.array(scores)


@pytest.mark.parametrize(
    ("mechanism", "method"),
    [
        ("spl", "unbiased"),
        ("smp", "unbiased"),
        ("rs-fd", "unbiased"),
        ("rs-rfd", "unbiased"),
        ("corr-rr", "unbiased"),
        ("cond-rr", "unbiased"),
        ("rs-rfd", "paper"),
        ("corr-rr", "paper"),
        ("cond-rr", "paper"),
    ],
)
def test_intervals_cover(mechanism: MechanismName, method: Method) -> None:
    least = stats.binom.ppf(5e-8, RUNS, 0.94)
    most = stats.binom.isf(5e-8, RUNS, 0.96)
    scores = np.abs(z_scores(mechanism, method))
    assert least <= np.sum(scores < 1.96) <= most
    assert np.sum(scores < 1.96 * 0.75) < least
    assert np.sum(scores < 1.96 * 1.33) > most
