"""Standard errors are true: intervals cover what they should, about as often as they should.

People are drawn from a population, both phases are run, and the interval estimate ± 1.96 s.e. of one frequency either
covers or does not. Its chance to cover is 95 % up to the normal approximation, taken here as 94 to 96 %. The number of
covering runs then lies between bounds but for a chance of 1e-7; the seed is fixed. So does the mean square of
(estimate − truth) / s.e., which tells more from fewer runs. Intervals that are a quarter too narrow or a third too wide
must fail it: of 800 runs their mean squares are expected to be 1.78 and 0.565, more than four standard errors outside
the bounds, 0.689 and 1.400. All methods look at the same runs.
"""

from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from scipy import stats

from privtally.collector.estimate import estimate
from privtally.collector.learn import learn
from privtally.collector.tally import count
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.lab.seed import seeded
from privtally.mechanisms import NAMED, independent
from privtally.mechanisms.channel import randomized_response
from privtally.names import MechanismName, Method
from privtally.participant.respond import respond_many
from privtally.schema import Records
from tests.scale import scaled
from tests.support import first_plan, schema_of

RUNS, PEOPLE, PHASE_1 = 800, 2_000, 400
NORMAL = 1.96
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
    first = first_plan(SIZES, EPSILON, mechanism)
    if not NAMED[mechanism].learns:
        return [first]
    pilot = respond_many(first, population(20_000, np.random.default_rng(99)), seeded(99))
    return [first, learn([(first, count(first, pilot.codes))], people=PEOPLE - PHASE_1)]


def expectation(plans: list[Plan], method: Method) -> float:
    """What the estimate of the cell is on average: the truth, or, for the paper's Phase II, what it converges to."""
    own, code = CELL
    truth = float(TRUTH[own][code])
    (fill,) = {part.fill for part in plans[-1].sampler.parts}
    if method == "unbiased" or fill is None or not fill.conditional:
        return truth
    reported = plans[-1].sampler.expect(independent(TRUTH))[own][code]
    q = float(randomized_response(Fraction(EPSILON), SIZES[own]).probability(0, 1))
    second = (reported - q) / (1 - SIZES[own] * q)
    return float((PHASE_1 * truth + (PEOPLE - PHASE_1) * second) / PEOPLE)


@lru_cache(maxsize=1)
def campaigns(mechanism: MechanismName) -> list[list[tuple[Plan, Counts]]]:
    """The plans and counts of every run."""
    plans = plans_of(mechanism)
    made_up, source = np.random.default_rng(1), seeded(1)
    sizes = [PEOPLE] if len(plans) == 1 else [PHASE_1, PEOPLE - PHASE_1]
    codes = [
        respond_many(plan, population(RUNS * size, made_up), source).codes.reshape(RUNS, size, 3)
        for plan, size in zip(plans, sizes, strict=True)
    ]
    return [[(plan, count(plan, phase[run])) for plan, phase in zip(plans, codes, strict=True)] for run in range(RUNS)]


def z_scores(mechanism: MechanismName, method: Method) -> np.ndarray:
    own, code = CELL
    histories = campaigns(mechanism)
    target = expectation([plan for plan, _ in histories[0]], method)
    found = [estimate(history, method).attributes[f"q{own}"] for history in histories]
    return np.array([(each.frequencies[code] - target) / each.standard_errors[code] for each in found])


@pytest.mark.parametrize(
    ("mechanism", "method"),
    [
        ("rs-fd", "unbiased"),
        ("rs-rfd", "unbiased"),
        ("corr-rr", "unbiased"),
        ("cond-rr", "unbiased"),
        ("cond-rr", "paper"),
        *scaled([], [("spl", "unbiased"), ("smp", "unbiased"), ("rs-rfd", "paper"), ("corr-rr", "paper")]),
    ],
)
def test_intervals_cover(mechanism: MechanismName, method: Method) -> None:
    assert_intervals_hold(z_scores(mechanism, method))


def assert_intervals_hold(scores: np.ndarray) -> None:
    """They cover about as often as they should, and neither narrower nor wider ones would pass."""
    covering = int(np.sum(np.abs(scores) < NORMAL))
    assert stats.binom.ppf(5e-8, RUNS, 0.94) <= covering <= stats.binom.isf(5e-8, RUNS, 0.96)
    least = stats.chi2.ppf(5e-8, RUNS) * (NORMAL / stats.norm.isf(0.02)) ** 2
    most = stats.chi2.isf(5e-8, RUNS) * (NORMAL / stats.norm.isf(0.03)) ** 2
    squares = float(scores @ scores)
    assert least <= squares <= most
    assert squares / 0.75**2 > most
    assert squares / 1.33**2 < least
