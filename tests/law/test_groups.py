"""Groups and several pivots as people get them, by `design` and `learn`: the exact law keeps the promise, the verifier
agrees, and the sampler draws from the law. Parts that take more than their share of the budget are caught.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from privtally.collector.learn import learn
from privtally.documents.plan import Plan
from privtally.lab.seed import seeded
from privtally.mechanisms import Mechanism, build
from privtally.names import MechanismName
from privtally.privacy.certificate import certify, dump_certificate
from privtally.privacy.verify import verify
from tests.collector.made_up import simulated
from tests.support import all_laws, chi_square_p, exp_below, first_plan, worst_ratio

SIZES = (2, 3, 2, 3)
GROUPS = [["q2", "q0"], ["q1", "q3"]]
UNEVEN = [["q2", "q0"], ["q3"], ["q1"]]
CASES: list[tuple[MechanismName, list[list[str]] | None, int]] = [
    ("smp", GROUPS, 1),
    ("smp", UNEVEN, 1),
    ("smp", GROUPS, 2),
    ("smp", None, 2),
    ("smp", None, 3),
    ("rs-fd", GROUPS, 1),
    ("rs-rfd", GROUPS, 1),
    ("corr-rr", GROUPS, 1),
    ("cond-rr", GROUPS, 1),
    ("cond-rr", UNEVEN, 1),
    ("rs-fd", None, 2),
    ("rs-rfd", None, 2),
    ("cond-rr", None, 2),
    ("cond-rr", None, 3),
    ("cond-rr", [["q2", "q0", "q3"], ["q1"]], 2),
]
PLANS = range(len(CASES))
EPSILON = 1.5


@cache
def plan_of_case(number: int) -> Plan:
    """The plan of the campaign's last phase."""
    mechanism, groups, pivots = CASES[number]
    if mechanism in ("smp", "rs-fd"):
        return first_plan(SIZES, EPSILON, mechanism, groups=groups, pivots=pivots)
    first = first_plan(SIZES, EPSILON, mechanism, groups=groups)
    generator = np.random.default_rng(number)
    answers = generator.dirichlet(np.full(36, 0.5)).reshape(SIZES)
    people = 3_000 if pivots == 1 else 1_000_000
    plan = learn([(first, simulated(first, answers, people, generator))], pivots=pivots)
    assert max(part.pivots for part in plan.parts) == pivots
    return plan


def within_promise(mechanism: Mechanism, epsilon: float) -> bool:
    """Whether the largest likelihood ratio of any report is at most e^ε, and not far below."""
    worst = worst_ratio(list(all_laws(mechanism).values()))
    return exp_below(Fraction(epsilon) * Fraction(999, 1000)) < worst <= exp_below(Fraction(epsilon))


@pytest.mark.parametrize("number", PLANS)
def test_the_law_keeps_the_promise_and_the_verifier_agrees(number: int) -> None:
    plan = plan_of_case(number)
    assert within_promise(plan.sampler, EPSILON)
    verify(plan.dump(), dump_certificate(certify(plan)))


@pytest.mark.parametrize("number", PLANS)
def test_a_part_with_more_than_its_share_is_caught(number: int) -> None:
    """All parts with the whole budget; one part whose pivots each have it."""
    plan = plan_of_case(number)
    larger = Fraction(EPSILON) * 2
    faulty = [build(plan.parts, SIZES, larger).parts[0], *plan.sampler.parts[1:]]
    assert not within_promise(Mechanism(tuple(faulty)), EPSILON)


@pytest.mark.parametrize("number", PLANS)
def test_the_sampler_draws_from_the_law(number: int) -> None:
    """False alarms: 1e-7 a plan. The reports of another record must fail."""
    plan = plan_of_case(number)
    record, other = (0, 2, 1, 0), (1, 0, 0, 2)
    codes = np.tile(np.array(record, dtype=np.uint8), (40_000, 1))
    reports = plan.sampler.privatise(codes, seeded(number))
    assert chi_square_p(reports, plan.sampler.law(record)) > 1e-7
    assert chi_square_p(reports, plan.sampler.law(other)) < 1e-7


def test_pivots_that_are_chosen_unevenly_are_caught() -> None:
    """A part that never asks its last pair of attributes has other reports than the law."""
    plan = plan_of_case(3)
    (part,) = plan.sampler.parts
    fewer = replace(part)
    fewer.__dict__["branches"] = part.branches[:-1]
    codes = np.zeros((40_000, 4), dtype=np.uint8)
    reports = Mechanism((fewer,)).privatise(codes, seeded(1))
    assert chi_square_p(reports, plan.sampler.law((0, 0, 0, 0))) < 1e-7
