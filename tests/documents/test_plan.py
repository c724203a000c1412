import hashlib
import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from privtally.documents.plan import Learned, Plan, design, load_plan
from privtally.errors import PlanError
from privtally.exact import wire
from privtally.names import MECHANISMS, TWO_PHASE, MechanismName
from tests.support import plan_of, schema_of


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_first_phase_of_two_is_always_spl(mechanism: MechanismName) -> None:
    plan = design(schema_of((3, 3)), 1, mechanism)
    assert plan.phase == 1
    assert plan.mechanism == ("spl" if mechanism in TWO_PHASE else mechanism)
    assert plan.campaign == mechanism


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, -math.inf])
def test_a_budget_that_is_not_finite_and_positive_is_refused(epsilon: float) -> None:
    with pytest.raises(PlanError, match="epsilon must be a finite number above 0"):
        design(schema_of((2, 2)), epsilon, "spl")


@pytest.mark.parametrize("epsilon", [1e-7, 33])
def test_a_budget_out_of_range_is_refused(epsilon: float) -> None:
    with pytest.raises(PlanError, match="between 1e-06 and 32"):
        design(schema_of((2, 2)), epsilon, "spl")


@pytest.mark.parametrize("mechanism", TWO_PHASE)
def test_two_phases_need_two_attributes(mechanism: MechanismName) -> None:
    with pytest.raises(PlanError, match="at least two attributes"):
        design(schema_of((3,)), 1, mechanism)


def test_copying_between_unequal_domains_is_refused_before_anybody_is_asked() -> None:
    with pytest.raises(PlanError, match="same number of labels in every attribute, the schema has 2, 3"):
        design(schema_of((2, 3)), 1, "corr-rr")


def test_tables_too_large_for_a_plan_are_refused() -> None:
    with pytest.raises(PlanError, match="table cells"):
        design(schema_of((1_000, 1_000)), 1, "cond-rr")


def test_an_unknown_mechanism_is_refused() -> None:
    with pytest.raises(PlanError, match="must be one of spl"):
        design(schema_of((2, 2)), 1, "magic")  # type: ignore[arg-type]


def test_the_digest_is_the_hash_of_the_canonical_document_without_it() -> None:
    plan = plan_of("corr-rr", (3, 3))
    document = json.loads(plan.dump())
    claimed = document.pop("digest")
    assert claimed == plan.digest == hashlib.sha256(wire.canonical(document)).hexdigest()


def test_layout_does_not_matter_but_content_does() -> None:
    plan = plan_of("rs-rfd", (2, 3))
    document = json.loads(plan.dump())
    assert load_plan(json.dumps(document, indent=4)) == plan
    document["epsilon"] = 2.0
    with pytest.raises(PlanError, match="was edited"):
        load_plan(json.dumps(document))


Edit = Callable[[dict[str, Any]], object]

EDITS: list[tuple[str, Edit, str]] = [
    ("label", lambda d: d["schema"]["attributes"][0]["labels"].__setitem__(0, "other"), "was edited"),
    ("copy", lambda d: d["copy_probability"][0].__setitem__(1, 0.5), "was edited"),
    ("digest", lambda d: d.update(digest="0" * 64), "was edited"),
    ("no digest", lambda d: d.pop("digest"), "was edited"),
    ("unknown field", lambda d: d.update(note="x"), "unknown field `note`"),
    ("text for a number", lambda d: d.update(epsilon="1"), "Expected `float`, got `str`"),
    ("truth for a number", lambda d: d.update(epsilon=True), "Expected `float`, got `bool`"),
    ("float for an integer", lambda d: d.update(phase=2.0), r"\$\.phase"),
    ("truth for an integer", lambda d: d.update(phase=True), r"\$\.phase"),
    ("text for an integer", lambda d: d.update(phase="2"), r"\$\.phase"),
    ("no such phase", lambda d: d.update(phase=3), r"\$\.phase"),
    ("other format", lambda d: d.update(format="privtally.documents.plan/2"), "format"),
    ("no format", lambda d: d.pop("format"), "format"),
    ("missing field", lambda d: d.pop("epsilon"), "missing required field `epsilon`"),
    ("probability above 1", lambda d: d["copy_probability"][0].__setitem__(1, 1.5), "between 0 and 1"),
    ("negative probability", lambda d: d["copy_probability"][0].__setitem__(1, -0.5), "between 0 and 1"),
    ("probability not statable", lambda d: d["copy_probability"][0].__setitem__(1, 0.1), "multiple of 2"),
    ("diagonal", lambda d: d["copy_probability"][0].__setitem__(0, 0.5), "diagonal"),
    ("row too short", lambda d: d["copy_probability"][0].pop(), "row and a column"),
    ("parameters missing", lambda d: d.pop("copy_probability"), "must have 'copy_probability'"),
    ("parameters of another", lambda d: d.update(priors=[[0.5, 0.5]]), "must not have 'priors'"),
    ("mechanism of another", lambda d: d.update(mechanism="smp"), "does not run smp"),
    ("phase of another", lambda d: d.update(phase=1), "does not run corr-rr"),
]


