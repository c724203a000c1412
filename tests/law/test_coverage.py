"""Intervals of a whole campaign with few people cover the truth about as often as they should.

`test_standard_errors` has the exact spread of every estimate; this is the normal approximation on top of it. The
interval estimate ± 1.96 s.e. covers with a chance of 95 % up to that approximation, taken here as 94 to 96 %. The
number of covering runs then lies between bounds but for a chance of 1e-7; the seed is fixed. So does the mean square of
(estimate − truth) / s.e., which tells more from fewer runs. Intervals that are a quarter too narrow or a third too wide
must fail it.
"""

import numpy as np
from scipy import stats

from privtally.collector.estimate import estimate
from privtally.collector.learn import learn
from privtally.collector.tally import count
from privtally.lab.population import seeded
from privtally.participant.respond import respond_many
from privtally.schema import Records
from tests.support import first_plan, schema_of

RUNS, PHASES = 800, (400, 1_600)
NORMAL = 1.96
TRUTH = 0.6 * 0.2 + 0.4 * 0.5
"""How many of the people have the last label of the second attribute: one cell, so that the runs are independent."""


def population(people: int, made_up: np.random.Generator) -> Records:
    first = made_up.choice(3, people, p=[0.5, 0.3, 0.2])
    second = np.where(made_up.random(people) < 0.6, first, made_up.choice(3, people, p=[0.2, 0.3, 0.5]))
    third = made_up.choice(3, people, p=[0.1, 0.3, 0.6])
    return Records(schema_of((3, 3, 3)), np.column_stack([first, second, third]).astype(np.uint8))


def scores() -> np.ndarray:
    """(estimate − truth) / s.e. of every run; the second plan is learned once, from people of their own."""
    first = first_plan((3, 3, 3), 3.0, "corr-rr")
    pilot = respond_many(first, population(20_000, np.random.default_rng(99)), seeded(99))
    plans = [first, learn([(first, count(first, pilot.codes))], people=PHASES[1])]
    made_up, source = np.random.default_rng(1), seeded(1)
    codes = [
        respond_many(plan, population(RUNS * people, made_up), source).codes.reshape(RUNS, people, 3)
        for plan, people in zip(plans, PHASES, strict=True)
    ]
    counted = ([count(plan, phase[run]) for plan, phase in zip(plans, codes, strict=True)] for run in range(RUNS))
    found = [estimate(list(zip(plans, both, strict=True)), "unbiased").attributes["q1"] for both in counted]
    return np.array([(each.frequencies[2] - TRUTH) / each.standard_errors[2] for each in found])


def test_intervals_cover_and_neither_narrower_nor_wider_ones_would_pass() -> None:
    z = scores()
    covering = int(np.sum(np.abs(z) < NORMAL))
    assert stats.binom.ppf(5e-8, RUNS, 0.94) <= covering <= stats.binom.isf(5e-8, RUNS, 0.96)
    least = stats.chi2.ppf(5e-8, RUNS) * (NORMAL / stats.norm.isf(0.02)) ** 2
    most = stats.chi2.isf(5e-8, RUNS) * (NORMAL / stats.norm.isf(0.03)) ** 2
    squares = float(z @ z)
    assert least <= squares <= most
    assert squares / 0.75**2 > most
    assert squares / 1.33**2 < least
