import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from privtally.documents.counts_document import load_counts

from privtally.documents.counts import MAX_PAIR_CELLS, count, nothing, pair_cells
from privtally.errors import CountsError
from tests.support import plan_of

PLAN = plan_of("spl", (2, 3))
CODES = np.array([[0, 2], [1, 1], [0, 2], [1, 0]], dtype=np.uint8)


def test_counts_of_different_plans_do_not_add() -> None:
    other = plan_of("spl", (2, 3), epsilon=2.0)
    with pytest.raises(CountsError, match="cannot be added"):
        count(PLAN, CODES) + count(other, CODES)


def test_whole_reports_are_kept_in_order() -> None:
    counts = count(PLAN, CODES)
    assert counts.whole is not None
    assert counts.whole.codes.tolist() == [[0, 2], [1, 0], [1, 1]]
    assert counts.whole.times.tolist() == [2, 1, 1]
    assert counts.detail == "3 distinct whole reports"


def test_beyond_the_limit_pairwise_tables_take_their_place() -> None:
    counts = count(PLAN, CODES, whole_report_limit=2)
    assert counts.whole is None
    assert counts.pairs is not None
    assert counts.pairs[0, 1].tolist() == [[0, 0, 2], [1, 1, 0]]
    assert counts.detail == "pairwise tables"


def test_very_large_schemas_keep_one_way_counts_only() -> None:
    plan = plan_of("spl", (3_000, 3_000))
    assert pair_cells(plan.schema.sizes) > MAX_PAIR_CELLS
    codes = np.random.default_rng(0).integers(0, 3_000, (50, 2), dtype=np.uint16)
    counts = count(plan, codes, whole_report_limit=10)
    assert counts.whole is None
    assert counts.pairs is None
    assert counts.detail == "one-way counts only"
    assert counts.agreements(0, 1) is None
    assert counts.pair_tables == {}
    assert load_counts(counts.dump(), plan) == counts
    assert counts + counts == count(plan, np.concatenate([codes, codes]), whole_report_limit=10)


def test_schemas_with_more_reports_than_integers_are_counted_too() -> None:
    plan = plan_of("spl", (65_536,) * 4)
    codes = np.random.default_rng(0).integers(0, 65_536, (20, 4), dtype=np.uint16)
    codes[5:10] = codes[:5]
    counts = count(plan, codes)
    assert counts.whole is not None
    assert len(counts.whole) == 15
    assert counts.whole.times.sum() == 20
    assert load_counts(counts.dump(), plan) == counts


def test_codes_outside_the_plan_are_refused() -> None:
    with pytest.raises(CountsError, match="'q1' has a code outside 0 to 2"):
        count(PLAN, np.array([[0, 3]], dtype=np.uint8))
    with pytest.raises(CountsError, match="shape"):
        count(PLAN, np.array([[0, 1, 1]], dtype=np.uint8))


def test_codes_must_be_integers() -> None:
    with pytest.raises(CountsError, match="must be integers"):
        count(PLAN, np.array([[0.5, 1.7]]))


