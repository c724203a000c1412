"""The browser client refuses what the Python library refuses."""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from itertools import product
from pathlib import Path
from typing import Any

import msgspec

from privtally.documents.campaign import check_campaign
from privtally.documents.plan import Plan, design, load_plan
from privtally.errors import CampaignError, PlanError
from privtally.exact import canonical
from privtally.mechanisms.fills import RowFill
from privtally.schema import Attribute, Schema
from tests.client.node import run, run_json
from tests.client.vectors import GRIDS, SURVEY
from tests.participant.malicious import EVEN, MALICE, WITH_PRIORS
from tests.support import EXTENDED_PLANS, Scripted, fill_of, first_plan, later_plan, plan_of, plan_with

HERE = Path(__file__).parent
VALUES: tuple[Any, ...] = (None, True, False, "x", -1, 0, 1, 1.5, 2**53, [], {}, [0], ["grr"])
BASES: tuple[Plan, ...] = (
    plan_of("corr-rr", (3, 3)),
    plan_of("cond-rr", (2, 2)),
    plan_with(*EXTENDED_PLANS["large, row"]),
    WITH_PRIORS,
    plan_with(*EXTENDED_PLANS["two pivots, silent"]),
    design(Schema(SURVEY.attributes[1:4]), 1.0, "rs-fd", source=Scripted([7, 7])),
    first_plan((2, 3, 2), 1.0, "pairs", single=0.5, pairs_of=(("q0", "q1"), ("q1", "q2"))),
    first_plan((2, 2, 3), 1.0, "pairs", together=3),
    design(Schema(GRIDS.attributes[:2]), 1.0, "smp", source=Scripted([7, 7])),
)
Place = tuple[str | int, ...]


def test_the_same_changed_plans_are_refused(tmp_path: Path) -> None:
    documents = [canonical.canonical(document).decode() for plan in BASES for document in _changed(plan)]
    expected = list(map(_takes, documents))
    assert len(documents) > 2_000
    assert 0.01 < sum(expected) / len(expected) < 0.5
    (tmp_path / "documents.json").write_text(json.dumps(documents), encoding="utf-8")
    found = run_json(HERE / "documents.mjs", tmp_path / "documents.json")
    differ = [text for text, one, two in zip(documents, expected, found, strict=True) if one != two]
    assert differ == []


def test_edits_foreign_campaigns_and_wrong_answers_are_refused(tmp_path: Path) -> None:
    first = first_plan((3, 3), 1.0, "corr-rr", answers=2)
    fill = fill_of("corr-rr", (3, 3))
    assert fill is not None
    questions = (
        Attribute("age", bins=(0, 18, 30, 45, 65, 120)),
        Attribute("height", bins=(0.5, 1.5, 1.75, 2.5), decimals=True, optional=True),
        Attribute("smokes", ("no", "yes")),
        Attribute("rooms", grid=(1, 3, 8)),
    )
    plans = {
        "first": first,
        "second": later_plan(first, fill),
        "foreign": msgspec.structs.replace(first, nonce="1" * 32),
        "survey": design(Schema(questions), 1.0, "spl", source=Scripted([7, 7])),
    }
    documents = {name: plan.dump().decode() for name, plan in plans.items()}
    (tmp_path / "plans.json").write_text(json.dumps(documents), encoding="utf-8")
    run(HERE / "refusals.mjs", tmp_path / "plans.json")


def test_the_same_plans_break_the_same_part_of_a_pinned_contract(tmp_path: Path) -> None:
    first = first_plan((3, 3), 1.0, "corr-rr")
    fill = fill_of("corr-rr", (3, 3))
    assert fill is not None
    start = first.dump().decode()
    cases = [(first.digest, start, document) for document in _later_plans(first, later_plan(first, fill))]
    learned = later_plan(WITH_PRIORS, RowFill((EVEN, EVEN)))
    cases += [
        (WITH_PRIORS.digest, WITH_PRIORS.dump().decode(), document) for document in _later_plans(WITH_PRIORS, learned)
    ]
    for malice in MALICE.values():
        listed = malice.listed(malice.opened[0])
        if malice.broken is not None:
            cases += [
                (malice.pinned.digest, json.dumps(json.loads(listed)[0]), each.decode()) for each in malice.opened
            ]
    expected = [_broken(*case) for case in cases]
    assert {malice.broken for malice in MALICE.values()} <= set(expected)
    assert expected.count(None) > 5
    (tmp_path / "plans.json").write_text(json.dumps(cases), encoding="utf-8")
    assert run_json(HERE / "campaigns.mjs", tmp_path / "plans.json") == expected


def _later_plans(first: Plan, second: Plan) -> Iterator[str]:
    """Every choice of phase, round, parts and what was learned, each under its digest."""
    start, later = (json.loads(plan.dump()) for plan in (first, second))
    rounds: tuple[dict[str, Any], ...] = ({}, *({"round": number} for number in (1, 2, 3, 900)))
    chosen = product((1, 2, 3), rounds, (start["parts"], later["parts"]), ({}, {"learned": later["learned"]}))
    for phase, stated, parts, learned in chosen:
        shared = {name: later[name] for name in later.keys() - {"digest", "learned"}}
        content = {**shared, "phase": phase, "parts": parts, **stated, **learned}
        yield canonical.canonical({**content, "digest": canonical.digest(content)}).decode()


def _broken(pin: str, first: str, document: str) -> str | None:
    """The part of a pinned contract that a plan breaks."""
    try:
        check_campaign(pin, load_plan(first), load_plan(document))
    except PlanError:
        return "not a plan"
    except CampaignError as refusal:
        return str(re.findall(r"'(\w+)'", str(refusal))[0])
    return None


def _takes(document: str) -> bool:
    try:
        load_plan(document)
    except PlanError:
        return False
    return True


def _changed(plan: Plan) -> Iterator[dict[str, Any]]:
    """The plan with one change in each, under the digest of its changed content."""
    document = json.loads(plan.dump())
    del document["digest"]
    for place in _places(document, ()):
        for value in _instead(document, place):
            content = deepcopy(document)
            inside = _at(content, place[:-1])
            if value is _GONE:
                del inside[place[-1]]
            else:
                inside[place[-1]] = value
            yield {**content, "digest": canonical.digest(content)}


_GONE = object()


def _instead(document: dict[str, Any], place: Place) -> Iterator[Any]:
    value = _at(document, place)
    yield from (other for other in VALUES if (type(other), other) != (type(value), value))
    yield _GONE
    if isinstance(value, dict):
        yield {**value, "extra": 1}
    if isinstance(value, list):
        yield from (value + value[-1:], value[:-1], value[::-1])


def _places(value: Any, place: Place) -> Iterator[Place]:
    """Every place of a document, except what changes no draw: how bins are called, and where the plan came from."""
    if place:
        yield place
    if isinstance(value, dict):
        unread = {"groups", "learned"} | ({"bins", "labels"} if "bins" in value else set())
        for name in sorted(value.keys() - unread):
            yield from _places(value[name], (*place, name))
    if isinstance(value, list):
        for number in range(min(len(value), 3)):
            yield from _places(value[number], (*place, number))


def _at(value: Any, place: Place) -> Any:
    for step in place:
        value = value[step]
    return value
