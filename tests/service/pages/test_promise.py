"""The numbers that a participant reads, against the exact law of the plan."""

from itertools import product

import pytest

from privtally.collector.learn import learn
from privtally.collector.tally import count
from privtally.documents.plan import Plan, design
from privtally.mechanisms.mechanism import Mechanism
from privtally.mechanisms.together import Together
from privtally.names import MechanismName
from privtally.schema import Schema
from privtally.service.pages.dashboard import likenesses
from privtally.service.pages.rendering import words_in
from privtally.service.pages.survey import promise_of, shown_words, true_shares
from tests.service.site import reports_to
from tests.support import EXTENDED_PLANS, EXTENSIONS, MECHANISMS

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


@pytest.mark.parametrize("plan", plans(), ids=lambda plan: f"{plan.name}-{plan.phase}-{len(plan.parts)}")
def test_how_often_an_answer_that_is_sent_is_true_follows_from_the_law(plan: Plan) -> None:
    promise, exact = promise_of([plan]), enumerated(plan.mechanism)
    assert promise.least_true == pytest.approx(min(exact), abs=1e-12)
    assert promise.most_true == pytest.approx(max(exact), abs=1e-12)
    assert promise.surer >= float(plan.mechanism.ratio)


@pytest.mark.parametrize("plan", plans(), ids=lambda plan: f"{plan.name}-{plan.phase}-{len(plan.parts)}")
def test_the_example_is_the_law_of_one_answer(plan: Plan) -> None:
    example = promise_of([plan]).example
    assert example is not None
    sent = [0.0] * plan.schema.sizes[0]
    for other in range(plan.schema.sizes[1]):
        for report, chance in plan.mechanism.law((0, other)).items():
            if report[0] != plan.mechanism.silences[0]:
                sent[report[0]] += float(chance)
    assert [share for _, share in example.sent] == pytest.approx([own / sum(sent) for own in sent], abs=1e-9)
    assert example.other != example.answer


def test_how_often_a_code_of_a_set_is_one_of_the_true_answers() -> None:
    plan = design(UNLIKE, 1.5, "pairs", single=0.5)
    mechanism = plan.mechanism
    assert isinstance(mechanism, Together)
    shares = true_shares(mechanism)
    for number, (places, share) in enumerate(zip(mechanism.sets, shares, strict=True)):
        for record in product(*map(range, mechanism.sizes)):
            true = sum(
                float(chance)
                for (code,), chance in mechanism.law(record).items()
                if mechanism.told(code)[0] == places
                and tuple(record[place] for place in places) in mechanism.told(code)[1]
            )
            assert true / float(mechanism.shares[number]) == pytest.approx(share, abs=1e-12)
    promise = promise_of([plan])
    assert (promise.least_true, promise.most_true) == (min(shares), max(shares))


def test_somebody_who_may_get_either_of_two_plans_hears_of_both() -> None:
    first = design(ALIKE, 1.5, "corr-rr")
    both = promise_of([first, second(first)])
    shares = [*enumerated(first.mechanism), *enumerated(second(first).mechanism)]
    assert (both.least_true, both.most_true) == pytest.approx((min(shares), max(shares)))


