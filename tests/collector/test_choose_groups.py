"""The groups of the next phase."""

from functools import cache

import numpy as np
import pytest

from privtally.collector.estimate import Phase, estimate
from privtally.collector.learn import learn
from privtally.documents.campaign import Campaign
from privtally.errors import PlanError
from privtally.mechanisms.fills import UniformFill
from privtally.names import MechanismName
from privtally.privacy.certificate import certify, dump_certificate
from privtally.privacy.verify import verify
from tests.collector.made_up import simulated
from tests.support import first_plan

FOUR = (3, 3, 3, 3)
LEARNING: tuple[MechanismName, ...] = ("rs-rfd", "corr-rr", "cond-rr")


@cache
def phase1(mechanism: MechanismName, epsilon: float) -> Phase:
    answers = np.random.default_rng(3).dirichlet(np.full(81, 0.5)).reshape(FOUR)
    plan = first_plan(FOUR, epsilon, mechanism)
    return plan, simulated(plan, answers, 3_000, np.random.default_rng(1))


@pytest.mark.parametrize(("epsilon", "groups"), [(1.0, ((0, 1, 2, 3),)), (6.0, ((0, 1), (2, 3)))])
@pytest.mark.parametrize("mechanism", LEARNING)
def test_the_choice_is_a_plan_of_the_campaign(
    mechanism: MechanismName, epsilon: float, groups: tuple[tuple[int, ...], ...]
) -> None:
    """What the choice depends on is known before anybody has answered."""
    first, counts = phase1(mechanism, epsilon)
    plan = learn([(first, counts)], groups="auto")
    assert tuple(part.attributes for part in plan.parts) == groups
    assert plan.groups == (groups if len(groups) > 1 else None)
    assert float(plan.sampler.ratio) == pytest.approx(np.exp(epsilon))
    verify(plan.dump(), dump_certificate(certify(plan)))
    assert len(Campaign.draft(first).open().close().follow(plan).plans) == 2
    again = (plan, simulated(plan, np.full(FOUR, 1 / 81), 500, np.random.default_rng(2)))
    assert len(estimate([(first, counts), again]).provenance.phases) == 2


def test_groups_may_be_named_anew() -> None:
    history = [phase1("corr-rr", 4.0)]
    plan = learn(history, groups=[["q3", "q0"], ["q1", "q2"]])
    assert plan.groups == ((3, 0), (1, 2))
    assert learn(history).groups is None
    with pytest.raises(PlanError, match="'q1'"):
        learn(history, groups=[["q3", "q0"], ["q2"]])
    unequal = first_plan((2, 3, 2, 3), 4.0, "corr-rr", groups=[["q0", "q2"], ["q1", "q3"]])
    counts = simulated(unequal, np.full((2, 3, 2, 3), 1 / 36), 500, np.random.default_rng(2))
    crossed = learn([(unequal, counts)], groups=[["q0", "q1"], ["q2", "q3"]])
    assert [part.fill for part in crossed.parts] == [UniformFill(), UniformFill()]
