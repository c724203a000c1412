"""Groups and several pivots as people get them, by `design` and `learn`: the exact law keeps the promise, the verifier
agrees, and the sampler draws from the law. Parts that take more than their share of the budget are caught.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from privtally.collector.learn import learn
from privtally.documents.plan import Plan
from privtally.lab.population import seeded
from privtally.mechanisms.mechanism import Mechanism
from privtally.mechanisms.named import build
from privtally.names import MechanismName
from privtally.privacy.loss import certify, dump_certificate
from privtally.privacy.verify import verify
from tests.collector.made_up import simulated
from tests.support import all_laws, chi_square_p, exp_below, first_plan, worst_ratio

SIZES = (2, 3, 2, 3)
GROUPS = [["q2", "q0"], ["q1", "q3"]]
UNEVEN = [["q2", "q0"], ["q3"], ["q1"]]
CASES: list[tuple[MechanismName, list[list[str]] | None, int]] = [
    ("smp", UNEVEN, 1),
    ("smp", GROUPS, 2),
    ("rs-fd", None, 2),
    ("rs-rfd", GROUPS, 1),
    ("corr-rr", GROUPS, 1),
    ("cond-rr", UNEVEN, 1),
    ("cond-rr", None, 3),
    ("cond-rr", [["q2", "q0", "q3"], ["q1"]], 2),
]
EPSILON = 1.5


def last_plan(mechanism: MechanismName, groups: list[list[str]] | None, pivots: int) -> Plan:
    """The plan of the campaign's last phase."""
    if mechanism in ("smp", "rs-fd"):
        return first_plan(SIZES, EPSILON, mechanism, groups=groups, pivots=pivots)
    first = first_plan(SIZES, EPSILON, mechanism, groups=groups)
    generator = np.random.default_rng(pivots)
    answers = generator.dirichlet(np.full(36, 0.5)).reshape(SIZES)
    people = 3_000 if pivots == 1 else 1_000_000
    plan = learn([(first, simulated(first, answers, people, generator))], pivots=pivots)
    assert max(part.pivots for part in plan.parts) == pivots
    return plan


def within_promise(mechanism: Mechanism) -> bool:
    """Whether the largest likelihood ratio of any report is at most e^ε, and not far below."""
    worst, epsilon = worst_ratio(list(all_laws(mechanism).values())), Fraction(EPSILON)
    return exp_below(epsilon * Fraction(999, 1000)) < worst <= exp_below(epsilon)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_law_keeps_the_promise_the_verifier_agrees_and_the_sampler_follows(
    case: tuple[MechanismName, list[list[str]] | None, int],
) -> None:
    """False alarms: 1e-7 a plan. The law of another record, and a part with twice its budget, must fail."""
    plan = last_plan(*case)
    assert within_promise(plan.mechanism)
    verify(plan.dump(), dump_certificate(certify(plan)))
    greedy = [build(plan.parts, SIZES, 2 * Fraction(EPSILON)).parts[0], *plan.mechanism.parts[1:]]
    assert not within_promise(Mechanism(tuple(greedy)))
    record, other = (0, 2, 1, 0), (1, 0, 0, 2)
    reports = plan.mechanism.privatise(np.tile(np.array(record, dtype=np.uint8), (40_000, 1)), seeded(1))
    assert chi_square_p(reports, plan.mechanism.law(record)) > 1e-7
    assert chi_square_p(reports, plan.mechanism.law(other)) < 1e-7


def test_pivots_that_are_chosen_unevenly_are_caught() -> None:
    """A part that never asks its last pair of attributes has other reports than the law."""
    plan = first_plan(SIZES, EPSILON, "smp", pivots=2)
    (part,) = plan.mechanism.parts
    fewer = replace(part)
    fewer.__dict__["branches"] = part.branches[:-1]
    reports = Mechanism((fewer,)).privatise(np.zeros((40_000, 4), dtype=np.uint8), seeded(1))
    assert chi_square_p(reports, plan.mechanism.law((0, 0, 0, 0))) < 1e-7
