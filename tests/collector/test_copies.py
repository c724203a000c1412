"""The copies that a second phase makes: their information by enumeration, the robust rule, and matches of classes."""

import tracemalloc
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privtally.collector.copies import SLACK, PairError, copy_information, proposition, safe_copies, spread
from privtally.collector.estimate import unbiased
from privtally.collector.inverse import zero_sum_basis
from privtally.collector.learn import learn
from privtally.collector.likelihood import WholeReports
from privtally.collector.tally import count
from privtally.documents.campaign import Phase
from privtally.documents.plan import Plan, design, load_plan
from privtally.errors import LearningError
from privtally.lab.population import seeded
from privtally.mechanisms.channels import randomized_response
from privtally.mechanisms.fills import AlignedFill, AlignedPair, CopyFill, UniformFill, alignment_of
from privtally.participant.respond import respond_many
from privtally.schema import Alignment, Attribute, Records, Schema
from tests.collector.made_up import answered_independently, copying_plan, same_copies, squared_scale
from tests.support import Scripted, schema_of

FALLING = np.array([0.4, 0.3, 0.2, 0.1])


def learned_copies(plan: Plan) -> np.ndarray:
    """The copy probabilities of a plan that was learned."""
    (part,) = plan.parts
    assert isinstance(part.fill, CopyFill)
    return np.array(part.fill.probability)


def directions(attributes: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """A unit difference between two labels that all attributes share, and one in which two attributes differ."""
    inside = np.zeros(size)
    inside[:2] = 2**-0.5, -(2**-0.5)
    shared = np.kron(np.ones(attributes) / attributes**0.5, inside)
    return shared, np.kron(np.eye(attributes)[0] - np.eye(attributes)[1], inside) / 2**0.5


@pytest.mark.parametrize(("attributes", "size"), [(2, 2), (2, 4), (3, 3), (4, 2), (4, 4)])
def test_patterns_give_what_enumeration_gives(attributes: int, size: int) -> None:
    steps, common, contrast = copy_information(attributes, size)
    assert (steps[0], steps[-1]) == (0, 1)
    for place in range(0, len(steps), 5):
        plan = copying_plan(same_copies(attributes, float(steps[place])), size)
        (part,) = plan.mechanism.parts
        seen = np.array([next(report for report in part.reports() if part.probability((0,) * attributes, report))])
        report = WholeReports(part, seen, np.ones(1, dtype=np.int64))
        information = report.information(np.full(attributes * size, 1 / size)) / squared_scale(plan)
        alike, differ = directions(attributes, size)
        assert common[place] == pytest.approx(alike @ information @ alike, abs=1e-8)
        assert contrast[place] == pytest.approx(differ @ information @ differ, abs=1e-8)


def test_noise_does_not_pass_for_a_difference() -> None:
    """Attributes that are alike, seen with an error as large as its variance says: they are still copied."""
    error, variance = PairError(FALLING, float(randomized_response(Fraction(1), 4).scale), 10_000), 0.01
    errors = np.sqrt(3 * variance) * zero_sum_basis([4]).T
    seen = [*(FALLING + errors), *(FALLING - errors)]
    assert error.best_copy(FALLING) == 1
    assert np.mean([error.best_copy(pivot) for pivot in seen]) < 0.77
    assert np.mean([error.best_copy(pivot, variance) for pivot in seen]) > 0.92


@pytest.mark.parametrize("attributes", [2, 3, 5])
def test_what_is_chosen_is_safe_whatever_phase_1_says(attributes: int) -> None:
    """Twenty people with next to no budget, and very many who are alike: unlike attributes lose at most the slack."""
    for epsilon, people in ((0.1, 20), (4.0, 1_000_000)):
        first = design(schema_of((3,) * attributes), epsilon, "corr-rr")
        counts = answered_independently(first, [np.array([0.6, 0.3, 0.1])] * attributes, people)
        copies = learned_copies(learn([(first, counts)], people=9 * people))
        information = np.mean([1 / spread(own) for own in unbiased([(first, counts)], []).variances])
        scale = float(randomized_response(Fraction(epsilon), 3).scale)
        safe = safe_copies(attributes, 3, float(information), 9 * people * scale**2)
        assert all(np.abs(safe - copies[pair]).min() < 1e-9 for pair in permutations(range(attributes), 2))
        steps, common, contrast = copy_information(attributes, 3)
        unlike = 1 / (information + 9 * people * scale**2 * common)
        unlike += (attributes - 1) / (information + 9 * people * scale**2 * contrast)
        assert unlike[np.isin(steps, safe)].max() <= SLACK * unlike[steps == 1 / 3]
        assert not np.isin(1.0, safe)


def test_like_attributes_are_copied_and_unlike_ones_are_not() -> None:
    first = design(schema_of((4, 4)), 2.0, "corr-rr")
    for law, (least, most) in (([FALLING, FALLING], (0.35, 0.45)), ([FALLING, FALLING[::-1]], (0.0, 0.15))):
        copies = learned_copies(learn([(first, answered_independently(first, law, 200_000))]))
        assert least <= copies[0, 1] <= most
        assert least <= copies[1, 0] <= most


@pytest.mark.parametrize("sizes", [(2,) * 31, (60, 60), (40_000, 40_000)])
def test_fills_are_even_where_copies_are_not_weighed(sizes: tuple[int, ...]) -> None:
    """With many attributes patterns are too many, with many labels randomized response is not the best channel, and
    matrices over two questions of 40,000 labels would have 51 GB.
    """
    first = design(schema_of(sizes), 1.0, "corr-rr")
    second = learn([(first, count(first, np.zeros((40, len(sizes)), dtype=np.uint16)))])
    assert [part.fill for part in second.parts] == [UniformFill()]


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


def test_a_group_too_large_to_analyse_has_even_fills() -> None:
    attributes = [
        Attribute(name, tuple(f"{name}{code}" for code in range(size)), ordered=True)
        for name, size in (("a", 3_000), ("b", 1_500))
    ]
    plan = design(Schema(tuple(attributes)), 2.0, "corr-rr", source=Scripted([7, 7]))
    (part,) = learn([(plan, count(plan, np.zeros((20, 2), dtype=np.uint16)))], rule="proposition").parts
    assert part.fill == UniformFill()


def test_many_questions_take_little_memory() -> None:
    first = design(schema_of((2,) * 120), 1.0, "corr-rr")
    counts = count(first, np.random.default_rng(1).integers(0, 2, (40, 120)).astype(np.uint8))
    tracemalloc.start()
    try:
        learn([(first, counts)], rule="proposition")
        assert tracemalloc.get_traced_memory()[1] < 120_000_000
    finally:
        tracemalloc.stop()
