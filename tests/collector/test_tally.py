"""Counts depend on the reports and on nothing else: not on batches, not on order, not on how they came in."""

from itertools import combinations

import msgspec
import numpy as np
import pytest

from privtally.collector import tally as tabulate
from privtally.collector.tally import count, count_times, nothing, tally
from privtally.documents import counts as sub_reports
from privtally.documents.counts import check_counts, load_counts
from privtally.documents.plan import Plan
from privtally.documents.report import Report, Reports
from privtally.errors import CountsError, ReportError
from privtally.lab.population import seeded
from privtally.participant.respond import respond_many
from privtally.schema import Records
from tests.collector.made_up import plans_of_every_kind, two_groups, two_pivots
from tests.support import first_plan, plan_of

PLANS = plans_of_every_kind()


def reports_to(plan: Plan, people: int = 300) -> Reports:
    made_up = np.random.default_rng(1)
    codes = np.column_stack([made_up.integers(0, size, people) for size in plan.schema.sizes]).astype(np.uint8)
    return respond_many(plan, Records(plan.schema, codes), seeded(1))


@pytest.mark.parametrize("name", PLANS)
def test_reports_and_their_codes_count_the_same(name: str) -> None:
    plan = PLANS[name]
    reports = reports_to(plan)
    tallied = tally(plan, reports)
    assert tallied == count(plan, reports.codes)
    assert (tallied.repeated, tallied.set_aside) == (0, {})
    assert tallied.reports == len(reports)
    check_counts(plan, tallied)
    assert load_counts(tallied.dump(), plan) == tallied


@pytest.mark.parametrize("limit", [5, 1_000])
@pytest.mark.parametrize("name", PLANS)
def test_counts_are_the_same_whatever_the_batches(name: str, limit: int) -> None:
    """Also where some batches alone stay within the limit and all of them together do not."""
    plan = PLANS[name]
    reports = reports_to(plan)
    whole = count(plan, reports.codes, limit)
    by_halves = count(plan, reports.codes[:2], limit) + count(plan, reports.codes[2:], limit)
    turned = count(plan, reports.codes[::-1], limit)
    distinct, times = np.unique(reports.codes, axis=0, return_counts=True)
    for other in (
        by_halves,
        turned,
        tally(plan, reports, limit),
        count_times(plan, distinct, times, limit),
        nothing(plan, limit) + whole,
    ):
        assert other == whole
        assert other.digest == whole.digest


@pytest.mark.parametrize("limit", [5, 1_000])
@pytest.mark.parametrize("name", PLANS)
def test_more_reports_than_are_looked_at_together(name: str, limit: int) -> None:
    """Each report many times in a row: the first ones looked at have few distinct reports."""
    plan = PLANS[name]
    distinct, times = np.unique(reports_to(plan).codes, axis=0, return_counts=True)
    times = times * (1 + 600_000 // int(times.sum()))
    assert count(plan, np.repeat(distinct, times, axis=0), limit) == count_times(plan, distinct, times, limit)


@pytest.mark.parametrize(("limit", "kept"), [(3, False), (4, True)])
def test_as_many_distinct_reports_as_the_limit_are_kept(limit: int, kept: bool) -> None:
    plan = plan_of("rs-fd", (2, 2))
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.uint8)
    for counts in (count(plan, codes, limit), count(plan, codes[:2], limit) + count(plan, codes[1:], limit)):
        assert (counts.parts[0, 1] is not None) == kept
        assert bool(counts.pairs) != kept


def with_codes(report: Report, codes: tuple[int | None, ...]) -> Report:
    return msgspec.structs.replace(report, codes=codes)


def test_the_same_report_again_is_repeated_and_other_codes_under_its_id_conflict() -> None:
    plan = first_plan((2, 2))
    first, second, *rest = list(reports_to(plan, 20))
    other = with_codes(first, (1 - int(first.codes[0] or 0), first.codes[1]))
    tallied = tally(plan, [first, second, first, other, other, second, *rest, first])
    assert (tallied.repeated, tallied.set_aside) == (1, {"id_conflict": 5})
    assert tallied == tally(plan, [second, *rest])


