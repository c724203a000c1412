"""Corr-RR between label sets that do not correspond one by one: what is chosen, and how secret the pivot stays."""

from fractions import Fraction

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privtally.alignments import Alignment
from privtally.collector.estimate import Phase, estimate
from privtally.collector.estimate.inverse import zero_sum_basis
from privtally.collector.learn import learn, reports
from privtally.collector.learn.lean import aligned_fill, leaning
from privtally.collector.learn.reports import information_at_uniform
from privtally.collector.learn.rules import PairError, proposition
from privtally.collector.tally import count
from privtally.documents.plan import Plan, design, load_plan
from privtally.errors import LearningError
from privtally.lab.seed import seeded
from privtally.mechanisms import Part
from privtally.mechanisms.aligned import AlignedPair
from privtally.mechanisms.alignment import alignment_of
from privtally.mechanisms.channel import randomized_response
from privtally.mechanisms.fills import AlignedFill, CopyFill, UniformFill
from privtally.participant.respond import respond_many
from privtally.privacy.leakage import leakage, uniform
from privtally.schema import Attribute, Records, Schema
from tests.support import Scripted

HEALTH = Attribute("health", tuple("uvwx"), ordered=True)
MOOD = Attribute("mood", tuple("123456"), ordered=True)
SMOKES = Attribute("smokes", ("no", "yes"))
SCHEMA = Schema((HEALTH, MOOD, SMOKES))
CLASSES = alignment_of(SCHEMA, 0, 1)
INSIDE = zero_sum_basis(SCHEMA.sizes)


def distribution(size: int) -> st.SearchStrategy[np.ndarray]:
    return st.lists(st.floats(0.01, 1), min_size=size, max_size=size).map(lambda w: np.array(w) / sum(w))


def people_of(schema: Schema, number: int, seed: int = 1) -> Records:
    """Answers that go up and down together."""
    made_up = np.random.default_rng(seed)
    level = made_up.random(number)
    columns = [
        np.floor(np.clip(level + made_up.normal(0, 0.1, number), 0, 0.999) ** 1.5 * size) for size in schema.sizes
    ]
    return Records(schema, np.column_stack(columns).astype(np.uint8))


def phase_of(plan: Plan, number: int, seed: int = 1) -> Phase:
    return plan, count(plan, respond_many(plan, people_of(plan.schema, number, seed), seeded(seed)).codes)


def first_phase(schema: Schema = SCHEMA, number: int = 2_000, epsilon: float = 2.0) -> Phase:
    return phase_of(design(schema, epsilon, "corr-rr", source=Scripted([7, 7])), number)


def error_of(pivot: np.ndarray, other: np.ndarray, budget: Fraction, users: int, filled: np.ndarray) -> float:
    """The mean squared error of the paper's estimator, summed over the labels, by its definition."""
    channel = randomized_response(budget, len(other))
    q, scale = float(channel.probability(0, 1)), float(channel.scale)
    reported = (channel.push(other) + filled) / 2
    return float(np.sum(((reported - q) / scale - other) ** 2 + reported * (1 - reported) / users / scale**2))


def fill_of(pivot: np.ndarray, budget: Fraction, probability: float, side: int) -> np.ndarray:
    assert CLASSES is not None
    channel = AlignedPair.of((0, 1), CLASSES, (probability, probability)).channel(side)
    assert channel is not None
    return np.asarray(channel.push(randomized_response(budget, len(pivot)).push(pivot)))


@given(distribution(4), distribution(6), st.integers(10, 100_000), st.sampled_from([0, 1]))
def test_the_proposition_minimises_the_error_for_any_sizes(
    health: np.ndarray, mood: np.ndarray, users: int, side: int
) -> None:
    pivot, other = (health, mood) if side == 0 else (mood, health)
    budget = Fraction(1)
    error = PairError(other, float(randomized_response(budget, len(other)).scale), users)
    chosen = error.best_match(fill_of(pivot, budget, 0.0, side), fill_of(pivot, budget, 1.0, side))
    errors = [
        error_of(pivot, other, budget, users, fill_of(pivot, budget, round(p * 2**32) / 2**32, side))
        for p in np.linspace(0, 1, 51)
    ]
    even = error_of(pivot, other, budget, users, np.full(len(other), 1 / len(other)))
    if chosen is None:
        assert even <= min(errors) * (1 + 1e-9)
    else:
        least = error_of(pivot, other, budget, users, fill_of(pivot, budget, round(chosen * 2**32) / 2**32, side))
        assert least <= min([*errors, even]) * (1 + 1e-6)


@given(distribution(4), distribution(4), st.integers(10, 100_000))
def test_label_by_label_it_is_proposition_1(pivot: np.ndarray, other: np.ndarray, users: int) -> None:
    channel = randomized_response(Fraction(1), 4)
    scale, private = float(channel.scale), channel.push(pivot)
    best = PairError(other, scale, users).best_match((1 - private) / 3, private)
    if best is not None:
        assert best == pytest.approx(float(proposition(pivot, other, scale, users)), abs=1e-9)


@pytest.mark.parametrize("rule", ["robust", "proposition"])
def test_only_aligned_pairs_match(rule: str) -> None:
    plan, counts = first_phase()
    second = learn([(plan, counts)], rule=rule)  # type: ignore[arg-type]
    assert load_plan(second.dump()) == second
    (part,) = second.parts
    assert isinstance(part.fill, AlignedFill)
    assert [pair.pair for pair in part.fill.pairs] == [(0, 1)]
    assert part.fill.pairs[0].classes == ((0, 1, 2, 3), (0, 0, 1, 2, 2, 3))


