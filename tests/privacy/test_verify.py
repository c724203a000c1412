"""The independent verifier accepts every true certificate and refuses every false one."""

import json
import sys
from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import pytest
from hypothesis import given

from privtally.documents.plan import Plan
from privtally.exact import canonical
from privtally.names import MechanismName
from privtally.privacy.loss import certify, dump_certificate
from privtally.privacy.verify import CertificateError, verify
from tests.mechanisms.test_contract import plan_of_any_parts
from tests.scale import scaled
from tests.support import EXTENDED_PLANS, SHAPES, cases, plan_of, plan_with

SMALLER = tuple(sizes for sizes in SHAPES if prod(sizes) < 100)
Edit = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(("mechanism", "sizes"), cases(scaled(SMALLER, SHAPES)))
def test_true_certificates_are_accepted(mechanism: MechanismName, sizes: tuple[int, ...]) -> None:
    plan = plan_of(mechanism, sizes, epsilon=0.7, seed=2)
    verify(plan.dump(), dump_certificate(certify(plan)))


@pytest.mark.parametrize("name", EXTENDED_PLANS)
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_true_certificates_of_groups_and_several_pivots_are_accepted(name: str, epsilon: float) -> None:
    plan = plan_with(*EXTENDED_PLANS[name], epsilon=epsilon)
    certificate = certify(plan)
    assert certificate["exact"] is True
    verify(plan.dump(), dump_certificate(certificate))


@pytest.mark.parametrize("name", EXTENDED_PLANS)
def test_false_certificates_of_groups_and_several_pivots_are_refused(name: str) -> None:
    plan = plan_with(*EXTENDED_PLANS[name])
    document, edits = dump_certificate(certify(plan)), dict(CERTIFICATE_EDITS)
    for edit in (
        edits["entry's ratio"],
        edits["records swapped"],
        lambda c: c["by_differing_attributes"][-1].update(
            c["by_differing_attributes"][-2], differing=plan.mechanism.width
        ),
    ):
        with pytest.raises(CertificateError):
            verify(plan.dump(), edited(document, edit))


@given(plan_of_any_parts().filter(lambda plan: prod(plan.mechanism.outputs) <= 60))
def test_true_certificates_of_any_parts_are_accepted(plan: Plan) -> None:
    verify(plan.dump(), dump_certificate(certify(plan)))


@pytest.fixture
def most_digits() -> Iterator[int]:
    """As few digits as Python can be told to write in decimal at most."""
    before, few = sys.get_int_max_str_digits(), sys.int_info.str_digits_check_threshold
    sys.set_int_max_str_digits(few)
    yield few
    sys.set_int_max_str_digits(before)


@pytest.mark.parametrize(("mechanism", "attributes"), [("spl", 80), ("smp", 80), ("rs-fd", 300)])
def test_certificates_of_many_attributes_are_accepted(
    mechanism: MechanismName, attributes: int, most_digits: int
) -> None:
    """SPL exactly, with ratios of more digits than Python writes, SMP exactly, and 5^300 ways of RS+FD by its bound."""
    plan = plan_of(mechanism, (3,) * attributes)
    certificate = certify(plan)
    assert certificate["exact"] is (mechanism != "rs-fd")
    verify(plan.dump(), dump_certificate(certificate))
    largest = max(int(entry["ratio"][0], 16) for entry in certificate["by_differing_attributes"])
    assert (largest > 10**most_digits) is (mechanism == "spl")


@pytest.mark.parametrize("mechanism", ["spl", "smp", "rs-fd", "rs-rfd", "corr-rr"])
def test_certificates_of_large_plans_are_accepted(mechanism: MechanismName) -> None:
    plan = plan_of(mechanism, (40,) * 12)
    verify(plan.dump(), dump_certificate(certify(plan)))


