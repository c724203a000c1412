"""Campaigns in groups: what is learned for each group, and that estimates find known frequencies again."""

from functools import cache

import numpy as np
import pytest

from privtally.collector.estimate import History, estimate, unbiased
from privtally.collector.learn import learn
from privtally.collector.learn.rules import copy_probabilities
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.mechanisms.fills import CopyFill, RowFill, TableFill
from privtally.names import MechanismName, Method, Rule
from tests.collector.made_up import simulated
from tests.support import first_plan

SIZES = (3, 2, 3, 2, 4)
GROUPS = [["q2", "q0"], ["q4"], ["q1", "q3"]]
PLACES = ((2, 0), (4,), (1, 3))


@cache
def population() -> np.ndarray:
    """Answers that go together, of which some are rare."""
    return np.random.default_rng(8).dirichlet(np.full(int(np.prod(SIZES)), 0.3)).reshape(SIZES)


def phase(plan: Plan, people: int, seed: int) -> History:
    return [(plan, simulated(plan, population(), people, np.random.default_rng(seed)))]


@cache
def started(mechanism: MechanismName) -> History:
    return phase(first_plan(SIZES, 6.0, mechanism, groups=GROUPS), 4_000, 1)


@pytest.mark.parametrize(("mechanism", "kind"), [("rs-rfd", RowFill), ("corr-rr", CopyFill), ("cond-rr", TableFill)])
def test_the_next_plan_has_a_part_for_each_group(mechanism: MechanismName, kind: type) -> None:
    plan = learn(started(mechanism))
    assert plan.groups == PLACES == tuple(part.attributes for part in plan.parts)
    assert [type(part.fill) for part in plan.parts] == [kind, type(None), kind]
    assert float(plan.sampler.ratio) == pytest.approx(np.exp(6.0))
    assert learn([*started(mechanism), *phase(plan, 4_000, 2)]).groups == PLACES


def test_rows_are_those_of_the_group_s_own_attributes() -> None:
    plan, whole = learn(started("rs-rfd")), first_plan(SIZES, 6.0, "rs-rfd")
    (rows,) = (part.fill for part in learn([(whole, _as_counts_of(whole))]).parts)
    assert isinstance(rows, RowFill)
    for part in plan.parts:
        if isinstance(part.fill, RowFill):
            assert part.fill.rows == tuple(rows.rows[own] for own in part.attributes)


def test_tables_are_those_of_the_group_s_own_attributes() -> None:
    plan, whole = learn(started("cond-rr")), first_plan(SIZES, 6.0, "cond-rr")
    (tables,) = (part.fill for part in learn([(whole, _as_counts_of(whole))]).parts)
    assert isinstance(tables, TableFill)
    wanted = {(table.pivots[0], table.other): table.rows for table in tables.tables}
    for part in plan.parts:
        if isinstance(part.fill, TableFill):
            for table in part.fill.tables:
                places = part.attributes[table.pivots[0]], part.attributes[table.other]
                assert np.array(table.rows) == pytest.approx(np.array(wanted[places]), abs=1e-6)


def _as_counts_of(plan: Plan) -> Counts:
    """The counts of the same reports to a plan without groups: the first phases of both are SPL."""
    return simulated(plan, population(), 4_000, np.random.default_rng(1))


@pytest.mark.parametrize("rule", ["proposition", "published"])
def test_the_paper_s_rules_look_at_one_group_with_its_budget(rule: Rule) -> None:
    history = started("corr-rr")
    frequencies = unbiased(history, []).frequencies
    for part in learn(history, rule=rule, people=9_000).parts:
        if isinstance(part.fill, CopyFill):
            own = [frequencies[place] for place in part.attributes]
            assert part.fill.probability == copy_probabilities(own, 2.0, 9_000, rule)


@pytest.mark.parametrize("method", ["unbiased", "likelihood"])
@pytest.mark.parametrize("mechanism", ["smp", "rs-fd", "rs-rfd", "corr-rr", "cond-rr"])
def test_known_frequencies_are_found_again(mechanism: MechanismName, method: Method) -> None:
    """14 frequencies within five standard errors, at fixed seeds; shuffled frequencies are further away."""
    history = list(phase(first_plan(SIZES, 6.0, mechanism, groups=GROUPS), 20_000, 4))
    if mechanism not in ("smp", "rs-fd"):
        history += phase(learn(history, people=80_000), 80_000, 5)
    found = estimate(history, method).attributes
    scores, controls = [], []
    for own, attribute in enumerate(found.values()):
        truth = population().sum(axis=tuple(axis for axis in range(5) if axis != own))
        frequencies, errors = np.array(attribute.frequencies), np.array(attribute.standard_errors)
        scores += list(np.abs(frequencies - truth) / errors)
        controls += list(np.abs(frequencies - np.roll(truth, 1)) / errors)
    assert max(scores) < 5
    assert max(controls) > 5
