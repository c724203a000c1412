"""The information of copies, by enumeration, and the rule that allows for noise."""

import re
import tracemalloc
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from privtally.collector.estimate import unbiased
from privtally.collector.estimate.inverse import zero_sum_basis
from privtally.collector.estimate.likelihood import WholeReports
from privtally.collector.learn import learn
from privtally.collector.learn.rules import SLACK, PairError, copy_information, safe_copies, spread
from privtally.collector.tally import count
from privtally.documents.plan import Plan, design
from privtally.mechanisms.channel import randomized_response
from privtally.mechanisms.fills import CopyFill, UniformFill
from privtally.privacy.audit import audit
from tests.collector.made_up import answered_independently, copying_plan, same_copies, squared_scale
from tests.support import schema_of

BOUNDS = (Path(__file__).parents[2] / "docs/notes/mechanisms.md").read_text()
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
        (part,) = plan.sampler.parts
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


@pytest.mark.parametrize("sizes", [(2,) * 31, (60, 60)])
def test_fills_are_even_where_copies_are_not_weighed(sizes: tuple[int, ...]) -> None:
    """With many attributes patterns are too many, with many labels randomized response is not the best channel."""
    first = design(schema_of(sizes), 1.0, "corr-rr")
    second = learn([(first, count(first, np.zeros((40, len(sizes)), dtype=np.uint8)))])
    assert [part.fill for part in second.parts] == [UniformFill()]


def test_many_questions_take_little_memory() -> None:
    first = design(schema_of((2,) * 120), 1.0, "corr-rr")
    counts = count(first, np.random.default_rng(1).integers(0, 2, (40, 120)).astype(np.uint8))
    tracemalloc.start()
    try:
        learn([(first, counts)], rule="proposition")
        assert tracemalloc.get_traced_memory()[1] < 120_000_000
    finally:
        tracemalloc.stop()


def information_at(probability: float, attributes: int, size: int) -> tuple[float, float]:
    """The information on a shared difference, and on one between attributes."""
    steps, common, contrast = copy_information(attributes, size)
    place = int(np.argmin(np.abs(steps - probability)))
    assert steps[place] == pytest.approx(probability)
    return float(common[place]), float(contrast[place])


def test_the_note_states_what_copying_tells() -> None:
    """The table in docs/notes/mechanisms.md."""
    rows = re.findall(r"^\| (?:0|1/k|0\.8|1) [^|]*\|(.*)$", BOUNDS, re.MULTILINE)
    for row, probability in zip(rows, (0.0, None, 0.8, 1.0), strict=True):
        found: list[float] = []
        for size in (2, 4):
            p = 1 / size if probability is None else probability
            common, contrast = information_at(p, 4, size)
            guess = audit(copying_plan(same_copies(4, p), size))["pivot_guess"]
            found += [size / common / 4, size / contrast if contrast > 1e-9 else np.inf, guess]
        shown = [float(cell.replace("∞", "inf")) for cell in row.strip(" |").split("|")]
        assert shown == pytest.approx(found, abs=0.055)
        assert shown[2::3] == pytest.approx(found[2::3], abs=0.006)