def test_counts_of_smp_answer_one_attribute_a_report() -> None:
    plan = plan_of("smp", (2, 3))
    good = count(plan, np.array([[0, 3], [2, 1]], dtype=np.uint8))
    assert load_counts(good.dump(), plan) == good
    with pytest.raises(CountsError, match="answers exactly one attribute"):
        count(plan, np.array([[0, 1], [2, 3]], dtype=np.uint8))
    document = json.loads(good.dump())
    document["whole_reports"] = [[0, 1, 1], [2, 3, 1]]
    with pytest.raises(CountsError, match="answers exactly one attribute"):
        load_counts(json.dumps(document), plan)
    document = json.loads(count(plan, np.array([[0, 3], [2, 1]], dtype=np.uint8), whole_report_limit=0).dump())
    document["attributes"] = [[1, 1, 0], [0, 1, 0, 1]]
    document["pairs"][0]["counts"] = [[0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    with pytest.raises(CountsError, match="not of smp reports"):
        load_counts(json.dumps(document), plan)


def test_sums_do_not_wrap_around() -> None:
    plan = plan_of("spl", (4_096,))
    cells = [2**53 - 1] * 2_048 + [2_053] + [0] * 2_047
    document = {
        "format": "privtally.counts/1", "plan": plan.digest, "reports": 5, "attributes": [cells],
        "whole_report_limit": 0, "pairs": [],
    }  # fmt: skip
    with pytest.raises(CountsError, match="out of range"):
        load_counts(json.dumps(document), plan)


def test_no_reports_is_a_count_too() -> None:
    counts = nothing(PLAN)
    assert counts.reports == 0
    assert load_counts(counts.dump(), PLAN) == counts


Edit = Callable[[dict[str, Any]], object]

EDITS: list[tuple[str, Edit, str]] = [
    ("unknown field", lambda d: d.update(note=1), "unknown field `note`"),
    ("text for an integer", lambda d: d.update(reports="4"), "Expected `int`, got `str`"),
    ("truth for an integer", lambda d: d.update(reports=True), "got `bool`"),
    ("float for an integer", lambda d: d.update(reports=4.0), "got `float`"),
    ("float for a count", lambda d: d["attributes"][0].__setitem__(0, 2.0), "got `float`"),
    ("other format", lambda d: d.update(format="privtally.documents.counts/9"), "format"),
    ("no format", lambda d: d.pop("format"), "format"),
    ("negative count", lambda d: d["attributes"][0].__setitem__(0, -2), "out of range"),
    ("huge count", lambda d: d["attributes"][0].__setitem__(0, 2**80), "out of range"),
    ("one report more", lambda d: d.update(reports=5), "contradicts itself"),
    ("one count more", lambda d: d["attributes"][1].__setitem__(0, 2), "contradicts itself"),
    ("whole report more", lambda d: d["whole_reports"][0].__setitem__(2, 3), "contradicts itself"),
    ("code out of range", lambda d: d["whole_reports"][0].__setitem__(1, 3), "code out of range"),
    ("never seen", lambda d: d["whole_reports"][0].__setitem__(2, 0), "never seen"),
    ("ragged", lambda d: d["whole_reports"][0].pop(), "wrong shape"),
    ("out of order", lambda d: d["whole_reports"].reverse(), "distinct and in order"),
    ("above its limit", lambda d: d.update(whole_report_limit=2), "more whole reports than its limit"),
    ("nothing kept", lambda d: d.pop("whole_reports"), "either 'whole_reports' or 'pairs'"),
    ("no attributes", lambda d: d.update(attributes=[]), "at least two counts"),
    ("one label", lambda d: d.update(attributes=[[4]]), "at least two counts"),
    ("no digest", lambda d: d.update(plan="x"), "SHA-256"),
    ("other plan", lambda d: d.update(plan="0" * 64), "belong to plan 000000000000…"),
]


@pytest.mark.parametrize(("edit", "reason"), [case[1:] for case in EDITS], ids=[case[0] for case in EDITS])
def test_bad_counts_are_refused_with_a_reason(edit: Edit, reason: str) -> None:
    document = json.loads(count(PLAN, CODES).dump())
    edit(document)
    with pytest.raises(CountsError, match=reason):
        load_counts(json.dumps(document), PLAN)


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda d: d["pairs"][0]["counts"][0].__setitem__(2, 1), "contradicts itself"),
        (lambda d: d["pairs"][0].update(attributes=[1, 0]), "each pair of attributes, in order"),
        (lambda d: d["pairs"].clear(), "each pair of attributes, in order"),
        (lambda d: d["pairs"][0]["counts"].pop(), "wrong shape"),
        (lambda d: d["pairs"][0].update(counts=[[0, 0], [2, 1], [1, 0]]), "wrong shape"),
        (lambda d: d.update(whole_reports=[]), "either 'whole_reports' or 'pairs'"),
    ],
)
def test_bad_pairwise_tables_are_refused(edit: Edit, reason: str) -> None:
    document = json.loads(count(PLAN, CODES, whole_report_limit=0).dump())
    edit(document)
    with pytest.raises(CountsError, match=reason):
        load_counts(json.dumps(document), PLAN)
