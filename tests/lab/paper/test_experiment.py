"""The lab's estimators on arrays of runs are the product's, run by run."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from privtally.collector.copies import COPY_RULES
from privtally.collector.copies import copy_probabilities as product_copies
from privtally.collector.estimate import estimate
from privtally.collector.learn import learn
from privtally.collector.tally import count
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan, design
from privtally.lab.paper.experiments import Setting, debias, normalised, run_errors
from privtally.lab.population import Synthetic
from privtally.mechanisms.channels import Keep, randomized_response
from privtally.mechanisms.fills import RowFill
from privtally.names import Rule
from tests.support import plan_of, schema_of

SIZES = (4, 4, 4)


def some_counts(plan: Plan, seed: int) -> Counts:
    return count(plan, np.random.default_rng(seed).integers(0, 4, (300, 3), dtype=np.uint8))


def reported(counts: Counts) -> list[np.ndarray]:
    return list(counts.attributes)


def frequencies(plan: Plan, counts: Counts) -> list[tuple[float, ...]]:
    return [attribute.frequencies for attribute in estimate([(plan, counts)], "paper").attributes.values()]


def rows_of(plan: Plan) -> tuple[tuple[float, ...], ...]:
    """The priors of an RS+RFD plan."""
    (part,) = plan.parts
    assert isinstance(part.fill, RowFill)
    return part.fill.rows


def asked(epsilon: float) -> Keep:
    return randomized_response(Fraction(epsilon), 4)


def test_spl() -> None:
    plan = design(schema_of(SIZES), 1.0, "spl")
    counts = some_counts(plan, 1)
    for mine, theirs in zip(reported(counts), frequencies(plan, counts), strict=True):
        assert debias(mine, asked(1 / 3)) == pytest.approx(theirs, abs=1e-12)


def test_rs_fd() -> None:
    plan = design(schema_of(SIZES), 1.0, "rs-fd")
    counts = some_counts(plan, 2)
    for mine, theirs in zip(reported(counts), frequencies(plan, counts), strict=True):
        assert debias(mine, asked(1.0), 3, 1 / 4) == pytest.approx(theirs, abs=1e-12)


def test_rs_rfd() -> None:
    plan = plan_of("rs-rfd", SIZES, epsilon=0.4)
    counts = some_counts(plan, 3)
    for mine, prior, theirs in zip(reported(counts), rows_of(plan), frequencies(plan, counts), strict=True):
        raw = debias(mine, asked(0.4), 3, np.array(prior))
        assert normalised(raw, 1) == pytest.approx(theirs, abs=1e-12)


def test_corr_rr() -> None:
    plan = plan_of("corr-rr", SIZES, epsilon=0.4)
    counts = some_counts(plan, 4)
    for mine, theirs in zip(reported(counts), frequencies(plan, counts), strict=True):
        assert debias(mine, asked(0.4)) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("rule", tuple(COPY_RULES))
def test_copy_probabilities(rule: Rule) -> None:
    made_up = np.random.default_rng(5)
    runs = [[made_up.dirichlet(np.ones(4)) * 1.3 - 0.075 for _ in range(3)] for _ in range(20)]
    together = [np.array([run[own] for run in runs]) for own in range(3)]
    for place, run in enumerate(runs):
        theirs = product_copies(run, 0.5, 5_000, rule)
        for pivot, other in permutations(range(3), 2):
            mine = COPY_RULES[rule](together[pivot], together[other], float(asked(0.5).scale), 5_000)
            assert mine[place] == pytest.approx(theirs[pivot][other], abs=1e-9)


def test_priors() -> None:
    plan = design(schema_of(SIZES), 0.5, "rs-rfd")
    counts = some_counts(plan, 6)
    for mine, theirs in zip(reported(counts), rows_of(learn([(plan, counts)])), strict=True):
        assert normalised(debias(mine, asked(0.5 / 3))) == pytest.approx(theirs, abs=1e-9)


def test_errors_fall_as_the_theory_says() -> None:
    """SPL's error is its variance: the mean over labels of π(1 − π)/(n λ²), up to the people's own spread."""
    setting = Setting(Synthetic("SynA", 2, 4, 0.5), 20_000, 1.0, 0.1)
    errors = run_errors(setting, ("SPL",), 4_000, np.random.default_rng(1))["SPL"]
    lam = float(asked(0.5).scale)
    f = Synthetic("SynA", 2, 4, 0.5).law()
    marginals = [f.sum(axis=1), f.sum(axis=0)]
    keep, change = lam + (1 - lam) / 4, (1 - lam) / 4
    variance = [np.mean(m * keep * (1 - keep) + (1 - m) * change * (1 - change)) / (20_000 * lam**2) for m in marginals]
    # Six standard errors: refused with probability 2e-9 if right.
    assert abs(errors.mean() - np.mean(variance)) < 6 * errors.std() / np.sqrt(len(errors))
    assert abs(errors.mean() - 1.1 * np.mean(variance)) > 6 * errors.std() / np.sqrt(len(errors))
