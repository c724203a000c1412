"""Estimates are unbiased, and their standard errors are exactly the spread of the estimate, for every kind of plan.

The law of a report is enumerated. Counts that are as expected must give the truth back. An estimate from n reports
spreads by the root of Σ P(report) · influence(report)² / n, where the influence is how far the estimate moves if a
little more of the people send that report: found here by moving the counts, without any formula of the product. Of two
phases the variances add up.
"""

import numpy as np
import pytest

from privtally.collector.estimate import estimate
from privtally.documents.campaign import History
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.exact.types import Floats
from privtally.names import Method
from tests.collector.made_up import made_up_law, marginals_of
from tests.support import EXTENDED_PLANS, counts_of, fill_of, first_plan, later_plan, plan_of, plan_with

PEOPLE = 10**13
STEP = 1e-4
PLANS: dict[str, list[Plan]] = {
    **{name: [plan_of(name, (2, 3, 2))] for name in ("spl", "smp", "rs-fd", "rs-rfd", "cond-rr")},
    "corr-rr": [plan_of("corr-rr", (3, 3, 3))],
    **{name: [plan_with(*parts)] for name, parts in EXTENDED_PLANS.items()},
}
for _name in ("rs-rfd", "corr-rr", "cond-rr"):
    _first, _fill = first_plan((3, 3), 1.0, _name), fill_of(_name, (3, 3))
    assert _fill is not None
    PLANS[f"{_name}, two phases"] = [_first, later_plan(_first, _fill)]


def law_of(plan: Plan, answers: Floats) -> Floats:
    """The law of one report, answers having these joint frequencies."""
    law = np.zeros(plan.mechanism.outputs)
    for record in np.ndindex(answers.shape):
        for report, chance in plan.mechanism.law(record).items():
            law[report] += answers[record] * float(chance)
    return law


def counts_like(plan: Plan, law: Floats) -> Counts:
    return counts_of(plan, np.rint(law * PEOPLE).astype(np.int64))


def frequencies(history: History, method: Method) -> Floats:
    return np.concatenate([own.frequencies for own in estimate(history, method).attributes.values()])


def spread(plans: list[Plan], laws: list[Floats], method: Method) -> Floats:
    """The standard deviation of the estimate from one report to each of the plans."""
    history = [(plan, counts_like(plan, law)) for plan, law in zip(plans, laws, strict=True)]
    at, variance = frequencies(history, method), np.zeros(sum(plans[0].schema.sizes))
    for place, (plan, law) in enumerate(zip(plans, laws, strict=True)):
        for report in np.argwhere(law):
            moved = law * (1 - STEP)
            moved[tuple(report)] += STEP
            other = [*history[:place], (plan, counts_like(plan, moved)), *history[place + 1 :]]
            variance += law[tuple(report)] * ((frequencies(other, method) - at) / STEP) ** 2
    return np.asarray(np.sqrt(variance))


@pytest.mark.parametrize("name", PLANS)
def test_the_estimate_is_unbiased_and_its_standard_error_is_its_spread(name: str) -> None:
    check(PLANS[name], "unbiased")


@pytest.mark.parametrize("name", ["spl", "smp", "rs-fd", "rs-rfd"])
def test_so_is_the_papers_where_it_is_unbiased(name: str) -> None:
    check(PLANS[name], "paper")


def check(plans: list[Plan], method: Method) -> None:
    answers = made_up_law(plans[0].schema.sizes)
    laws = [law_of(plan, answers) for plan in plans]
    history = [(plan, counts_like(plan, law)) for plan, law in zip(plans, laws, strict=True)]
    found = estimate(history, method).attributes.values()
    for own, true in zip(found, marginals_of(answers), strict=True):
        np.testing.assert_allclose(own.frequencies, true, atol=1e-9)
    errors = np.concatenate([own.standard_errors for own in found])
    np.testing.assert_allclose(errors * np.sqrt(PEOPLE), spread(plans, laws, method), rtol=1e-3)
