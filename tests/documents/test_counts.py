"""What counts keep of reports, their document, and what is refused."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privtally.collector.tally import count, nothing
from privtally.documents.counts import MAX_PAIR_CELLS, Counts, check_counts, load_counts, pair_cells
from privtally.documents.plan import Plan
from privtally.errors import CountsError
from privtally.exact.canonical import MAX_INTEGER
from privtally.lab.population import seeded
from privtally.mechanisms.fills import UniformFill
from privtally.participant.respond import respond_many
from privtally.schema import Records
from tests.mechanisms.test_contract import plan_and_records
from tests.support import EXTENDED_PLANS, part_of, plan_of, plan_with

ALONE = plan_of("spl", (2, 3))
TOGETHER = plan_of("rs-fd", (2, 3))
CODES = np.array([[0, 2], [1, 1], [0, 2], [1, 0]], dtype=np.uint8)
PAIRS = [[0, 0, 2], [1, 1, 0]]
GROUPS = plan_with(*EXTENDED_PLANS["groups, uniform"])
GROUP_CODES = np.array([[0, 1, 2, 0], [0, 1, 2, 1], [1, 0, 2, 0], [0, 1, 2, 0], [2, 0, 0, 0]], dtype=np.uint8)


def subs_of(counts: Counts, part: tuple[int, ...]) -> tuple[list[list[int]], list[int]]:
    subs = counts.parts[part]
    assert subs is not None
    return subs.codes.tolist(), subs.times.tolist()


def test_parts_of_one_attribute_keep_pairwise_tables() -> None:
    counts = count(ALONE, CODES)
    assert counts.parts == {}
    assert {pair: table.tolist() for pair, table in counts.pairs.items()} == {(0, 1): PAIRS}


def test_sub_reports_of_a_part_are_kept_in_order() -> None:
    counts = count(TOGETHER, CODES)
    assert subs_of(counts, (0, 1)) == ([[0, 2], [1, 0], [1, 1]], [2, 1, 1])
    assert counts.pairs == {}
    assert counts.pair_tables[0, 1].tolist() == PAIRS


def test_every_part_keeps_its_own_sub_reports_and_pairs_lie_across_parts() -> None:
    """Groups (2, 0) and (1, 3): sub-reports have their codes in the order of the part."""
    counts = count(GROUPS, GROUP_CODES)
    assert subs_of(counts, (2, 0)) == ([[0, 2], [2, 0], [2, 1]], [1, 3, 1])
    assert subs_of(counts, (1, 3)) == ([[0, 0], [1, 0], [1, 1]], [2, 2, 1])
    assert list(counts.pairs) == [(0, 1), (0, 3), (1, 2), (2, 3)]


def test_each_part_passes_the_limit_by_itself() -> None:
    more = np.concatenate([GROUP_CODES, [[1, 1, 1, 1]]]).astype(np.uint8)
    counts = count(GROUPS, more, limit=3)
    assert counts.parts[2, 0] is None
    assert counts.parts[1, 3] is not None
    assert list(counts.pairs) == [(0, 1), (0, 2), (0, 3), (1, 2), (2, 3)]
    assert load_counts(counts.dump(), GROUPS) == counts
    one, two = count(GROUPS, more[:3], limit=3), count(GROUPS, more[3:], limit=3)
    assert one.parts[2, 0] is not None
    assert two.parts[2, 0] is not None
    assert one + two == two + one == counts


def test_very_large_schemas_keep_what_needs_no_pairwise_tables() -> None:
    plan = plan_of("spl", (3_000, 3_000))
    assert pair_cells(plan.schema.sizes) > MAX_PAIR_CELLS
    codes = np.random.default_rng(0).integers(0, 3_000, (50, 2), dtype=np.uint16)
    counts = count(plan, codes)
    assert (counts.parts, counts.pairs, counts.pair_tables) == ({}, {}, {})
    assert counts.agreements(0, 1) is None
    assert load_counts(counts.dump(), plan) == counts
    together = plan_of("rs-fd", (3_000, 3_000))
    for limit, kept in ((10, False), (50, True)):
        counts = count(together, codes, limit)
        assert (counts.parts[0, 1] is not None) == kept
        assert (counts.agreements(0, 1) is not None) == kept
        assert load_counts(counts.dump(), together) == counts
        assert counts + counts == count(together, np.concatenate([codes, codes]), limit)


def test_what_is_kept_is_said() -> None:
    details = [count(plan, CODES, limit).detail for plan, limit in ((ALONE, 9), (TOGETHER, 9), (TOGETHER, 2))]
    assert len(set(details)) == 2
    assert "3" in details[1]


SILENT: dict[str, tuple[Plan, list[list[int]], list[list[int]]]] = {
    "smp": (plan_of("smp", (2, 3)), [[0, 3], [2, 1]], [[0, 1], [2, 3]]),
    "two pivots": (
        plan_with(*EXTENDED_PLANS["two pivots, silent"]),
        [[0, 1, 2], [2, 0, 1], [1, 3, 1], [0, 3, 0]],
        [[0, 1, 1], [2, 3, 1], [1, 3, 1], [0, 3, 0]],
    ),
    "groups": (
        plan_with(*EXTENDED_PLANS["groups, silent"]),
        [[0, 2, 3, 1], [3, 1, 0, 2]],
        [[0, 2, 0, 1], [3, 1, 3, 2]],
    ),
}
"""A plan with silent parts, reports that it can get, and as many that answer too much and too little in turn."""


@pytest.mark.parametrize(("plan", "good", "bad"), SILENT.values(), ids=SILENT)
@pytest.mark.parametrize("limit", [0, 100])
def test_reports_to_a_silent_part_answer_as_often_as_it_asks(
    plan: Plan, good: list[list[int]], bad: list[list[int]], limit: int
) -> None:
    """The bad reports answer as many attributes in all: their pairs, or they themselves, give them away."""
    counts = count(plan, np.array(good, dtype=np.uint8), limit)
    assert load_counts(counts.dump(), plan) == counts
    with pytest.raises(CountsError, match="show"):
        count(plan, np.array(bad, dtype=np.uint8), limit)
    # The same reports to a plan that is silent about nothing, under the name of the silent one.
    outspoken = plan_with(
        tuple(part_of(part.attributes, 1, UniformFill()) for part in plan.parts), plan.mechanism.outputs
    )
    document = json.loads(count(outspoken, np.array(bad, dtype=np.uint8), limit).dump())
    document["plan"] = plan.digest
    load_counts(json.dumps(document))
    with pytest.raises(CountsError, match="show"):
        load_counts(json.dumps(document), plan)


def test_sums_do_not_wrap_around() -> None:
    plan = plan_of("spl", (4_096,))
    cells = [MAX_INTEGER] * 2_048 + [2_053] + [0] * 2_047
    document = {
        "format": "privtally.counts/1", "plan": plan.digest, "reports": 5, "limit": 0, "attributes": [cells],
        "parts": [], "pairs": [],
    }  # fmt: skip
    with pytest.raises(CountsError, match="range"):
        load_counts(json.dumps(document), plan)


def test_counts_of_other_parts_are_refused() -> None:
    """The same digest and sizes, but not the parts that the plan states."""
    document = json.loads(count(TOGETHER, CODES).dump())
    document["plan"] = ALONE.digest
    with pytest.raises(CountsError, match="parts"):
        load_counts(json.dumps(document), ALONE)
    with pytest.raises(CountsError, match=ALONE.digest[:12]):
        check_counts(TOGETHER, count(ALONE, CODES))


Edit = Callable[[dict[str, Any]], object]


def rows(document: dict[str, Any]) -> list[list[int]]:
    found: list[list[int]] = document["parts"][0]["reports"]
    return found


EDITS: list[tuple[str, Edit, str]] = [
    ("unknown field", lambda d: d.update(note=1), "`note`"),
    ("unknown field of a part", lambda d: d["parts"][0].update(note=1), "`note`"),
    ("text for an integer", lambda d: d.update(reports="4"), r"\$\.reports"),
    ("truth for an integer", lambda d: d.update(reports=True), r"\$\.reports"),
    ("float for an integer", lambda d: d.update(reports=4.0), r"\$\.reports"),
    ("float for a count", lambda d: d["attributes"][0].__setitem__(0, 2.0), r"\$\.attributes"),
    ("other format", lambda d: d.update(format="privtally.documents.counts/9"), "format"),
    ("no format", lambda d: d.pop("format"), "format"),
    ("no parts", lambda d: d.pop("parts"), "`parts`"),
    ("negative count", lambda d: d["attributes"][0].__setitem__(0, -2), "attributes"),
    ("huge count", lambda d: d["attributes"][0].__setitem__(0, 2**80), "range"),
    ("count that JSON does not hold", lambda d: d["attributes"][0].__setitem__(0, 2**53), "range"),
    ("more reports than JSON holds", lambda d: d.update(reports=2**53), "range"),
    ("a limit that JSON does not hold", lambda d: d.update(limit=2**53), "range"),
    ("a sub-report seen more often than JSON holds", lambda d: rows(d)[0].__setitem__(2, 2**53), "range"),
    ("negative limit", lambda d: d.update(limit=-1), "limit"),
    ("one report more", lambda d: d.update(reports=5), "add up"),
    ("one count more", lambda d: d["attributes"][1].__setitem__(0, 2), "add up"),
    ("sub-report more", lambda d: rows(d)[0].__setitem__(2, 3), "add up"),
    ("other sub-report", lambda d: rows(d)[0].__setitem__(1, 0), "add up"),
    ("code out of range", lambda d: rows(d)[0].__setitem__(1, 3), "range"),
    ("never seen", lambda d: rows(d)[0].__setitem__(2, 0), "seen"),
    ("ragged", lambda d: rows(d)[0].pop(), "range|shape"),
    ("a code more", lambda d: d["parts"][0].update(reports=[[*row, 1] for row in rows(d)]), "shape"),
    ("out of order", lambda d: rows(d).reverse(), "order"),
    ("twice", lambda d: d["parts"][0].update(reports=[[0, 2, 1], [0, 2, 1], *rows(d)[1:]]), "distinct"),
    ("above its limit", lambda d: d.update(limit=2), "limit"),
    ("nothing kept", lambda d: d["parts"][0].pop("reports"), "pair"),
    ("sub-reports and pairs", lambda d: d["pairs"].append({"attributes": [0, 1], "counts": PAIRS}), "pair"),
    ("attribute in two parts", lambda d: d["parts"].append({"attributes": [0, 1]}), "part"),
    ("attribute in no place", lambda d: d["parts"][0].update(attributes=[0, 2]), "part"),
    ("a part of one attribute", lambda d: d["parts"][0].update(attributes=[0]), "part"),
    ("no attributes", lambda d: d.update(attributes=[]), "attribute"),
    ("one label", lambda d: d.update(attributes=[[4], [1, 1, 2]]), "attribute"),
    ("no digest", lambda d: d.update(plan="x"), "plan"),
    ("other plan", lambda d: d.update(plan="0" * 64), "000000000000"),
]


@pytest.mark.parametrize(("edit", "names"), [case[1:] for case in EDITS], ids=[case[0] for case in EDITS])
def test_bad_counts_are_refused_with_the_name_of_what_is_wrong(edit: Edit, names: str) -> None:
    document = json.loads(count(TOGETHER, CODES).dump())
    edit(document)
    with pytest.raises(CountsError, match=names):
        load_counts(json.dumps(document), TOGETHER)


PAIR_EDITS: list[tuple[str, Edit, str]] = [
    ("one cell less", lambda d: d["pairs"][0]["counts"][0].__setitem__(2, 1), "add up"),
    ("the other way round", lambda d: d["pairs"][0].update(attributes=[1, 0]), "pair"),
    ("no pairs", lambda d: d["pairs"].clear(), "pair"),
    ("a pair twice", lambda d: d["pairs"].append(d["pairs"][0]), "pair"),
    ("a row less", lambda d: d["pairs"][0]["counts"].pop(), "shape"),
    ("turned", lambda d: d["pairs"][0].update(counts=[[0, 1], [0, 1], [2, 0]]), "shape"),
    ("a cell that JSON does not hold", lambda d: d["pairs"][0]["counts"][0].__setitem__(0, 2**53), "range"),
    ("a negative cell", lambda d: d["pairs"][0].update(counts=[[-1, 1, 2], [2, 0, 0]]), "pairs"),
]


@pytest.mark.parametrize(("edit", "names"), [case[1:] for case in PAIR_EDITS], ids=[case[0] for case in PAIR_EDITS])
@pytest.mark.parametrize(("plan", "limit"), [(ALONE, 100), (TOGETHER, 0)])
def test_bad_pairwise_tables_are_refused(plan: Plan, limit: int, edit: Edit, names: str) -> None:
    document = json.loads(count(plan, CODES, limit).dump())
    edit(document)
    with pytest.raises(CountsError, match=names):
        load_counts(json.dumps(document), plan)


def test_tables_across_parts_must_agree_with_the_parts() -> None:
    document = json.loads(count(GROUPS, GROUP_CODES).dump())
    table = next(pair["counts"] for pair in document["pairs"] if pair["attributes"] == [0, 1])
    table[0][0], table[0][1] = table[0][0] + 1, table[0][1] - 1
    with pytest.raises(CountsError, match="add up"):
        load_counts(json.dumps(document), GROUPS)


@pytest.mark.parametrize("codes", [CODES, np.zeros((4, 3), dtype=np.uint8)])
def test_counts_that_bear_the_name_of_another_plan_do_not_add(codes: np.ndarray) -> None:
    """They are well-formed by themselves, and only their parts or their numbers of codes betray them."""
    mine = count(TOGETHER, CODES)
    other = count(ALONE if codes.shape[1] == 2 else plan_of("rs-fd", (2, 3, 2)), codes)
    renamed = load_counts(json.dumps({**other.body(), "plan": mine.plan}))
    for one, two in ((mine, renamed), (renamed, mine)):
        with pytest.raises(CountsError, match="the same parts and numbers of codes"):
            one + two


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


def test_schemas_with_more_reports_than_integers_are_counted_too() -> None:
    plan = plan_of("rs-fd", (65_536,) * 4)
    codes = np.random.default_rng(0).integers(0, 65_536, (20, 4), dtype=np.uint16)
    codes[5:10] = codes[:5]
    counts = count(plan, codes)
    rows, times = subs_of(counts, (0, 1, 2, 3))
    assert (len(rows), sum(times)) == (15, 20)
    assert rows == sorted(rows)
    assert load_counts(counts.dump(), plan) == counts
