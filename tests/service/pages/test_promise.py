"""The numbers that a participant reads, against the exact law of the plan."""

from itertools import product

import pytest

pytest.importorskip("jinja2", reason="needs the extra: pip install 'privtally[serve]'")

from privtally.collector.learn import learn
from privtally.collector.tally import count
from privtally.documents.plan import Plan, design
from privtally.mechanisms import Mechanism
from privtally.names import MECHANISMS, MechanismName
from privtally.schema import Schema
from privtally.service.pages.learned import likenesses
from privtally.service.pages.promise import promise_of, true_shares
from tests.service.site import reports_to
from tests.support import EXTENDED_PLANS, EXTENSIONS

ALIKE = Schema.of({"a": ["x", "y", "z"], "b": ["x", "y", "z"]})
UNLIKE = Schema.of({"a": ["x", "y"], "b": ["x", "y", "z"]})


def second(plan: Plan) -> Plan:
    return learn([(plan, count(plan, reports_to(plan, 500).codes))])


def plans() -> list[Plan]:
    first = [design(ALIKE, 1.5, mechanism) for mechanism in MECHANISMS]
    return [*first, *(second(plan) for plan in first[3:]), design(UNLIKE, 3.0, "rs-fd")]


def enumerated(mechanism: Mechanism) -> list[float]:
    """Over all records alike, how often each answer that is sent is the true one or stands for it."""
    channels = [mechanism.parts[number].asked[place] for number, place in mechanism.places]
    sent, true = [0.0] * mechanism.width, [0.0] * mechanism.width
    for record in product(*map(range, mechanism.sizes)):
        for report, chance in mechanism.law(record).items():
            for own, code in enumerate(report):
                if code != mechanism.silences[own]:
                    sent[own] += float(chance)
                    true[own] += float(chance) * (record[own] in channels[own].holders(code))
    return [one / all_ for one, all_ in zip(true, sent, strict=True)]


@pytest.mark.parametrize("name", EXTENDED_PLANS)
def test_how_often_an_answer_is_true_follows_from_the_law_of_every_shape_of_plan(name: str) -> None:
    mechanism = EXTENSIONS[name](1.5)
    assert sorted(true_shares(mechanism)) == pytest.approx(sorted(enumerated(mechanism)), abs=1e-9)


@pytest.mark.parametrize("plan", plans(), ids=lambda plan: f"{plan.mechanism}-{plan.phase}-{len(plan.parts)}")
def test_how_often_an_answer_that_is_sent_is_true_follows_from_the_law(plan: Plan) -> None:
    promise, exact = promise_of([plan]), enumerated(plan.sampler)
    assert promise.least_true == pytest.approx(min(exact), abs=1e-12)
    assert promise.most_true == pytest.approx(max(exact), abs=1e-12)
    assert promise.surer >= float(plan.sampler.ratio)


@pytest.mark.parametrize("plan", plans(), ids=lambda plan: f"{plan.mechanism}-{plan.phase}-{len(plan.parts)}")
def test_the_example_is_the_law_of_one_answer(plan: Plan) -> None:
    example = promise_of([plan]).example
    assert example is not None
    sent = [0.0] * plan.schema.sizes[0]
    for other in range(plan.schema.sizes[1]):
        for report, chance in plan.sampler.law((0, other)).items():
            if report[0] != plan.sampler.silences[0]:
                sent[report[0]] += float(chance)
    assert [share for _, share in example.sent] == pytest.approx([own / sum(sent) for own in sent], abs=1e-9)
    assert example.other != example.answer


def test_somebody_who_may_get_either_of_two_plans_hears_of_both() -> None:
    first = design(ALIKE, 1.5, "corr-rr")
    both = promise_of([first, second(first)])
    shares = [*enumerated(first.sampler), *enumerated(second(first).sampler)]
    assert (both.least_true, both.most_true) == pytest.approx((min(shares), max(shares)))


@pytest.mark.parametrize(("mechanism", "parts"), [("corr-rr", 1), ("cond-rr", 1), ("rs-rfd", 0)])
def test_what_was_learned_is_drawn_where_a_question_follows_another(mechanism: MechanismName, parts: int) -> None:
    plan = second(design(ALIKE, 1.5, mechanism))
    found = likenesses(plan)
    assert len(found) == parts
    for own in found:
        part = plan.sampler.parts[0]
        scale = part.filling((0,), 1).scale
        if scale is not None:
            assert own.follows[0][1] == pytest.approx(abs(float(scale)))
        assert all(0 <= value <= 1 for row in own.follows for value in row)
