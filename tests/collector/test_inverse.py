"""The way back through a part undoes the way there, attribute by attribute."""

from fractions import Fraction

import numpy as np
import pytest

from privtally.collector.estimate.inverse import ByLabel, ByTable, inverse_of, operator_of, zero_sum_basis
from privtally.errors import EstimateError
from privtally.mechanisms import Mechanism, Part, independent, within
from privtally.mechanisms.channel import randomized_response
from privtally.mechanisms.fills import CopyFill, Table, TableFill, UniformFill
from tests.collector.made_up import (
    copying_groups,
    made_up_law,
    marginals_of,
    parts_with_other_alphabets,
    plans_of_every_kind,
    two_pivots,
)
from tests.support import Subsets, cases, plan_of, table_fill


def every_linear_part() -> dict[str, Part]:
    """Parts of every kind whose reports determine each attribute by itself."""
    mechanisms: dict[str, Mechanism] = {name: plan.sampler for name, plan in plans_of_every_kind().items()}
    mechanisms |= {f"{name} {sizes}": plan_of(name, sizes, 2.0, seed=1).sampler for name, sizes in cases()}
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


@pytest.mark.parametrize("name", ["copying groups", "silent groups", "two pivots, silent", "two pivots, rows"])
def test_correlated_answers_go_back_to_the_frequencies_of_each(name: str) -> None:
    """What is observed of one attribute depends on each attribute's frequencies alone, whatever goes with what."""
    mechanism = plans_of_every_kind()[name].sampler
    answers = made_up_law(mechanism.sizes)

    def joint(places: tuple[int, ...]) -> np.ndarray:
        rest = tuple(axis for axis in range(answers.ndim) if axis not in places)
        joint: np.ndarray = answers.sum(axis=rest).transpose(np.argsort(np.argsort(places)))
        return joint

    truth = marginals_of(answers)
    for part in mechanism.parts:
        found = inverse_of(part).apply(part.observe(within(part, joint)))
        for own, back in zip(part.attributes, found, strict=True):
            np.testing.assert_allclose(back, truth[own], atol=1e-9)


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


def test_copies_are_undone_by_one_matrix_for_all_labels_and_tables_by_a_whole_one() -> None:
    assert all(isinstance(inverse_of(part), ByLabel) for part in copying_groups().sampler.parts)
    assert isinstance(inverse_of(plan_of("cond-rr", (2, 3)).sampler.parts[0]), ByTable)
    assert all(isinstance(inverse_of(part), ByTable) for part in parts_with_other_alphabets().values())


def test_a_copying_table_and_a_copy_probability_have_the_same_way_back() -> None:
    """A table that copies is the same mechanism in other words."""
    p, rest = 0.5, 0.25
    rows = tuple(tuple(p if own == other else rest for other in range(3)) for own in range(3))
    by_table = Part(
        (0, 1), 1, copying((1.0, p), (p, 1.0)).asked, 1, TableFill((Table((0,), 1, rows), Table((1,), 0, rows)))
    )
    one, two = inverse_of(copying((1.0, p), (p, 1.0))), inverse_of(by_table)
    made_up = np.random.default_rng(6)
    observed = [made_up.dirichlet(np.ones(3)) for _ in range(2)]
    for left, right in zip(one.apply(observed), two.apply(observed), strict=True):
        np.testing.assert_allclose(left, right, atol=1e-9)
    assert one.condition == pytest.approx(two.condition)


def test_labels_that_share_all_their_codes_are_not_known() -> None:
    """Of four labels on a circle of four codes, those opposite to each other cannot be told apart in every way."""
    circle = Subsets(np.array([[0, 1], [1, 2], [2, 3], [0, 3]]), 4, 5, 2)
    assert list(inverse_of(Part((0,), 1, (circle,))).known) == [False]


def test_several_hidden_pivots_with_tables_are_refused() -> None:
    plan = two_pivots(table_fill((2, 3, 2), 2, np.random.default_rng(5)))
    with pytest.raises(EstimateError):
        inverse_of(plan.sampler.parts[0])


@pytest.mark.parametrize("name", [name for name in PARTS if all(one.inside == 1 for one in PARTS[name].asked)])
def test_the_operator_keeps_every_attributes_sum(name: str) -> None:
    """Where each label is one code: a code that belongs to several labels is observed several times."""
    part = PARTS[name]
    operator = operator_of(part)
    uniform = np.concatenate([np.full(size, 1 / size) for size in part.sizes])
    ends = np.cumsum(part.sizes)[:-1]
    assert [own.sum() for own in np.split(operator @ uniform, ends)] == pytest.approx([1.0] * len(part.sizes))
    moved = np.split(operator @ zero_sum_basis(part.sizes), ends)
    assert max(np.abs(own.sum(axis=0)).max() for own in moved) < 1e-12