def test_silence_is_counted_after_the_last_code() -> None:
    plan = two_groups(None, None, (2, 3, 2, 2))
    report = Report(plan.digest, "0" * 32, (1, None, None, 0))
    counts = tally(plan, [report])
    assert [own.tolist() for own in counts.attributes] == [[0, 1, 0], [0, 0, 0, 1], [0, 0, 1], [1, 0, 0]]
    with pytest.raises(ReportError):
        tally(plan, [with_codes(report, (1, 0, 0, None))])
    with pytest.raises(ReportError, match="q1"):
        tally(plan, [with_codes(report, (1, 3, None, None))])


@pytest.mark.parametrize(
    ("plan", "codes", "word"),
    [
        (first_plan((2, 3)), [[0, 3]], "q1"),
        (first_plan((2, 3)), [[-1, 0]], "q0"),
        (first_plan((2, 3)), [[0, 0, 0]], "2"),
        (plan_of("smp", (2, 3)), [[0, 3], [0, 0]], "1 of 2"),
        (plan_of("smp", (2, 3)), [[2, 3]], "1 of 2"),
        (two_pivots(None), [[0, 3, 2]], "2 of 3"),
        (first_plan((2, 3)), [[0.5, 0.0]], "integers"),
    ],
)
def test_codes_that_no_report_can_have_are_refused(plan: Plan, codes: list[list[float]], word: str) -> None:
    with pytest.raises(CountsError, match=word):
        count(plan, np.array(codes))


def test_counts_of_different_plans_do_not_add() -> None:
    one, two = first_plan((2, 2)), first_plan((2, 2), 2.0)
    with pytest.raises(CountsError, match=one.digest[:12]):
        nothing(one) + nothing(two)


def test_a_report_to_another_plan_is_refused() -> None:
    one, two = first_plan((2, 2)), first_plan((2, 2), 2.0)
    with pytest.raises(ReportError, match=two.digest[:12]):
        tally(two, reports_to(one, 3))


def test_no_reports_are_counts_too() -> None:
    for plan in PLANS.values():
        assert tally(plan, []) == nothing(plan)
        assert nothing(plan).reports == 0


def test_blocks_of_attributes_give_the_tables_of_all_pairs() -> None:
    """Nine attributes of 2 to 300 labels: several blocks, one attribute that is a block by itself, and every pair."""
    outputs = (4, 4, 4, 4, 300, 5, 7, 2, 16)
    made_up = np.random.default_rng(2)
    codes = np.column_stack([made_up.integers(0, size, 500) for size in outputs]).astype(np.uint16)
    pairs = list(combinations(range(len(outputs)), 2))
    tables = tabulate.tabulate(codes, outputs, tabulate.covering(outputs, range(len(outputs)), pairs))
    one_way, two_way = tabulate.one_way(tables, outputs), tabulate.two_way(tables, outputs)
    for own, size in enumerate(outputs):
        np.testing.assert_array_equal(one_way[own], np.bincount(codes[:, own], minlength=size))
    for one, two in pairs:
        expected = np.zeros((outputs[one], outputs[two]), dtype=np.int64)
        np.add.at(expected, (codes[:, one], codes[:, two]), 1)
        np.testing.assert_array_equal(two_way[one, two], expected)


@pytest.mark.parametrize("kind", [np.uint8, np.uint32, np.uint64, np.int64])
def test_distinct_rows_are_exact_for_codes_of_every_type(kind: type[np.integer]) -> None:
    """Twenty attributes of eight codes: numbers up to 2^60, which floats do not tell apart."""
    codes = np.zeros((512, 20), dtype=kind)
    codes[:, 0], codes[:, -3:] = 7, np.stack(np.unravel_index(np.arange(512), (8, 8, 8)), axis=1)
    found = sub_reports.distinct((8,) * 20, codes, np.ones(512, dtype=np.int64))
    np.testing.assert_array_equal(found.codes, codes)


@pytest.mark.parametrize("reports", [0, 1, 2, 200])
def test_distinct_rows_too_wide_for_one_number_keep_their_order(reports: int) -> None:
    """Seventy attributes of five codes: 5^70 possible rows."""
    outputs = (5,) * 70
    made_up = np.random.default_rng(3)
    codes = made_up.integers(0, 5, (40, 70))[made_up.integers(0, 40, reports)]
    times = made_up.integers(1, 9, reports)
    found = sub_reports.distinct(outputs, codes, times)
    rows, index = np.unique(codes, axis=0, return_inverse=True)
    np.testing.assert_array_equal(found.codes, rows)
    np.testing.assert_array_equal(found.times, np.bincount(index.ravel(), times).astype(np.int64))