def test_labels_that_share_nothing_have_even_fills() -> None:
    schema = Schema.of({"a": list("xyz"), "b": list("123"), "c": list("uv")})
    second = learn([first_phase(schema)], max_pivot_guess=1.0)
    assert [part.fill for part in second.parts] == [UniformFill()]
    assert second.learned is not None
    assert second.learned.pivot_guess == pytest.approx(1 / 3)


def test_labels_that_correspond_one_by_one_are_copied() -> None:
    schema = Schema(
        (Attribute("a", ("x", "y", "z")), Attribute("b", ("1", "2", "3"))),
        (Alignment(tuple({"a": (one,), "b": (two,)} for one, two in zip("xyz", "123", strict=True))),),
    )
    (part,) = learn([first_phase(schema)], rule="published").parts
    assert isinstance(part.fill, CopyFill)


def test_the_published_rule_is_for_labels_that_correspond() -> None:
    with pytest.raises(LearningError, match="published"):
        learn([first_phase()], rule="published")


@pytest.mark.parametrize("most", [0.34, 0.4, 0.5, 0.9])
def test_the_pivot_stays_as_secret_as_wanted(most: float) -> None:
    second = learn([first_phase()], max_pivot_guess=most)
    guess = leakage(second.sampler, uniform(SCHEMA.sizes)).pivot_guess
    assert second.learned is not None
    assert second.learned.pivot_guess is not msgspec.UNSET
    assert guess is not None
    assert second.learned.pivot_guess == pytest.approx(float(guess))
    assert float(guess) <= most


def test_a_secrecy_that_nothing_gives_is_refused() -> None:
    with pytest.raises(LearningError, match=r"0\.3334"):
        learn([first_phase()], max_pivot_guess=0.1)


def lean_part(lean: float) -> Part:
    asked = tuple(randomized_response(Fraction(2), size) for size in SCHEMA.sizes)
    assert CLASSES is not None
    alignments = {(0, 1): CLASSES}
    return Part((0, 1, 2), 1, asked, aligned_fill(alignments, leaning(alignments, asked, lean)))


@pytest.mark.parametrize("lean", [-1.0, -0.3, 0.0, 0.4, 1.0])
def test_without_enumeration_the_information_is_no_more(lean: float, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = information_at_uniform(lean_part(lean))
    monkeypatch.setattr(reports, "MOST_REPORTS", 0)
    less = INSIDE.T @ (exact - information_at_uniform(lean_part(lean))) @ INSIDE
    assert np.linalg.eigvalsh(less)[0] > -1e-9


def test_with_even_fills_the_marginals_say_all_that_they_can(monkeypatch: pytest.MonkeyPatch) -> None:
    """At uniform answers a report with even fills says of an attribute what its own reported label says."""
    part = Part((0, 1, 2), 1, lean_part(0.0).asked, UniformFill())
    exact = information_at_uniform(part)
    monkeypatch.setattr(reports, "MOST_REPORTS", 0)
    assert np.allclose(INSIDE.T @ exact @ INSIDE, INSIDE.T @ information_at_uniform(part) @ INSIDE)


def test_information_is_what_the_law_says() -> None:
    """The expected squares of the score, by the exact law of every record."""
    part = lean_part(-0.5)
    pushed = [channel.push(np.eye(channel.inputs)) for channel in part.asked]
    expected = np.zeros((12, 12))
    for report in part.reports():
        row = np.zeros(12)
        for own, start in enumerate((0, 4, 10)):
            rest = float(part.rest_probability((own,), report)) / 3
            row[start : start + part.sizes[own]] = rest * pushed[own][:, report[own]]
        chance = sum(row[start : start + size].mean() for start, size in ((0, 4), (4, 6), (10, 2)))
        expected += np.outer(row, row) / chance
    assert np.allclose(information_at_uniform(part), expected)


def test_a_pivot_in_a_large_domain_fills_evenly() -> None:
    """With 60 labels the channel reports codes; the shorter question is still matched by what it fills."""
    large = Attribute("large", tuple(f"l{code}" for code in range(60)), ordered=True)
    schema = Schema((large, HEALTH))
    second = learn([first_phase(schema, epsilon=1.0)], max_pivot_guess=1.0)
    (part,) = second.sampler.parts
    assert part.asked[0].inside > 1
    assert part.filling((0,), 1).scale == 0


@pytest.mark.parametrize("method", ["unbiased", "pooled", "paper"])
def test_every_method_reads_aligned_reports(method: str) -> None:
    first = first_phase(number=20_000)
    second = learn([first])
    found = estimate([first, phase_of(second, 180_000, seed=2)], method)  # type: ignore[arg-type]
    truth = people_of(SCHEMA, 200_000, seed=3).frequencies()
    for name, own in found.attributes.items():
        assert np.sum(own.frequencies) == pytest.approx(1)
        if method != "paper":
            errors = np.abs(np.array(own.frequencies) - truth[name])
            assert (errors < 5.5 * np.array(own.standard_errors) + 0.01).all()


def test_a_group_too_large_to_analyse_has_even_fills() -> None:
    attributes = [
        Attribute(name, tuple(f"{name}{code}" for code in range(size)), ordered=True)
        for name, size in (("a", 200), ("b", 150))
    ]
    (part,) = learn([first_phase(Schema(tuple(attributes)))]).parts
    assert part.fill == UniformFill()
