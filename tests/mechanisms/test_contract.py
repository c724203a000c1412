"""One suite that every mechanism passes, on any schema."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from privtally.collector.estimate import estimate
from privtally.collector.tally import count
from privtally.documents.plan import Plan, load_plan
from privtally.documents.report import check_report, load_report
from privtally.exact.rational import nearest_distribution
from privtally.lab.population import seeded
from privtally.mechanisms.fills import AnyFill, RowFill, UniformFill
from privtally.mechanisms.named import PartPlan
from privtally.names import MECHANISMS, MechanismName
from privtally.participant.respond import respond_many
from privtally.schema import Records
from tests.support import aligned_fill, part_of, plan_of, plan_with, table_fill


@st.composite
def named_plan(draw: st.DrawFn, width: int = 4, labels: int = 6) -> Plan:
    mechanism: MechanismName = draw(st.sampled_from(MECHANISMS))
    attributes = draw(st.integers(1 if mechanism in ("spl", "smp", "rs-fd") else 2, width))
    if mechanism == "corr-rr":
        sizes = [draw(st.integers(2, labels))] * attributes
    else:
        sizes = draw(st.lists(st.integers(2, labels), min_size=attributes, max_size=attributes))
    epsilon = draw(st.floats(0.01, 8, allow_nan=False))
    return plan_of(mechanism, sizes, epsilon, seed=draw(st.integers(0, 1000)))


@st.composite
def plan_of_any_parts(draw: st.DrawFn, width: int = 4, labels: int = 4) -> Plan:
    """A few attributes in any groups, any number of them asked, any fill."""
    sizes = draw(st.lists(st.integers(2, labels), min_size=1, max_size=width))
    order = draw(st.permutations(range(len(sizes))))
    cuts = sorted(draw(st.sets(st.integers(1, len(sizes)), max_size=2)) | {0, len(sizes)})
    made_up = np.random.default_rng(draw(st.integers(0, 1000)))
    parts = tuple(draw(any_part(tuple(order[one:two]), sizes, made_up)) for one, two in pairwise(cuts))
    return plan_with(parts, sizes, draw(st.floats(0.01, 8, allow_nan=False)))


@st.composite
def any_part(
    draw: st.DrawFn, attributes: tuple[int, ...], sizes: Sequence[int], made_up: np.random.Generator
) -> PartPlan:
    own = [sizes[attribute] for attribute in attributes]
    pivots = draw(st.integers(1, len(own)))
    decoys = draw(st.integers(0, len(own) - pivots))
    if not decoys:
        return part_of(attributes, pivots, None)
    rows = RowFill(tuple(nearest_distribution(made_up.dirichlet(np.ones(size))) for size in own))
    fills: list[AnyFill] = [UniformFill(), rows, table_fill(own, pivots, made_up)]
    if pivots == 1:
        fills.append(aligned_fill(own, made_up))
    return part_of(attributes, pivots, draw(st.sampled_from(fills)), decoys)


any_plan = st.one_of(named_plan(), plan_of_any_parts())
small_plan = st.one_of(named_plan(3, 4), plan_of_any_parts(3, 3))
linear_plan = any_plan.filter(lambda plan: all(part.linear for part in plan.mechanism.parts))
"""Plans whose reported frequencies follow from the frequencies of every attribute by itself."""


@st.composite
def plan_and_records(
    draw: st.DrawFn, least: int = 0, plans: st.SearchStrategy[Plan] = any_plan
) -> tuple[Plan, Records]:
    plan = draw(plans)
    people = draw(st.integers(least, 200))
    made_up = np.random.default_rng(draw(st.integers(0, 1000)))
    columns = [made_up.integers(0, size, people, dtype=np.uint8) for size in plan.schema.sizes]
    return plan, Records(plan.schema, np.column_stack(columns))


@given(plan_and_records(), st.integers(0, 1000))
def test_every_report_passes_its_plans_check_and_its_round_trip(case: tuple[Plan, Records], seed: int) -> None:
    plan, records = case
    reports = respond_many(plan, records, seeded(seed))
    assert reports.codes.shape == (len(records), plan.mechanism.width)
    for report, codes in zip(reports, reports.codes.tolist(), strict=True):
        assert load_report(report.dump()) == report
        assert check_report(plan, report) == codes


@given(any_plan)
def test_a_plan_survives_its_round_trip(plan: Plan) -> None:
    again = load_plan(plan.dump())
    assert again == plan
    assert again.digest == plan.digest
    assert again.dump() == plan.dump()


@settings(deadline=None)
@given(plan_and_records(least=60, plans=linear_plan), st.integers(0, 1000), st.sampled_from(["paper", "unbiased"]))
def test_the_frequencies_of_every_attribute_sum_to_one(case: tuple[Plan, Records], seed: int, method: str) -> None:
    plan, records = case
    counts = count(plan, respond_many(plan, records, seeded(seed)).codes)
    result = estimate([(plan, counts)], "paper" if method == "paper" and plan.together is None else "unbiased")
    for attribute in result.attributes.values():
        assert abs(sum(attribute.frequencies) - 1) < 1e-8
        assert all(error > 0 for error in attribute.standard_errors)


def test_records_of_any_type_and_layout_draw_the_same() -> None:
    sampler = plan_of("corr-rr", (4, 4, 4)).mechanism
    records = np.random.default_rng(2).integers(0, 4, (1_000, 3), dtype=np.uint8)
    expected = sampler.privatise(records, seeded(1))
    for layout in (records, np.asfortranarray(records), np.repeat(records, 2, axis=0)[::2]):
        for kind in (np.uint8, np.uint16):
            assert np.array_equal(sampler.privatise(layout.astype(kind, order="K"), seeded(1)), expected)
