"""Estimates are unbiased, and their standard errors are exactly the spread of the estimate, for every kind of plan.

The law of a report is enumerated. Counts that are as expected must give the truth back. An estimate from n reports
spreads by the root of Σ P(report) · influence(report)² / n, where the influence is how far the estimate moves if a
little more of the people send that report: found here by moving the counts, without any formula of the product.
"""

import numpy as np
import pytest

from privtally.collector.estimate import estimate
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.exact.arrays import Floats
from tests.collector.made_up import made_up_law, marginals_of
from tests.support import EXTENDED_PLANS, counts_of, plan_of, plan_with

PEOPLE = 10**13
STEP = 1e-4
PLANS = {
    **{name: plan_of(name, (2, 3, 2)) for name in ("spl", "smp", "rs-fd", "rs-rfd", "cond-rr")},
    "corr-rr": plan_of("corr-rr", (3, 3, 3)),
    **{name: plan_with(*parts) for name, parts in EXTENDED_PLANS.items()},
}


def law_of(plan: Plan, answers: Floats) -> Floats:
    """The law of one report, answers having these joint frequencies."""
    law = np.zeros(plan.sampler.outputs)
    for record in np.ndindex(answers.shape):
        for report, chance in plan.sampler.law(record).items():
            law[report] += answers[record] * float(chance)
    return law


def counts_like(plan: Plan, law: Floats) -> Counts:
    return counts_of(plan, np.rint(law * PEOPLE).astype(np.int64))


def frequencies(plan: Plan, law: Floats) -> Floats:
    found = estimate([(plan, counts_like(plan, law))], "unbiased")
    return np.concatenate([own.frequencies for own in found.attributes.values()])


def spread(plan: Plan, law: Floats) -> Floats:
    """The standard deviation of the estimate from one report."""
    at, variance = frequencies(plan, law), np.zeros(sum(plan.schema.sizes))
    for report in np.argwhere(law):
        moved = law * (1 - STEP)
        moved[tuple(report)] += STEP
        variance += law[tuple(report)] * ((frequencies(plan, moved) - at) / STEP) ** 2
    return np.asarray(np.sqrt(variance))


@pytest.mark.parametrize("name", PLANS)
def test_the_estimate_is_unbiased_and_its_standard_error_is_its_spread(name: str) -> None:
    plan = PLANS[name]
    answers = made_up_law(plan.schema.sizes)
    law = law_of(plan, answers)
    found = estimate([(plan, counts_like(plan, law))], "unbiased").attributes.values()
    for own, true in zip(found, marginals_of(answers), strict=True):
        np.testing.assert_allclose(own.frequencies, true, atol=1e-9)
    errors = np.concatenate([own.standard_errors for own in found])
    np.testing.assert_allclose(errors * np.sqrt(PEOPLE), spread(plan, law), rtol=1e-3)
