"""Corr-RR between label sets that do not correspond one by one: what is chosen."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privtally.alignments import Alignment
from privtally.collector.estimate import Phase, estimate
from privtally.collector.learn import learn
from privtally.collector.learn.rules import PairError, proposition
from privtally.collector.tally import count
from privtally.documents.plan import Plan, design, load_plan
from privtally.errors import LearningError
from privtally.lab.seed import seeded
from privtally.mechanisms.aligned import AlignedPair
from privtally.mechanisms.alignment import alignment_of
from privtally.mechanisms.channel import randomized_response
from privtally.mechanisms.fills import AlignedFill, CopyFill, UniformFill
from privtally.participant.respond import respond_many
from privtally.schema import Attribute, Records, Schema
from tests.support import Scripted

HEALTH = Attribute("health", tuple("uvwx"), ordered=True)
MOOD = Attribute("mood", tuple("123456"), ordered=True)
SMOKES = Attribute("smokes", ("no", "yes"))
SCHEMA = Schema((HEALTH, MOOD, SMOKES))
CLASSES = alignment_of(SCHEMA, 0, 1)


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
    """The law of a fill, from the pivot's frequencies along the last axis."""
    assert CLASSES is not None
    channel = AlignedPair.of((0, 1), CLASSES, (probability, probability)).channel(side)
    assert channel is not None
    return np.asarray(channel.push(randomized_response(budget, pivot.shape[-1]).push(pivot)))


@given(distribution(4), distribution(6), st.integers(10, 100_000), st.sampled_from([0, 1]))
def test_the_proposition_minimises_the_error_for_any_sizes(
    health: np.ndarray, mood: np.ndarray, users: int, side: int
) -> None:
    pivot, other = (health, mood) if side == 0 else (mood, health)
    budget = Fraction(1)
    error = PairError(other, float(randomized_response(budget, len(other)).scale), users)
    labels = np.eye(len(pivot))
    chosen = error.best_match(pivot, fill_of(labels, budget, 0.0, side), fill_of(labels, budget, 1.0, side))
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
    scale, private = float(channel.scale), channel.push(np.eye(4))
    error = PairError(other, scale, users)
    for noise in (0.0, 1e-3):
        best = error.best_match(pivot, (1 - private) / 3, private, noise)
        if best is not None:
            assert best == pytest.approx(float(error.best_copy(pivot, noise)), abs=1e-6)
    assert error.best_copy(pivot) == proposition(pivot, other, scale, users)


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
    second = learn([first_phase(schema)])
    assert [part.fill for part in second.parts] == [UniformFill()]


def test_labels_that_share_some_have_even_fills() -> None:
    """Whether "none" means the same in both only a declaration can say."""
    schema = Schema.of({"a": ["none", "x", "y"], "b": ["none", "1", "2"], "c": ["none", "1", "2"]})
    (part,) = learn([first_phase(schema)], rule="proposition").parts
    assert isinstance(part.fill, AlignedFill)
    assert [pair.pair for pair in part.fill.pairs] == [(1, 2)]


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


@pytest.mark.parametrize("method", ["unbiased", "likelihood", "paper"])
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
        for name, size in (("a", 3_000), ("b", 1_500))
    ]
    plan = design(Schema(tuple(attributes)), 2.0, "corr-rr", source=Scripted([7, 7]))
    (part,) = learn([(plan, count(plan, np.zeros((20, 2), dtype=np.uint16)))], rule="proposition").parts
    assert part.fill == UniformFill()
