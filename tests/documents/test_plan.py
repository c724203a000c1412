"""Plans as documents: what they hold, and what is refused."""

import hashlib
import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import pytest

from privtally.documents.campaign import Campaign
from privtally.documents.plan import (
    LARGEST_EPSILON,
    MOST_ANSWERS,
    Learned,
    LearnedFrom,
    check_epsilon,
    design,
    load_plan,
)
from privtally.errors import PlanError, PrivtallyError
from privtally.exact import canonical
from privtally.lab.population import seeded
from privtally.mechanisms.fills import AnyFill, CopyFill, RowFill, Table, TableFill, UniformFill
from privtally.mechanisms.named import NAMED, PartPlan, RandomizedResponse, build, each_alone
from privtally.mechanisms.projective import Geometry
from privtally.names import MECHANISMS, MechanismName
from tests.support import (
    EXTENDED_PLANS,
    Scripted,
    fill_of,
    first_plan,
    later_plan,
    part_of,
    plan_of,
    plan_with,
    schema_of,
)

LEARNING = tuple(name for name in MECHANISMS if NAMED[name].learns)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_campaign_that_learns_starts_with_every_attribute_alone(mechanism: MechanismName) -> None:
    plan = design(schema_of((3, 3)), 1, mechanism)
    assert (plan.phase, plan.name, plan.answers) == (1, mechanism, 1)
    assert plan.campaign is None
    assert plan.campaign_id == plan.digest
    assert (plan.parts == each_alone(plan.schema.sizes, Fraction(1))) == (mechanism == "spl" or mechanism in LEARNING)


def test_the_total_budget_is_that_of_all_answers() -> None:
    assert first_plan((2, 2), 0.5, answers=3).total_epsilon == 1.5


@pytest.mark.parametrize(
    "epsilon", [0, -1, math.nan, math.inf, -math.inf, 1e-7, 33, 10**400, "1", True, None, [1.0], 1 + 0j]
)
def test_a_budget_that_is_not_a_positive_number_in_range_is_refused(epsilon: Any) -> None:
    with pytest.raises(PlanError, match="epsilon"):
        design(schema_of((2, 2)), epsilon, "spl")
    with pytest.raises(PlanError, match="epsilon"):
        check_epsilon(epsilon)


@pytest.mark.parametrize("answers", [0, -1, MOST_ANSWERS + 1])
def test_a_number_of_answers_out_of_range_is_refused(answers: int) -> None:
    with pytest.raises(PlanError, match="answer"):
        design(schema_of((2, 2)), 1.0, "spl", answers=answers)


@pytest.mark.parametrize("mechanism", LEARNING)
def test_learning_needs_two_attributes(mechanism: MechanismName) -> None:
    with pytest.raises(PlanError, match="questions"):
        design(schema_of((3,)), 1, mechanism)


def test_tables_too_large_for_a_plan_are_refused() -> None:
    with pytest.raises(PlanError, match="2,000,000 cells"):
        design(schema_of((1_000, 1_000)), 1, "cond-rr")


def test_an_unknown_mechanism_is_refused() -> None:
    with pytest.raises(PlanError, match="rs-rfd"):
        design(schema_of((2, 2)), 1, "magic")  # type: ignore[arg-type]


def test_the_nonce_is_128_bits_of_the_source() -> None:
    plan = design(schema_of((2, 2)), 1, "spl", source=Scripted([1, 2**63]))
    assert plan.nonce == "01000000000000000000000000000080"


def test_the_digest_is_the_hash_of_the_canonical_document_without_it() -> None:
    for plan in (plan_of("corr-rr", (3, 3)), plan_with(*EXTENDED_PLANS["groups, silent and table"])):
        document = json.loads(plan.dump())
        claimed = document.pop("digest")
        assert claimed == plan.digest == hashlib.sha256(canonical.canonical(document)).hexdigest()


@pytest.mark.parametrize("name", EXTENDED_PLANS)
def test_any_parts_survive_their_round_trip(name: str) -> None:
    plan = plan_with(*EXTENDED_PLANS[name])
    assert load_plan(plan.dump()) == plan


