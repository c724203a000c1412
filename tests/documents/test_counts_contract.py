"""Counts add in any order and survive their round trip, whatever they keep."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from privtally.collector.tally import count, nothing, tally
from privtally.documents.counts import Counts, load_counts
from privtally.documents.plan import Plan
from privtally.lab.seed import seeded
from privtally.participant.respond import respond_many
from privtally.schema import Records
from tests.mechanisms.test_contract import plan_and_records

limits = st.sampled_from([0, 1, 5, 20, 100_000])


def cut(codes: np.ndarray, seed: int) -> list[np.ndarray]:
    return np.array_split(codes[np.random.default_rng(seed).permutation(len(codes))], 3)


@given(plan_and_records(), st.integers(0, 100), limits)
def test_counts_add_in_any_order(case: tuple[Plan, Records], seed: int, limit: int) -> None:
    plan, records = case
    codes = respond_many(plan, records, seeded(seed)).codes
    together = count(plan, codes, limit)
    one, two, three = (count(plan, piece, limit) for piece in cut(codes, seed))
    assert (one + two) + three == together
    assert one + (two + three) == together
    assert three + one + two == together
    assert together + nothing(plan, limit) == together


@given(plan_and_records(), st.integers(0, 100), st.lists(limits, min_size=3, max_size=3))
def test_different_limits_add_to_the_smallest_in_any_order(
    case: tuple[Plan, Records], seed: int, three_limits: list[int]
) -> None:
    plan, records = case
    codes = respond_many(plan, records, seeded(seed)).codes
    one, two, three = (count(plan, piece, limit) for piece, limit in zip(cut(codes, seed), three_limits, strict=True))
    assert (one + two) + three == one + (two + three) == count(plan, codes, min(three_limits))


@given(plan_and_records(), st.integers(0, 100), limits)
def test_counts_survive_their_round_trip(case: tuple[Plan, Records], seed: int, limit: int) -> None:
    plan, records = case
    counts = count(plan, respond_many(plan, records, seeded(seed)).codes, limit)
    again = load_counts(counts.dump(), plan)
    assert again == counts
    assert again.digest == counts.digest


@given(plan_and_records(), st.integers(0, 100), limits)
def test_reports_are_tallied_as_their_codes_are_counted(case: tuple[Plan, Records], seed: int, limit: int) -> None:
    plan, records = case
    reports = respond_many(plan, records, seeded(seed))
    found = tally(plan, [*reports, *list(reports)[:3]], limit)
    assert found.counts == count(plan, reports.codes, limit)
    assert (found.repeated, found.set_aside) == (min(3, len(reports)), {})


@given(plan_and_records(least=1), st.integers(0, 100), limits)
def test_what_is_kept_agrees_with_the_codes(case: tuple[Plan, Records], seed: int, limit: int) -> None:
    plan, records = case
    codes = respond_many(plan, records, seeded(seed)).codes.astype(np.int64)
    counts = count(plan, codes.astype(np.uint8), limit)
    assert counts.reports == len(codes)
    for part, subs in counts.parts.items():
        rows, times = np.unique(codes[:, list(part)], axis=0, return_counts=True)
        assert (subs is None) == (len(rows) > limit)
        if subs is not None:
            assert subs.codes.tolist() == rows.tolist()
            assert subs.times.tolist() == times.tolist()
    for own, total in enumerate(counts.attributes):
        assert total.tolist() == np.bincount(codes[:, own], minlength=len(total)).tolist()
    assert len(counts.pair_tables) == codes.shape[1] * (codes.shape[1] - 1) // 2
    for (one, two), table in counts.pair_tables.items():
        direct = np.zeros_like(table)
        np.add.at(direct, (codes[:, one], codes[:, two]), 1)
        assert np.array_equal(table, direct)
        if table.shape[0] == table.shape[1]:
            assert_agreements(counts, one, two, np.diag(direct))


def assert_agreements(counts: Counts, one: int, two: int, expected: np.ndarray) -> None:
    for agreements in (counts.agreements(one, two), counts.agreements(two, one)):
        assert agreements is not None
        assert agreements.tolist() == expected.tolist()
