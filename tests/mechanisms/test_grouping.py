"""Groups: the choice against every partition. Their variances are held against the exact law in `lab/test_advice`."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

import pytest

from privtally.errors import PlanError
from privtally.mechanisms.grouping import answer_variance, best_groups, groups_by_number
from privtally.mechanisms.named import NAMED
from privtally.names import MechanismName


def partitions(places: Sequence[int]) -> Iterator[list[list[int]]]:
    """Every partition of some places."""
    if not places:
        yield []
        return
    first, rest = places[0], places[1:]
    for smaller in partitions(rest):
        yield [[first], *smaller]
        for number, group in enumerate(smaller):
            yield [*smaller[:number], [first, *group], *smaller[number + 1 :]]


@pytest.mark.parametrize("mechanism", ["rs-rfd", "corr-rr"])
@pytest.mark.parametrize("epsilon", [1.0, 4.0, 8.0])
def test_the_choice_is_the_best_of_all_partitions_that_are_allowed(mechanism: MechanismName, epsilon: float) -> None:
    sizes, named = (2, 4, 3, 4, 2), NAMED[mechanism]
    found = {}
    for partition in partitions(range(5)):
        groups = tuple(map(tuple, partition))
        try:
            named.first(sizes, Fraction(epsilon), groups)
        except PlanError:
            continue
        budget = Fraction(epsilon) / len(groups)
        squares = (len(group) ** 2 * answer_variance(budget, sizes[own]) for group in groups for own in group)
        found[groups] = sum(squares) / len(sizes)
    chosen = best_groups(sizes, Fraction(epsilon), named.hidden_among(), named.learned)
    assert chosen.groups in {tuple(sorted(tuple(sorted(group)) for group in groups)) for groups in found}
    assert chosen.variance == pytest.approx(min(found.values()), rel=1e-9)
    together = found.get((tuple(range(5)),))
    assert chosen.together == (None if together is None else pytest.approx(together))


def test_budgets_that_cannot_be_realised_are_no_candidates() -> None:
    assert best_groups((2,) * 8, Fraction(1, 10**6), 1).together is not None
    with pytest.raises(PlanError, match="no groups"):
        best_groups((60_000, 60_000), Fraction(1), None, NAMED["cond-rr"].learned)


@pytest.mark.parametrize("among", [2, 3, 4])
def test_a_group_has_one_attribute_or_enough_to_hide_it_among(among: int) -> None:
    for epsilon in (1, 3, 5, 7):
        for _, groups in groups_by_number((2, 3, 3, 4, 8, 16), Fraction(epsilon), among).values():
            assert all(len(group) == 1 or len(group) >= among for group in groups)
    (together,) = groups_by_number((2, 3), Fraction(1), 5)[1][1]
    assert together == (0, 1)


def test_very_many_attributes_can_be_put_into_groups() -> None:
    chosen = best_groups((2, 3) * 60, Fraction(8), 1)
    assert sorted(own for group in chosen.groups for own in group) == list(range(120))
    assert chosen.together is not None
    assert chosen.variance < 0.8 * chosen.together


@pytest.mark.parametrize("sizes", [(600,) * 4, (900, 900, 2), (500, 510, 520, 530)])
def test_groups_that_are_chosen_for_tables_are_taken(sizes: tuple[int, ...]) -> None:
    """All attributes together would have tables too large for a plan."""
    named = NAMED["cond-rr"]
    assert named.learned is not None
    for group in best_groups(sizes, Fraction(6), named.hidden_among(), named.learned).groups:
        named.learned.check_sizes([sizes[own] for own in group], 1)