def test_layout_does_not_matter() -> None:
    plan = plan_of("rs-rfd", (2, 3))
    document = json.loads(plan.dump())
    assert load_plan(json.dumps(document, indent=4)) == plan


Edit = Callable[[dict[str, Any]], object]


def part(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["parts"][0]
    return found


def copies(document: dict[str, Any]) -> list[Any]:
    found: list[Any] = part(document)["fill"]["probability"]
    return found


def learned_from(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["learned"]["history"][0]
    return found


EDITS: list[tuple[str, Edit, str]] = [
    ("label", lambda d: d["schema"]["attributes"][0]["labels"].__setitem__(0, "other"), "digest"),
    ("copy", lambda d: copies(d)[0].__setitem__(1, 0.5), "digest"),
    ("digest", lambda d: d.update(digest="0" * 64), "digest"),
    ("no digest", lambda d: d.pop("digest"), "digest"),
    ("unknown field", lambda d: d.update(note="x"), "`note`"),
    ("unknown field of a part", lambda d: part(d).update(note="x"), r"`note`.*\$\.parts"),
    ("text for a number", lambda d: d.update(epsilon="1"), r"\$\.epsilon"),
    ("truth for a number", lambda d: d.update(epsilon=True), r"\$\.epsilon"),
    ("float for an integer", lambda d: d.update(phase=2.0), r"\$\.phase"),
    ("truth for an integer", lambda d: d.update(phase=True), r"\$\.phase"),
    ("text for an integer", lambda d: d.update(phase="2"), r"\$\.phase"),
    ("no such phase", lambda d: d.update(phase=0), "0"),
    ("phases without end", lambda d: d.update(phase=MOST_ANSWERS + 1), f"{MOST_ANSWERS + 1}"),
    ("answers without end", lambda d: d.update(answers=MOST_ANSWERS + 1), f"{MOST_ANSWERS + 1}"),
    ("no answers", lambda d: d.update(answers=0), "0"),
    ("other format", lambda d: d.update(format="privtally.documents.plan/2"), "format"),
    ("no format", lambda d: d.pop("format"), "format"),
    ("missing field", lambda d: d.pop("epsilon"), "`epsilon`"),
    ("no parts", lambda d: d.pop("parts"), "`parts`"),
    ("unknown mechanism", lambda d: d.update(mechanism="magic"), r"\$\.mechanism"),
    ("probability above 1", lambda d: copies(d)[0].__setitem__(1, 1.5), "probability"),
    ("negative probability", lambda d: copies(d)[0].__setitem__(1, -0.5), "probability"),
    ("probability not statable", lambda d: copies(d)[0].__setitem__(1, 0.1), "probability"),
    ("diagonal", lambda d: copies(d)[0].__setitem__(0, 0.5), "diagonal"),
    ("row too short", lambda d: copies(d)[0].pop(), "row"),
    ("parameters missing", lambda d: part(d)["fill"].pop("probability"), "`probability`"),
    ("parameters of another", lambda d: part(d)["fill"].update(rows=[[0.5, 0.5]]), "`rows`"),
    ("unknown fill", lambda d: part(d)["fill"].update(kind="magic"), "magic"),
    ("fill without its kind", lambda d: part(d)["fill"].pop("kind"), "`kind`"),
    ("no fill", lambda d: part(d).pop("fill"), "fill"),
    ("unknown channel", lambda d: part(d)["channels"][0].update(kind="magic"), "magic"),
    ("channel less", lambda d: part(d)["channels"].pop(), "channel"),
    ("no pivot", lambda d: part(d).update(pivots=0), "0"),
    ("as many pivots as attributes", lambda d: part(d).update(pivots=2), "decoys"),
    ("too many pivots", lambda d: part(d).update(pivots=3), "3"),
    ("attribute less", lambda d: part(d)["attributes"].pop(), "channel"),
    ("attribute twice", lambda d: part(d).update(attributes=[1, 1]), "exactly one part"),
    ("attribute that is not there", lambda d: part(d).update(attributes=[0, 2]), "attributes"),
    ("part twice", lambda d: d["parts"].append(part(d)), "exactly one part"),
    ("later plan without its campaign", lambda d: d.pop("campaign"), "campaign"),
    ("later plan without what it was learned from", lambda d: d.pop("learned"), "learned"),
    ("later plan learned from nothing", lambda d: d["learned"].update(history=[]), "learned"),
    ("later plan with a nonce", lambda d: d.update(nonce="0" * 32), "nonce"),
    ("campaign that is no digest", lambda d: d.update(campaign="0" * 63), "SHA-256"),
    ("later plan that claims to be the first", lambda d: d.update(phase=1), "nonce"),
    ("first plan with a campaign", lambda d: (d.update(phase=1, nonce="0" * 32), d.pop("learned")), "campaign"),
    ("first plan that was learned", lambda d: (d.update(phase=1, nonce="0" * 32), d.pop("campaign")), "learned"),
    ("more reports than JSON counts", lambda d: learned_from(d).update(reports=2**53), f"{2**53 - 1:,}"),
    ("more people than JSON counts", lambda d: d["learned"].update(people=2**53), f"{2**53 - 1:,}"),
]


@pytest.mark.parametrize(("edit", "names"), [case[1:] for case in EDITS], ids=[case[0] for case in EDITS])
def test_an_edited_plan_is_refused_with_the_name_of_what_is_wrong(edit: Edit, names: str) -> None:
    document = json.loads(plan_of("corr-rr", (3, 3)).dump())
    edit(document)
    with pytest.raises(PlanError, match=names):
        load_plan(json.dumps(document))


@pytest.mark.parametrize(
    ("edit", "names"),
    [case[1:] for case in EDITS if case[2] != "digest"],
    ids=[c[0] for c in EDITS if c[2] != "digest"],
)
def test_a_digest_that_fits_does_not_help(edit: Edit, names: str) -> None:
    document = json.loads(plan_of("corr-rr", (3, 3)).dump())
    edit(document)
    del document["digest"]
    with pytest.raises(PlanError, match=names):
        load_plan(json.dumps({**document, "digest": canonical.digest(document)}))


def test_the_largest_numbers_of_a_plan_are_taken() -> None:
    document = json.loads(plan_of("corr-rr", (3, 3)).dump())
    del document["digest"]
    learned_from(document).update(reports=2**53 - 1)
    document["learned"].update(people=2**53 - 1)
    document.update(phase=MOST_ANSWERS, answers=MOST_ANSWERS)
    load_plan(canonical.canonical({**document, "digest": canonical.digest(document)}))
    assert design(schema_of((2, 2)), LARGEST_EPSILON, "smp").epsilon == LARGEST_EPSILON


@pytest.mark.parametrize("nonce", [None, "", "0" * 31, "0" * 33, "0" * 31 + "A", "g" * 32, "0" * 31 + "\n"])
def test_a_first_plan_without_its_nonce_is_refused(nonce: str | None) -> None:
    with pytest.raises(PlanError, match="nonce"):
        msgspec.structs.replace(first_plan((2, 2)), nonce=nonce)


def one_table(rows: Any) -> TableFill:
    return TableFill((Table((0,), 1, rows), Table((1,), 0, ((0.5, 0.5), (0.5, 0.5)))))


HALVES = ((0.5, 0.5), (0.5, 0.5))
BAD_FILLS: dict[str, AnyFill] = {
    "a row that does not sum to 1": RowFill(((0.5, 0.25), (0.5, 0.5))),
    "a negative probability": RowFill(((1.5, -0.5), (0.5, 0.5))),
    "a row for other labels": RowFill(((0.5, 0.5), (0.5, 0.25, 0.25))),
    "a row less": RowFill(((0.5, 0.5),)),
    "a huge probability": RowFill(((2.0**31 + 0.5, 0.5), (0.5, 0.5))),
    "not a number": RowFill(((math.nan, 0.5), (0.5, 0.5))),
    "an infinite probability": RowFill(((math.inf, 0.5), (0.5, 0.5))),
    "no tables": TableFill(()),
    "a table less": TableFill((Table((0,), 1, HALVES),)),
    "tables out of order": TableFill((Table((1,), 0, HALVES), Table((0,), 1, HALVES))),
    "a table given itself": TableFill((Table((0,), 0, HALVES), Table((1,), 0, HALVES))),
    "a table row less": one_table(((0.5, 0.5),)),
    "a table column more": one_table(((0.5, 0.25, 0.25), (0.5, 0.25, 0.25))),
    "a table that does not sum to 1": one_table(((0.5, 0.5), (0.5, 0.25))),
    "copies of no attribute": CopyFill(()),
    "copies that are not a number": CopyFill(((1.0, math.nan), (0.5, 1.0))),
}


@pytest.mark.parametrize("fill", BAD_FILLS.values(), ids=BAD_FILLS)
def test_bad_fills_are_refused(fill: AnyFill) -> None:
    with pytest.raises(PlanError):
        later_plan(first_plan((2, 2), 1.0, "cond-rr"), fill)


BAD_PARTS: dict[str, tuple[PartPlan, ...]] = {
    "none": (),
    "an attribute in no part": (part_of((0, 1), 1, UniformFill()),),
    "an attribute in two parts": (part_of((0, 1), 1, UniformFill()), part_of((1, 2), 1, None)),
    "a part without attributes": (part_of((0, 1, 2), 1, UniformFill()), part_of((), 1, None)),
    "an attribute that is not there": (part_of((0, 1, 3), 1, UniformFill()),),
    "a negative number": (part_of((0, 1, -1), 1, UniformFill()),),
    "copies with two pivots": (part_of((0, 1, 2), 2, CopyFill(((1.0, 0.5, 0.5),) * 3)),),
    "a fill with nothing to fill": (part_of((0, 1, 2), 3, UniformFill()),),
    "nothing to fill with": (PartPlan((0, 1, 2), 2, (RandomizedResponse(),) * 3, 1),),
    "a fill of no tables": (part_of((0, 1), 1, TableFill(())), part_of((2,), 1, None)),
}


@pytest.mark.parametrize("parts", BAD_PARTS.values(), ids=BAD_PARTS)
def test_parts_that_do_not_fit_are_refused(parts: tuple[PartPlan, ...]) -> None:
    with pytest.raises(PlanError):
        plan_with(parts, (2, 2, 2))


def test_copies_need_equal_sizes_within_their_part_only() -> None:
    copy = CopyFill(((1.0, 0.5), (0.5, 1.0)))
    parts = (part_of((0, 2), 1, copy), part_of((1, 3), 1, copy))
    assert plan_with(parts, (2, 3, 2, 3)).mechanism.sizes == (2, 3, 2, 3)
    with pytest.raises(PlanError, match="same number"):
        plan_with(parts, (2, 2, 3, 2))


def test_a_key_that_stands_twice_is_refused() -> None:
    text = plan_of("spl", (2, 2)).dump().decode()
    with pytest.raises(PlanError, match="twice"):
        load_plan(text.replace('"phase":1', '"phase":2,"phase":1'))


FROM = LearnedFrom("0" * 64, "0" * 64, 5)


@pytest.mark.parametrize(
    "change",
    [
        {"plan": "\x1b[31m"},
        {"plan": "0" * 64 + "\n"},
        {"counts": "0" * 63},
        {"reports": 0},
        {"reports": -1},
        {"reports": 2**53},
    ],
)
def test_where_a_plan_was_learned_from_is_checked(change: dict[str, Any]) -> None:
    with pytest.raises(PlanError):
        LearnedFrom(**{"plan": "0" * 64, "counts": "0" * 64, "reports": 5, **change})


@pytest.mark.parametrize("change", [{"people": 0}, {"people": 2**53}, {"pivots": 4}])
def test_how_a_plan_was_learned_is_checked(change: dict[str, Any]) -> None:
    with pytest.raises(PlanError):
        Learned((FROM,), **change)


@pytest.mark.parametrize(
    "data", ["", "{", "[]", "null", "3", '"plan"', b"\xff\xfe", "[" * 100_000, "\ud800", '{"a": 1' + "0" * 5_000 + "}"]
)
def test_what_is_no_plan_at_all_is_refused(data: str | bytes) -> None:
    with pytest.raises(PlanError, match="plan"):
        load_plan(data)


def test_plans_of_other_parts_are_named_for_people_only() -> None:
    """The name does not say what a phase does: two plans with the same parts and other names draw alike."""
    one, two = first_plan((3, 3), 1.0, "spl"), first_plan((3, 3), 1.0, "corr-rr")
    assert one.parts == two.parts
    assert one.digest != two.digest
    assert one.mechanism.law((0, 1)) == two.mechanism.law((0, 1))


def test_many_pivots_of_many_labels_need_no_combined_code() -> None:
    part = PartPlan(tuple(range(11)), 10, (RandomizedResponse(),) * 11, 1, UniformFill())
    plan = plan_with((part,), (100,) * 11, 10.0)
    codes = np.zeros((50, 11), dtype=np.uint8)
    assert plan.mechanism.privatise(codes, seeded(1)).shape == codes.shape


def test_copies_between_different_channels_are_refused() -> None:
    channels = (Geometry(3, 3), RandomizedResponse())
    part = PartPlan((0, 1), 1, channels, 1, CopyFill(((1.0, 0.75), (0.75, 1.0))))
    with pytest.raises(PlanError, match="channel"):
        plan_with((part,), (13, 13))


FOUR = (3, 2, 3, 2)
GROUPS = [["q2", "q0"], ["q1", "q3"]]


@pytest.mark.parametrize("mechanism", ["smp", "rs-fd"])
def test_each_group_is_a_part_with_an_equal_share(mechanism: MechanismName) -> None:
    plan = first_plan(FOUR, 2.0, mechanism, groups=GROUPS)
    assert plan.groups == ((2, 0), (1, 3)) == tuple(part.attributes for part in plan.parts)
    assert {type(part.fill) for part in plan.parts} == {type(None) if mechanism == "smp" else UniformFill}
    ratios = {float(part.ratio) for part in plan.mechanism.parts}
    assert all(ratio == pytest.approx(2.718281828) for ratio in ratios)
    assert load_plan(plan.dump()) == plan


@pytest.mark.parametrize("mechanism", ["rs-rfd", "corr-rr", "cond-rr"])
def test_a_mechanism_that_learns_states_its_groups_from_the_start(mechanism: MechanismName) -> None:
    plan = first_plan(FOUR, 2.0, mechanism, groups=GROUPS)
    assert plan.groups == ((2, 0), (1, 3))
    assert plan.parts == first_plan(FOUR, 2.0).parts
    assert load_plan(plan.dump()).groups == plan.groups


def test_one_group_is_no_groups() -> None:
    assert first_plan(FOUR, 2.0, "smp", groups=[["q0", "q1", "q2", "q3"]]) == first_plan(FOUR, 2.0, "smp")


def test_every_attribute_alone_is_the_mechanism_spl() -> None:
    alone = first_plan(FOUR, 2.0, "smp", groups=[["q0"], ["q1"], ["q2"], ["q3"]])
    assert alone.parts == first_plan(FOUR, 2.0).parts


@pytest.mark.parametrize(
    ("groups", "word"),
    [
        ([["q0", "q1"], ["q1", "q2", "q3"]], "'q1'"),
        ([["q0", "q0", "q1"], ["q2", "q3"]], "'q0'"),
        ([["q0", "q1"], ["q2"]], "'q3'"),
        ([["q0", "q1"], ["q2", "q3", "x"]], "'x'"),
        ([["q0", "q1", "q2", "q3"], []], "at least one"),
    ],
)
def test_groups_that_do_not_divide_the_attributes_are_refused(groups: list[list[str]], word: str) -> None:
    with pytest.raises(PlanError, match=word):
        first_plan(FOUR, 2.0, "smp", groups=groups)


def test_groups_that_a_mechanism_does_not_take_are_refused() -> None:
    with pytest.raises(PlanError, match="spl"):
        first_plan(FOUR, 2.0, "spl", groups=GROUPS)
    with pytest.raises(PlanError, match="group"):
        first_plan(FOUR, 2.0, "cond-rr", groups=[["q0"], ["q1"], ["q2"], ["q3"]])


def test_a_budget_too_small_for_the_weights_is_refused() -> None:
    """Below the least epsilon of a plan, where only thousands of groups would bring a share of it."""
    sizes, groups = (60_000,) * 4, ((0, 1), (2, 3))
    for budget, fits in ((Fraction(1, 10**6), True), (Fraction(1, 10**13), False)):
        parts = NAMED["smp"].first(sizes, budget, groups, 1)
        if fits:
            build(parts, sizes, budget)
        else:
            with pytest.raises(PlanError, match="64-bit"):
                build(parts, sizes, budget)


def test_later_plans_of_a_campaign_may_have_other_groups() -> None:
    """Budgets and parts follow from each plan alone; another schema would be refused."""
    first = first_plan(FOUR, 2.0, "cond-rr", groups=GROUPS)
    fill = fill_of("cond-rr", FOUR)
    assert fill is not None
    later = later_plan(first_plan(FOUR, 2.0, "cond-rr"), fill)
    assert later.groups is None
    other = msgspec.structs.replace(later, campaign=first.campaign_id)
    assert Campaign.draft(first).open().close().follow(other).plans == (first, other)
    with pytest.raises(PrivtallyError, match="epsilon"):
        Campaign.draft(first).open().close().follow(msgspec.structs.replace(other, epsilon=1.0))


@pytest.mark.parametrize("pivots", [1, 2, 3])
def test_pivots_share_the_budget(pivots: int) -> None:
    plan = first_plan((3, 4, 2, 5), 1.5, "smp", pivots=pivots)
    (part,) = plan.parts
    assert (part.pivots, part.fill, plan.groups) == (pivots, None, None)
    assert float(plan.mechanism.parts[0].asked[0].ratio) == pytest.approx(2.718281828459045 ** (1.5 / pivots))
    assert float(plan.mechanism.ratio) == pytest.approx(2.718281828459045**1.5)
    assert load_plan(plan.dump()) == plan


def test_as_many_pivots_as_attributes_ask_all_of_them() -> None:
    (part,) = first_plan((3, 4), 1.0, "smp", pivots=2).parts
    assert (part.pivots, part.fill) == (2, None)
    plan = first_plan(FOUR, 2.0, "smp", groups=[["q0", "q1", "q2"], ["q3"]])
    assert [part.fill for part in plan.parts] == [None, None]
    two = first_plan(FOUR, 2.0, "smp", groups=GROUPS, pivots=2)
    assert [(part.pivots, part.fill) for part in two.parts] == [(2, None), (2, None)]
    assert float(two.mechanism.parts[0].asked[0].ratio) == pytest.approx(2.718281828459045**0.5)


@pytest.mark.parametrize("pivots", [0, -1, 4, True, 1.0])
def test_numbers_of_pivots_out_of_range_are_refused(pivots: int) -> None:
    with pytest.raises(PlanError, match="pivots"):
        first_plan((2,) * 6, 1.0, "smp", pivots=pivots)


def test_too_many_choices_of_pivots_are_refused() -> None:
    assert len(first_plan((2,) * 80, 3.0, "smp", pivots=3).mechanism.parts[0].branches) == 82_160
    with pytest.raises(PlanError, match="3 of 90"):
        first_plan((2,) * 90, 3.0, "smp", pivots=3)
    halves = [[f"q{own}" for own in range(start, start + 45)] for start in (0, 45)]
    assert first_plan((2,) * 90, 3.0, "smp", groups=halves, pivots=3).groups is not None


def test_more_pivots_than_attributes_and_pivots_of_a_phase_that_asks_all_are_refused() -> None:
    with pytest.raises(PlanError, match="3 questions a report"):
        first_plan((2, 2), 1.0, "smp", pivots=3)
    with pytest.raises(PlanError, match="2 questions a report"):
        first_plan(FOUR, 1.0, "smp", groups=[["q0", "q1", "q2"], ["q3"]], pivots=2)
    for mechanism in ("spl", "rs-rfd", "corr-rr", "cond-rr"):
        with pytest.raises(PlanError, match="smp"):
            first_plan((2, 2, 2), 1.0, mechanism, pivots=2)


def test_parts_that_contradict_groups_are_refused() -> None:
    """A plan of smp that says it has groups, and asks every question of everybody."""
    grouped = first_plan((2,) * 4, 2.0, "smp", groups=[["q0", "q1"], ["q2", "q3"]])
    alone = first_plan((2,) * 4, 2.0)
    with pytest.raises(PlanError, match="groups"):
        msgspec.structs.replace(grouped, parts=alone.parts)
    learning = first_plan((2,) * 4, 2.0, "corr-rr", groups=[["q0", "q1"], ["q2", "q3"]])
    with pytest.raises(PlanError, match="groups"):
        msgspec.structs.replace(learning, parts=grouped.parts)
    for groups in (((0, 2), (1, 3)), ((0, 1, 2, 3),), ((0, 1), (2,)), ((0, 1), (2, 3, 3)), ((0, 1), (2, 3), ())):
        with pytest.raises(PlanError, match="groups"):
            msgspec.structs.replace(grouped, groups=groups)


PRIORS = {"q0": {"a0": 0.5, "a1": 0.3, "a2": 0.2}, "q1": {"a0": 0.1, "a1": 0.9}}


def test_priors_are_stated_by_a_plan_of_one_phase() -> None:
    plan = first_plan((3, 2), 1.0, "rs-rfd", priors=PRIORS)
    (part,) = plan.parts
    assert isinstance(part.fill, RowFill)
    assert part.decoys == 1
    for row, shares in zip(part.fill.rows, PRIORS.values(), strict=True):
        assert sum(row) == 1
        assert row == pytest.approx([*shares.values()], abs=2**-32)
        assert all((probability * 2**32).is_integer() for probability in row)
    assert (plan.has_priors, plan.learns) == (True, False)
    assert load_plan(plan.dump()) == plan
    rounded = {"q0": {"a0": 0.5, "a1": 0.3, "a2": 0.2 + 9e-7}, "q1": PRIORS["q1"]}
    assert first_plan((3, 2), 1.0, "rs-rfd", priors=rounded).has_priors
    four = {f"q{own}": PRIORS[f"q{own % 2}"] for own in range(4)}
    grouped = first_plan(FOUR, 1.0, "rs-rfd", priors=four, groups=GROUPS, decoys=1)
    assert [(part.attributes, part.decoys) for part in grouped.parts] == list(
        zip(grouped.groups or (), (1, 1), strict=True)
    )
    assert grouped.decoys is None


@pytest.mark.parametrize(
    ("changes", "options", "words"),
    [
        ({"q1": None}, {}, "miss question 'q1'"),
        ({"q2": {"a0": 1.0}}, {}, "'q2' that is not asked"),
        ({"q1": {"a0": 1.0}}, {}, "'q1' miss the answer 'a1'"),
        ({"q1": {"a0": 0.5, "a1": 0.5, "b": 0.0}}, {}, "'q1' have an answer 'b'"),
        ({"q1": {"a0": -0.1, "a1": 1.1}}, {}, "'q1'.*negative"),
        ({"q1": {"a0": math.nan, "a1": 1.0}}, {}, "'q1'.*no number"),
        ({"q1": {"a0": "1", "a1": 0.0}}, {}, "'q1'.*no number"),
        ({"q1": {"a0": 0.1, "a1": 0.90001}}, {}, "'q1' must sum to 1"),
        ({}, {"decoys": 0}, "no decoys"),
        ({}, {"pivots": 2}, "no decoys"),
        ({}, {"mechanism": "corr-rr"}, "corr-rr"),
        ({}, {"mechanism": "rs-fd"}, "rs-fd"),
    ],
)
def test_priors_that_are_no_distributions_are_refused(
    changes: dict[str, Any], options: dict[str, Any], words: str
) -> None:
    priors = {name: shares for name, shares in {**PRIORS, **changes}.items() if shares is not None}
    with pytest.raises(PlanError, match=words) as refusal:
        design(schema_of((3, 2)), 1.0, **{"mechanism": "rs-rfd", **options}, priors=priors)
    assert "\n" not in str(refusal.value)