FOUR = Schema.of({name: ["x", "y"] for name in "abcd"})
PAIRS = [["a", "b"], ["c", "d"]]
SHOWN: dict[str, tuple[Plan, str, str]] = {
    "all answered": (
        design(FOUR, 1.0, "spl"),
        "Your report shows all 4 questions. Every answer is yours, changed at random.",
        "Ihr Bericht zeigt alle 4 Fragen. Jede Antwort ist Ihre, zufällig verändert.",
    ),
    "one question": (
        design(Schema.of({"a": ["x", "y"]}), 1.0, "spl"),
        "Your report shows the one question. The answer is yours, changed at random.",
        "Ihr Bericht zeigt die eine Frage. Die Antwort ist Ihre, zufällig verändert.",
    ),
    "one shown": (
        design(FOUR, 1.0, "smp"),
        "Your report shows one question, chosen at random. The answer is yours, changed at random.",
        "Ihr Bericht zeigt eine Frage, zufällig ausgewählt. Die Antwort ist Ihre, zufällig verändert.",
    ),
    "several pivots": (
        design(FOUR, 1.0, "smp", pivots=2),
        "Your report shows 2 of the 4 questions, chosen at random. Every answer in it is yours, changed at random.",
        "Ihr Bericht zeigt 2 der 4 Fragen, zufällig ausgewählt. Jede Antwort darin ist Ihre, zufällig verändert.",
    ),
    "one decoy": (
        design(FOUR, 1.0, "rs-fd", decoys=1),
        "Your report shows two questions. One answer is yours, changed at random; the other is made up.",
        "Ihr Bericht zeigt zwei Fragen. Eine Antwort ist Ihre, zufällig verändert; die andere ist erfunden.",
    ),
    "two decoys": (
        design(FOUR, 1.0, "rs-fd", decoys=2),
        "Your report shows 3 questions. One answer is yours, changed at random; the others are made up.",
        "Ihr Bericht zeigt 3 Fragen. Eine Antwort ist Ihre, zufällig verändert; die anderen sind erfunden.",
    ),
    "pivots and a decoy": (
        design(FOUR, 1.0, "rs-fd", pivots=2, decoys=1),
        "Your report shows 3 questions. Of the answers, 2 are yours, changed at random; the other is made up.",
        "Ihr Bericht zeigt 3 Fragen. Von den Antworten sind 2 Ihre, zufällig verändert; die andere ist erfunden.",
    ),
    "together": (
        design(FOUR, 1.0, "pairs"),
        "Your report answers 2 of the 4 questions together, chosen at random, and says which. The answers in it "
        "are yours, changed at random.",
        "Ihr Bericht beantwortet 2 der 4 Fragen zusammen, zufällig ausgewählt, und sagt welche. Die Antworten "
        "darin sind Ihre, zufällig verändert.",
    ),
    "together or alone": (
        design(FOUR, 1.0, "pairs", together=3, single=0.5),
        "Your report answers 3 of the 4 questions together, or one alone, chosen at random, and says which. The "
        "answers in it are yours, changed at random.",
        "Ihr Bericht beantwortet 3 der 4 Fragen zusammen oder eine allein, zufällig ausgewählt, und sagt welche. Die "
        "Antworten darin sind Ihre, zufällig verändert.",
    ),
    "groups": (
        design(FOUR, 1.0, "rs-fd", groups=PAIRS),
        "Your report shows 4 questions. Of the answers, 2 are yours, changed at random; the others are made up.",
        "Ihr Bericht zeigt 4 Fragen. Von den Antworten sind 2 Ihre, zufällig verändert; die anderen sind erfunden.",
    ),
}


@pytest.mark.parametrize("kind", SHOWN)
def test_a_report_is_described_in_both_languages(kind: str) -> None:
    plan, english, german = SHOWN[kind]
    promise = promise_of([plan])
    assert shown_words(promise, words_in("en")) == english
    assert shown_words(promise, words_in("de")) == german


@pytest.mark.parametrize("language", ["en", "de"])
def test_where_the_invitation_decides_both_kinds_of_reports_are_described(language: str) -> None:
    plans, words = [SHOWN["all answered"][0], SHOWN["two decoys"][0]], words_in(language)
    both = shown_words(promise_of(plans), words)
    assert all(shown_words(promise_of([plan]), words) in both for plan in plans)
    assert shown_words(promise_of(plans[:1] * 2), words) == shown_words(promise_of(plans[:1]), words)


@pytest.mark.parametrize(("mechanism", "parts"), [("corr-rr", 1), ("cond-rr", 1), ("rs-rfd", 0)])
def test_what_was_learned_is_drawn_where_a_question_follows_another(mechanism: MechanismName, parts: int) -> None:
    plan = second(design(ALIKE, 1.5, mechanism))
    found = likenesses(plan)
    assert len(found) == parts
    for own in found:
        part = plan.mechanism.parts[0]
        scale = part.filling((0,), 1).scale
        if scale is not None:
            assert own.follows[0][1] == pytest.approx(abs(float(scale)))
        assert all(0 <= value <= 1 for row in own.follows for value in row)