def first(document: dict[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = document["by_differing_attributes"][0]
    return entry


def larger(ratio: list[str]) -> list[str]:
    return [f"{int(ratio[0], 16) + 1:x}", ratio[1]]


CERTIFICATE_EDITS: list[tuple[str, Edit]] = [
    ("other plan", lambda c: c.update(plan="0" * 64)),
    ("other format", lambda c: c.update(format="privtally.certificate/2")),
    ("smaller epsilon", lambda c: c.update(epsilon=0.5)),
    ("larger epsilon", lambda c: c.update(epsilon=2.0)),
    ("epsilon as text", lambda c: c.update(epsilon="1.0")),
    ("smaller realised", lambda c: c.update(realised=0.9)),
    ("realised as text", lambda c: c.update(realised="1")),
    ("larger ratio", lambda c: c.update(ratio=larger(c["ratio"]))),
    ("ratio of one", lambda c: c.update(ratio=["1", "1"])),
    ("ratio as numbers", lambda c: c.update(ratio=[2, 1])),
    ("ratio in another notation", lambda c: c.update(ratio=[str(int(each, 16)) for each in c["ratio"]])),
    ("ratio over nothing", lambda c: c.update(ratio=["1", "0"])),
    ("not exact", lambda c: c.update(exact=False)),
    ("field more", lambda c: c.update(note="trust me")),
    ("field less", lambda c: c.pop("exact")),
    ("entry less", lambda c: c["by_differing_attributes"].pop()),
    ("entries swapped", lambda c: c["by_differing_attributes"].reverse()),
    ("entry twice", lambda c: c["by_differing_attributes"].append(first(c))),
    ("no entries", lambda c: c.update(by_differing_attributes=[])),
    ("entry's ratio", lambda c: first(c).update(ratio=larger(first(c)["ratio"]))),
    ("entry's realised", lambda c: first(c).update(realised=0.1)),
    ("entry not exact", lambda c: first(c).update(exact=False)),
    ("entry's field more", lambda c: first(c).update(note="trust me")),
    ("entry's number", lambda c: first(c).update(differing=2)),
    ("same record twice", lambda c: first(c).update(other_record=first(c)["record"])),
    ("records swapped", lambda c: first(c).update(record=first(c)["other_record"], other_record=first(c)["record"])),
    ("code out of range", lambda c: first(c).update(record=[9] * 3)),
    ("record too short", lambda c: first(c)["record"].pop()),
    ("other report", lambda c: first(c).update(report=[(code + 1) % 3 for code in first(c)["report"]])),
    ("no report", lambda c: first(c).pop("report")),
]


def edited(document: bytes, edit: Edit) -> bytes:
    values = json.loads(document)
    edit(values)
    return json.dumps(values).encode()


@pytest.mark.parametrize("edit", [case[1] for case in CERTIFICATE_EDITS], ids=[case[0] for case in CERTIFICATE_EDITS])
def test_false_certificates_are_refused(edit: Edit) -> None:
    plan = plan_of("rs-fd", (3, 3, 3))
    with pytest.raises(CertificateError):
        verify(plan.dump(), edited(dump_certificate(certify(plan)), edit))


def resealed(document: bytes, edit: Edit) -> bytes:
    """An edited plan with a digest that fits it: as a dishonest collector would publish it."""
    values = json.loads(document)
    del values["digest"]
    edit(values)
    return canonical.canonical({**values, "digest": canonical.digest(values)})


def fill_of(plan: dict[str, Any]) -> dict[str, Any]:
    fill: dict[str, Any] = plan["parts"][0]["fill"]
    return fill


def copies(plan: dict[str, Any]) -> list[list[float]]:
    probability: list[list[float]] = fill_of(plan)["probability"]
    return probability


PLAN_EDITS: list[tuple[str, Edit]] = [
    ("more budget", lambda p: p.update(epsilon=2.0)),
    ("less budget", lambda p: p.update(epsilon=0.5)),
    ("no budget", lambda p: p.update(epsilon=0)),
    ("budget as text", lambda p: p.update(epsilon="1.0")),
    ("other format", lambda p: p.update(format="privtally.documents.plan/9")),
    ("attribute less", lambda p: p["schema"]["attributes"].pop()),
    ("label more", lambda p: p["schema"]["attributes"][0]["labels"].append("more")),
    ("other fill", lambda p: p["parts"][0].update(fill={"kind": "uniform"})),
    ("unknown fill", lambda p: p["parts"][0].update(fill={"kind": "magic"})),
    ("no fill", lambda p: p["parts"][0].pop("fill")),
    ("two pivots", lambda p: p["parts"][0].update(pivots=2)),
    ("no pivot", lambda p: p["parts"][0].update(pivots=0)),
    ("pivots as truth", lambda p: p["parts"][0].update(pivots=True)),
    ("unknown channel", lambda p: p["parts"][0]["channels"][0].update(kind="magic")),
    ("channel less", lambda p: p["parts"][0]["channels"].pop()),
    ("attribute twice", lambda p: p["parts"][0].update(attributes=[0, 1, 1])),
    ("part twice", lambda p: p["parts"].append(p["parts"][0])),
    ("no parts", lambda p: p.update(parts=[])),
    ("probability above 1", lambda p: copies(p)[0].__setitem__(1, 1.5)),
    ("negative probability", lambda p: copies(p)[0].__setitem__(1, -0.5)),
    ("probability not statable", lambda p: copies(p)[0].__setitem__(1, 0.1)),
    ("row less", lambda p: copies(p).pop()),
    ("row too short", lambda p: copies(p)[0].pop()),
    ("no parameters", lambda p: p["parts"][0]["fill"].pop("probability")),
]


def assert_refused(plan: Plan, edit: Edit) -> None:
    """A dishonest plan, with the honest one's certificate made out to it."""
    dishonest = resealed(plan.dump(), edit)
    certificate = json.loads(dump_certificate(certify(plan)))
    certificate["plan"] = json.loads(dishonest)["digest"]
    with pytest.raises(CertificateError):
        verify(dishonest, json.dumps(certificate))


@pytest.mark.parametrize("edit", [case[1] for case in PLAN_EDITS], ids=[case[0] for case in PLAN_EDITS])
def test_plans_that_the_certificate_is_not_of_are_refused(edit: Edit) -> None:
    plan = plan_of("corr-rr", (3, 3, 3))
    assert_refused(plan, edit)
    with pytest.raises(CertificateError, match="digest"):
        verify(edited(plan.dump(), edit), dump_certificate(certify(plan)))


@pytest.mark.parametrize("document", ["", "[]", "{}", "nonsense", '{"format": "privtally.certificate/1"}'])
def test_what_is_no_certificate_is_refused(document: str) -> None:
    plan = plan_of("spl", (2, 2))
    with pytest.raises(CertificateError):
        verify(plan.dump(), document)
    with pytest.raises(CertificateError):
        verify(document, dump_certificate(certify(plan)))


@pytest.mark.parametrize(
    ("mechanism", "edit"),
    [
        ("rs-rfd", lambda p: fill_of(p)["rows"][0].__setitem__(0, fill_of(p)["rows"][0][0] + 2.0**-32)),
        ("rs-rfd", lambda p: fill_of(p)["rows"].pop()),
        ("cond-rr", lambda p: fill_of(p)["tables"][0]["rows"][0].__setitem__(0, 2.0)),
        ("cond-rr", lambda p: fill_of(p)["tables"].pop()),
        ("cond-rr", lambda p: fill_of(p)["tables"].append(fill_of(p)["tables"][0])),
        ("cond-rr", lambda p: fill_of(p)["tables"][0]["rows"].pop()),
    ],
)
def test_every_mechanisms_parameters_are_checked(mechanism: MechanismName, edit: Edit) -> None:
    assert_refused(plan_of(mechanism, (2, 3)), edit)


def pair_of(plan: dict[str, Any]) -> dict[str, Any]:
    pair: dict[str, Any] = fill_of(plan)["pairs"][0]
    return pair


@pytest.mark.parametrize(
    "edit",
    [
        lambda p: fill_of(p)["pairs"].append(pair_of(p)),
        lambda p: pair_of(p).update(pair=[0, 3]),
        lambda p: pair_of(p).update(pair=[1, 0]),
        lambda p: pair_of(p)["classes"][0].pop(),
        lambda p: pair_of(p).update(classes=[[0, 0], [0, 1, 1, 1]]),
        lambda p: pair_of(p).update(probability=[0.5]),
        lambda p: pair_of(p).update(probability=[0.5, 1.5]),
        lambda p: pair_of(p).update(probability=[0.1, 0.5]),
        lambda p: pair_of(p).update(probability=["0.5", 0.5]),
        lambda p: p["parts"][0].update(pivots=2),
    ],
)
def test_alignments_are_checked(edit: Edit) -> None:
    assert_refused(plan_with(*EXTENDED_PLANS["aligned"]), edit)
