"""Any counts that a plan can have, honest or not, give an estimate, a next plan and an audit, or one refusal."""

import warnings
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privtally.collector.estimate import estimate
from privtally.collector.learn import learn
from privtally.collector.tally import count_times
from privtally.documents.campaign import Phase, refresh
from privtally.documents.estimate import Estimate
from privtally.documents.plan import Plan
from privtally.errors import PrivtallyError
from privtally.mechanisms.named import NAMED
from privtally.names import METHODS, RULES, Method
from privtally.privacy.audit import audit
from tests.mechanisms.test_contract import small_plan
from tests.scale import scaled
from tests.support import first_plan

EXAMPLES = scaled(150, 20_000)
TIMES = (1, 2, 30, 10**4, 10**9, 10**12)


@st.composite
def any_counts(draw: st.DrawFn, plan: Plan) -> Phase:
    """A few different reports, each any number of times: one-sided, contradictory, impossible, or next to none."""
    made_up = np.random.default_rng(draw(st.integers(0, 2**32)))
    many = draw(st.integers(1, 12))
    codes = made_up.integers(plan.mechanism.outputs, size=(many, plan.mechanism.width))
    for part in plan.mechanism.parts:
        for row in range(many):
            shown = made_up.choice(len(part.attributes), part.shown, replace=False)
            for place, own in enumerate(part.attributes):
                answers = part.answers[place]
                codes[row, own] = made_up.integers(answers) if place in shown else answers
    if draw(st.booleans()):
        codes[:] = codes[0]
    times = np.array(draw(st.lists(st.sampled_from(TIMES), min_size=many, max_size=many)))
    rows, number = np.unique(codes, axis=0, return_inverse=True)
    limit = draw(st.sampled_from([0, 3, 1 << 18]))
    return plan, count_times(plan, rows, np.bincount(number.ravel(), times, len(rows)).astype(np.int64), limit)


@st.composite
def any_history(draw: st.DrawFn) -> list[Phase]:
    plan = draw(small_plan)
    history = [draw(any_counts(plan))]
    if plan.phase == 1 and draw(st.booleans()):
        history.append(draw(any_counts(refresh([plan]))))
    return history


def assert_proper(found: Estimate) -> None:
    for own in found.attributes.values():
        assert np.isfinite([*own.frequencies, *own.standard_errors]).all()
        if found.method == "likelihood":
            low, high = np.array(own.low), np.array(own.high)
            assert ((low >= 0) & (low <= own.frequencies) & (own.frequencies <= high) & (high <= 1)).all()
            assert (high > low).all()
            assert abs(sum(own.frequencies) - 1) < 1e-9


@settings(max_examples=EXAMPLES)
@given(any_history(), st.sampled_from(METHODS))
def test_any_counts_give_a_result_or_a_refusal(history: list[Phase], method: Method) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            assert_proper(estimate(history, method))
        except PrivtallyError:
            # The default method has an answer to everything but several hidden pivots that were not kept whole.
            parts = [part for plan, _ in history for part in plan.mechanism.parts]
            assert method != "likelihood" or not all(part.linear for part in parts)
        if NAMED[history[0][0].name].learns:
            with suppress(PrivtallyError):
                audit(learn(history))


@given(small_plan)
def test_any_plan_has_an_audit(plan: Plan) -> None:
    assert 0 <= audit(plan)["realised"] <= plan.epsilon


@pytest.mark.parametrize("rule", RULES)
def test_alike_items_and_many_people_leave_no_negative_variance(rule: str) -> None:
    """Four items of five labels and 20,000 people who answer alike: this ended in the root of a negative number."""
    first = first_plan((5,) * 4, 1.0, "corr-rr")
    made_up = np.random.default_rng(4)
    rows = made_up.integers(0, 5, (400, 4))
    history = [(first, count_times(first, *np.unique(rows, axis=0, return_counts=True)))]
    second = learn(history, people=18_000, rule=rule)  # type: ignore[arg-type]
    copies = np.repeat(made_up.integers(0, 5, (3_000, 1)), 4, axis=1)
    history.append((second, count_times(second, *np.unique(copies, axis=0, return_counts=True))))
    assert_proper(estimate(history))