@pytest.mark.parametrize(("edit", "reason"), [case[1:] for case in EDITS], ids=[case[0] for case in EDITS])
def test_an_edited_plan_is_refused_with_a_reason(edit: Edit, reason: str) -> None:
    document = json.loads(plan_of("corr-rr", (3, 3)).dump())
    edit(document)
    with pytest.raises(PlanError, match=reason):
        load_plan(json.dumps(document))


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("priors", ((0.5, 0.25), (0.5, 0.5)), "sum to exactly 1"),
        ("priors", ((1.5, -0.5), (0.5, 0.5)), "between 0 and 1"),
        ("priors", ((0.5, 0.5), (0.5, 0.25, 0.25)), "each label"),
        ("priors", ((2.0**31 + 0.5, 0.5), (0.5, 0.5)), "between 0 and 1"),
        ("priors", ((math.nan, 0.5), (0.5, 0.5)), "between 0 and 1"),
        ("priors", ((math.inf, 0.5), (0.5, 0.5)), "between 0 and 1"),
    ],
)
def test_bad_priors_are_refused(field: str, value: Any, reason: str) -> None:
    with pytest.raises(PlanError, match=reason):
        Plan(schema=schema_of((2, 2)), epsilon=1.0, campaign="rs-rfd", phase=2, mechanism="rs-rfd", **{field: value})


@pytest.mark.parametrize(
    ("tables", "reason"),
    [
        (((None, None), (None, None)), "null on its diagonal"),
        (((None, ((0.5, 0.5),)), (((0.5, 0.5), (0.5, 0.5)), None)), "a row for each pivot label"),
        (((None,),), "row and a column"),
    ],
)
def test_bad_tables_are_refused(tables: Any, reason: str) -> None:
    with pytest.raises(PlanError, match=reason):
        Plan(
            schema=schema_of((2, 2)),
            epsilon=1.0,
            campaign="cond-rr",
            phase=2,
            mechanism="cond-rr",
            conditional_tables=tables,
        )


def test_a_key_that_stands_twice_is_refused() -> None:
    text = plan_of("spl", (2, 2)).dump().decode()
    with pytest.raises(PlanError, match="a key stands twice"):
        load_plan(text.replace('"phase":1', '"phase":2,"phase":1'))


def test_a_first_phase_that_claims_to_be_learned_is_refused() -> None:
    learned = Learned(plan="0" * 64, counts="0" * 64, reports=5)
    with pytest.raises(PlanError, match="a first phase is not learned"):
        Plan(schema=schema_of((2, 2)), epsilon=1.0, campaign="spl", phase=1, mechanism="spl", learned=learned)


@pytest.mark.parametrize("change", [{"plan": "\x1b[31m"}, {"counts": "0" * 63}, {"reports": 0}, {"phase2_users": 0}])
def test_where_a_plan_was_learned_from_is_checked(change: dict[str, Any]) -> None:
    with pytest.raises(PlanError):
        Learned(**{"plan": "0" * 64, "counts": "0" * 64, "reports": 5, **change})


def test_an_integer_too_large_for_a_budget_is_refused() -> None:
    with pytest.raises(PlanError, match="finite number above 0"):
        design(schema_of((2, 2)), 10**400, "spl")


@pytest.mark.parametrize(
    "data", ["", "{", "[]", "null", "3", '"plan"', b"\xff\xfe", "[" * 100_000, "\ud800", '{"a": 1' + "0" * 5_000 + "}"]
)
def test_what_is_no_plan_at_all_is_refused(data: str | bytes) -> None:
    with pytest.raises(PlanError, match="the plan"):
        load_plan(data)
