"""The way back through a part undoes the way there, attribute by attribute."""

from fractions import Fraction

import numpy as np
import pytest

from privtally.collector.inverse import inverse_of
from privtally.errors import EstimateError
from privtally.mechanisms.channels import randomized_response
from privtally.mechanisms.fills import CopyFill, UniformFill
from privtally.mechanisms.mechanism import Mechanism, Part, independent
from tests.collector.made_up import (
    parts_with_other_alphabets,
    plans_of_every_kind,
    two_pivots,
)
from tests.support import cases, plan_of, table_fill


def every_linear_part() -> dict[str, Part]:
    """Parts of every kind whose reports determine each attribute by itself."""
    mechanisms: dict[str, Mechanism] = {name: plan.mechanism for name, plan in plans_of_every_kind().items()}
    mechanisms |= {f"{name} {sizes}": plan_of(name, sizes, 2.0, seed=1).mechanism for name, sizes in cases()}
    parts = {
        f"{name}, part {number}": part
        for name, mechanism in mechanisms.items()
        for number, part in enumerate(mechanism.parts)
        if part.linear
    }
    return parts | parts_with_other_alphabets()


PARTS = every_linear_part()


@pytest.mark.parametrize("name", PARTS)
def test_the_way_back_undoes_the_way_there(name: str) -> None:
    """`apply` takes what the mechanism itself expects back to the frequencies."""
    part = PARTS[name]
    made_up = np.random.default_rng(4)
    frequencies = [made_up.dirichlet(np.ones(size)) for size in part.sizes]
    inverse = inverse_of(part)
    observed = part.observe(independent(frequencies))
    assert [len(start) for start in inverse.start] == list(part.sizes)
    assert all(inverse.known)
    for found, true in zip(inverse.apply(observed), frequencies, strict=True):
        np.testing.assert_allclose(found, true, atol=1e-9)


@pytest.mark.parametrize("name", PARTS)
def test_back_is_the_matrix_of_apply(name: str) -> None:
    part = PARTS[name]
    inverse = inverse_of(part)
    made_up = np.random.default_rng(5)
    observed = [made_up.dirichlet(np.ones(size)) for size in part.sizes]
    for own, found in enumerate(inverse.apply(observed)):
        moves = [
            back @ (seen - start) for back, seen, start in zip(inverse.back(own), observed, inverse.start, strict=True)
        ]
        np.testing.assert_allclose(1 / part.sizes[own] + sum(moves), found, atol=1e-9)


def copying(*rows: tuple[float, ...], size: int = 3) -> Part:
    return Part(
        tuple(range(len(rows))), 1, (randomized_response(Fraction(1), size),) * len(rows), len(rows) - 1, CopyFill(rows)
    )


def test_where_everything_is_copied_nothing_is_known() -> None:
    inverse = inverse_of(copying((1.0, 1.0), (1.0, 1.0)))
    assert list(inverse.known) == [False, False]
    assert inverse.condition > 1e15


def test_copies_lose_only_the_attributes_that_they_confuse() -> None:
    inverse = inverse_of(copying((1.0, 1.0, 0.5), (1.0, 1.0, 0.5), (0.5, 0.5, 1.0)))
    assert list(inverse.known) == [False, False, True]


def test_the_condition_says_how_far_attributes_can_be_told_apart() -> None:
    """It is 1 where each attribute is observed by itself; two that let a share c through have (1 + c)/(1 − c)."""
    alone = Part(
        (0, 1), 1, (randomized_response(Fraction(1, 10), 4), randomized_response(Fraction(3), 4)), 1, UniformFill()
    )
    assert inverse_of(alone).condition == pytest.approx(1)
    conditions = [inverse_of(copying((1.0, p), (p, 1.0))).condition for p in (0.375, 0.5, 0.75, 0.9375)]
    factors = [(3 * p - 1) / 2 for p in (0.375, 0.5, 0.75, 0.9375)]
    assert conditions == pytest.approx([(1 + factor) / (1 - factor) for factor in factors])


def test_several_hidden_pivots_with_tables_are_refused() -> None:
    plan = two_pivots(table_fill((2, 3, 2), 2, np.random.default_rng(5)))
    with pytest.raises(EstimateError):
        inverse_of(plan.mechanism.parts[0])
