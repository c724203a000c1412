"""The chance of naming the asked attributes: against exact enumeration, and where that ends."""

from fractions import Fraction

import numpy as np
import pytest

from privtally.exact.rational import nearest_distribution
from privtally.mechanisms.fills import RowFill, UniformFill
from privtally.mechanisms.mechanism import Part
from privtally.mechanisms.named import asking
from privtally.names import MechanismName
from privtally.privacy import audit as guessing
from privtally.privacy.audit import pivot_guess
from tests.support import EXTENDED_PLANS, exact_guess, plan_of, plan_with

SHAPES = [(2, 2), (3, 3, 3), (2, 2, 2, 2), (2, 3, 5)]
CASES: list[tuple[MechanismName, tuple[int, ...]]] = [
    (mechanism, sizes)
    for mechanism in ("rs-fd", "rs-rfd", "corr-rr", "cond-rr")
    for sizes in SHAPES
    if mechanism != "corr-rr" or len(set(sizes)) == 1
]


def marginals_for(part: Part, *, uniform: bool) -> list[list[Fraction]]:
    if uniform:
        return [[Fraction(1, size)] * size for size in part.sizes]
    made_up = np.random.default_rng(3)
    return [list(map(Fraction, nearest_distribution(made_up.dirichlet(np.ones(size))))) for size in part.sizes]


def assert_exact(part: Part, *, uniform: bool) -> None:
    marginals = marginals_for(part, uniform=uniform)
    known = [np.array(own, dtype=float) for own in marginals]
    exact, found = exact_guess(part, marginals), pivot_guess(part, known)
    assert found.exact
    assert found.value == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("uniform", [True, False])
@pytest.mark.parametrize(("mechanism", "sizes"), CASES)
def test_it_is_the_exact_one(mechanism: MechanismName, sizes: tuple[int, ...], *, uniform: bool) -> None:
    for seed in range(3):
        (part,) = plan_of(mechanism, sizes, epsilon=2.0, seed=seed).mechanism.parts
        assert_exact(part, uniform=uniform)


@pytest.mark.parametrize("name", EXTENDED_PLANS)
def test_groups_pivots_and_large_domains(name: str) -> None:
    for part in plan_with(*EXTENDED_PLANS[name]).mechanism.parts:
        if part.decoys:
            assert_exact(part, uniform=False)
        else:
            assert pivot_guess(part, [np.full(size, 1 / size) for size in part.sizes]).value == 1


@pytest.mark.parametrize("decoys", [1, 2, 4])
@pytest.mark.parametrize("sizes", [(2, 3, 4, 2, 5, 3), (4,) * 300])
def test_even_decoys_leave_one_chance_in_as_many_as_are_shown(decoys: int, sizes: tuple[int, ...]) -> None:
    """To somebody who knows nothing of the answers; with 300 questions as well, and no more work."""
    part = asking(tuple(range(len(sizes))), sizes, Fraction(2), UniformFill(), decoys=decoys).build(sizes, Fraction(2))
    found = pivot_guess(part, [np.full(size, 1 / size) for size in sizes])
    assert found.exact
    assert found.value == pytest.approx(1 / (1 + decoys), rel=1e-9)


def test_with_too_many_kinds_of_questions_there_is_a_bound() -> None:
    """Three hundred questions of which every two differ; a few of them show that the bound holds."""
    made_up = np.random.default_rng(5)
    known = [made_up.dirichlet(np.ones(3)) for _ in range(300)]
    sizes = (3,) * 300
    many = asking(tuple(range(300)), sizes, Fraction(1), UniformFill(), decoys=1).build(sizes, Fraction(1))
    found = pivot_guess(many, known)
    assert not found.exact
    assert 0.5 < found.value < 0.8
    few = asking(tuple(range(9)), sizes, Fraction(1), UniformFill(), decoys=1).build(sizes, Fraction(1))
    exact = pivot_guess(few, known[:9])
    assert exact.exact
    assert exact.value < guessing.distance_bound(few, [few.asked[0].push(own) for own in known[:9]])


def large_part(fill: RowFill | UniformFill, sizes: tuple[int, ...]) -> Part:
    return asking(tuple(range(len(sizes))), sizes, Fraction(2), fill).build(sizes, Fraction(2))


def test_rows_are_exact_at_any_size() -> None:
    """Forty attributes: 4^40 sub-reports. Even rows say nothing; a code that is never filled names its attribute."""
    sizes = (4,) * 40
    known = [np.full(4, 0.25)] * 40
    even = pivot_guess(large_part(UniformFill(), sizes), known)
    assert even.exact
    assert even.value == pytest.approx(1 / 40, rel=1e-9)
    telling = pivot_guess(large_part(RowFill(((0.5, 0.5, 0.0, 0.0),) * 40), sizes), known)
    assert telling.value == pytest.approx(0.5 + 0.5 / 40, rel=1e-9)


def test_what_is_too_large_to_enumerate_is_not_bounded() -> None:
    (part,) = plan_of("corr-rr", (1_500, 1_500), epsilon=1.0).mechanism.parts
    assert pivot_guess(part, [np.full(1_500, 1 / 1_500)] * 2) == guessing.PivotGuess(1.0, exact=False)
