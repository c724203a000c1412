"""Standard errors are true for aligned fills too: as in `test_coverage`, the last question having two labels."""

import numpy as np

from privtally.collector.estimate import estimate
from privtally.collector.learn import learn
from privtally.collector.tally import count
from privtally.documents.plan import design
from privtally.lab.seed import seeded
from privtally.mechanisms.fills import AlignedFill
from privtally.participant.respond import respond_many
from privtally.schema import Attribute, Records, Schema
from tests.law.test_coverage import CELL, EPSILON, PEOPLE, PHASE_1, RUNS, TRUTH, assert_intervals_hold, population
from tests.support import Scripted

SCHEMA = Schema(
    tuple(
        Attribute(f"q{own}", tuple(f"{own}{code}" for code in range(size)), ordered=True)
        for own, size in enumerate((3, 3, 2))
    )
)


def people(number: int, made_up: np.random.Generator) -> Records:
    return Records(SCHEMA, np.minimum(population(number, made_up).codes, [2, 2, 1]))


def test_intervals_cover() -> None:
    first = design(SCHEMA, EPSILON, "corr-rr", source=Scripted([7, 7]))
    pilot = respond_many(first, people(20_000, np.random.default_rng(99)), seeded(99))
    plans = [first, learn([(first, count(first, pilot.codes))], people=PEOPLE - PHASE_1)]
    assert isinstance(plans[1].parts[0].fill, AlignedFill)
    made_up, source = np.random.default_rng(1), seeded(1)
    codes = [
        respond_many(plan, people(RUNS * size, made_up), source).codes.reshape(RUNS, size, 3)
        for plan, size in zip(plans, (PHASE_1, PEOPLE - PHASE_1), strict=True)
    ]
    own, code = CELL
    scores = []
    for run in range(RUNS):
        history = [(plan, count(plan, phase[run])) for plan, phase in zip(plans, codes, strict=True)]
        found = estimate(history, "unbiased").attributes[f"q{own}"]
        scores.append((found.frequencies[code] - TRUTH[own][code]) / found.standard_errors[code])
    assert_intervals_hold(np.array(scores))
