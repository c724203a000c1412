"""RS+RFD with public priors, in one phase: whatever the priors are, reports are as private and estimates unbiased.

The chi-square tests run on fixed seeds and accept above p = 1e-9; each has a control that must fail.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from privtally.collector.estimate import estimate
from privtally.documents.campaign import drive
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.lab.population import seeded
from privtally.mechanisms.fills import RowFill
from privtally.names import Method
from privtally.privacy.loss import certify, dump_certificate, losses
from privtally.privacy.verify import verify
from tests.support import all_laws, chi_square_p, exp_below, expected_counts, first_plan, schema_of, worst_ratio

SIZES = (2, 3, 2)
TRUTH = np.array([[[8, 1], [3, 0.75], [1, 0.75]], [[1, 1], [1, 2], [2, 12]]]) / 33.5
"""Answers to three questions that go together."""
OPTIONS: dict[str, dict[str, Any]] = {
    "all shown": {},
    "one decoy": {"decoys": 1},
    "groups": {"groups": (("q2", "q0"), ("q1",))},
    "two pivots": {"pivots": 2},
}
MARGINALS = [TRUTH.sum(axis=tuple({0, 1, 2} - {own})) for own in range(3)]
ROWS: dict[str, list[list[float]]] = {
    "the truth": [own.tolist() for own in MARGINALS],
    "the truth turned": [own[::-1].tolist() for own in MARGINALS],
    "one answer for sure": [[1.0] + [0.0] * (size - 1) for size in SIZES],
}
EVERY = pytest.mark.parametrize(("options", "rows"), [(options, rows) for options in OPTIONS for rows in ROWS])


def plan_from(options: str, rows: str) -> Plan:
    shares = zip(schema_of(SIZES).attributes, ROWS[rows], strict=True)
    priors = {own.name: dict(zip(own.labels, row, strict=True)) for own, row in shares}
    return first_plan(SIZES, 1.0, "rs-rfd", priors=priors, **OPTIONS[options])


def frequencies(plan: Plan, counts: Counts, method: Method) -> np.ndarray:
    return np.concatenate([own.frequencies for own in estimate([(plan, counts)], method).attributes.values()])


@EVERY
def test_no_prior_costs_any_privacy(options: str, rows: str) -> None:
    plan = plan_from(options, rows)
    laws = list(all_laws(plan.mechanism).values())
    assert all(sum(law.values()) == 1 for law in laws)
    worst = worst_ratio(laws)
    assert worst <= plan.mechanism.ratio <= exp_below(Fraction(1))
    assert worst == losses(plan.mechanism)[-1].ratio
    verify(plan.dump(), dump_certificate(certify(plan)))


@EVERY
def test_no_prior_biases_the_estimates(options: str, rows: str) -> None:
    plan = plan_from(options, rows)
    counts = expected_counts(plan, TRUTH, 1e13)
    methods: tuple[Method, ...] = ("unbiased", "paper", "likelihood")
    for method in methods:
        assert frequencies(plan, counts, method) == pytest.approx(np.concatenate(MARGINALS), abs=1e-5), method


def test_reports_that_are_read_with_other_priors_are_biased() -> None:
    """The control: the plan that reports answer is what makes them unbiased."""
    plan, other = plan_from("all shown", "the truth"), plan_from("all shown", "the truth turned")
    counts = replace(expected_counts(plan, TRUTH, 1e13), plan=other.digest)
    assert np.abs(frequencies(other, counts, "unbiased") - np.concatenate(MARGINALS)).max() > 0.1


@EVERY
def test_the_sampler_draws_decoys_from_the_priors(options: str, rows: str) -> None:
    mechanism = plan_from(options, rows).mechanism
    reports = mechanism.privatise(np.tile(np.array([1, 2, 0], dtype=np.uint8), (100_000, 1)), seeded(5))
    assert chi_square_p(reports, mechanism.law((1, 2, 0))) > 1e-9
    others = (plan_from(options, name).mechanism for name in ROWS if name != rows)
    assert all(chi_square_p(reports, other.law((1, 2, 0))) < 1e-9 for other in others)


@pytest.mark.parametrize("rounds", [1, 3])
def test_nothing_is_learned(rounds: int) -> None:
    plan = plan_from("all shown", "the truth")

    def follow(_: object) -> Plan:
        raise AssertionError("there is nothing to learn")

    history = drive(plan, lambda own: expected_counts(own, TRUTH, 1e4), follow, rounds=rounds)
    assert [own.round for own, _ in history] == list(range(1, rounds + 1))
    assert all(own.has_priors and not own.learns and own.parts == plan.parts for own, _ in history)
    assert isinstance(plan.parts[0].fill, RowFill)
    assert first_plan(SIZES, 1.0, "rs-rfd").learns  # the control
