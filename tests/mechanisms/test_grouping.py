"""Groups: the closed-form variance against the exact law, and the choice against every partition."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from privtally.collector.inverse import inverse_of
from privtally.errors import PlanError
from privtally.exact.types import Floats
from privtally.mechanisms.channels import Asked, randomized_response
from privtally.mechanisms.fills import AnyFill, UniformFill
from privtally.mechanisms.grouping import best_groups, groups_by_number, unbiased_variance
from privtally.mechanisms.mechanism import Part
from privtally.mechanisms.named import NAMED, Groups, best_channel
from privtally.mechanisms.projective import Geometry, projective_response
from privtally.names import MechanismName


def exact_variance(part: Part, own: int, joint: Floats) -> float:
    """The variance of the unbiased estimate from one report that answers the attribute, by enumeration of the law."""
    back = inverse_of(part).back(own)[own]
    values, chances = [], []
    for report in part.reports():
        if report[own] >= part.answers[own]:
            continue
        chance = sum(
            float(part.probability(record, report)) * joint[record] for record in product(*map(range, part.sizes))
        )
        inside = part.asked[own].support(np.eye(part.answers[own])[report[own]])
        value = back @ inside
        values.append(value - value.mean())  # estimates are moved so that they sum to 1
        chances.append(chance)
    weights, seen = np.array(chances) / sum(chances), np.array(values)
    mean = weights @ seen
    return float((weights @ (seen - mean) ** 2).mean() / sum(chances))


@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize("fill", [UniformFill(), None])
def test_the_closed_form_is_the_variance_under_the_exact_law(fill: AnyFill, even: bool) -> None:
    """The silent case has one report divided by the share of those who answer: what n reports have, n times."""
    made_up = np.random.default_rng(5)
    budget = Fraction(3, 2)
    asked: tuple[Asked, ...] = (
        randomized_response(budget, 3),
        projective_response(budget, 5, Geometry(2, 3)),
        randomized_response(budget, 2),
    )
    part = Part((0, 1, 2), 1, asked, 0 if fill is None else 2, fill)
    joint = np.full(part.sizes, 1 / 30) if even else made_up.dirichlet(np.ones(30)).reshape(part.sizes)
    for own, channel in enumerate(asked):
        others = tuple(axis for axis in range(3) if axis != own)
        frequencies = joint.sum(axis=others)
        share, many = (1.0, 3) if fill is None else (1 / 3, 1)
        found = many * unbiased_variance(channel, share, frequencies)
        assert found == pytest.approx(exact_variance(part, own, joint), rel=1e-9)
        if even:
            assert found == pytest.approx(many * unbiased_variance(channel, share), rel=1e-12)


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


def variance_of(
    groups: Groups, sizes: Sequence[int], epsilon: float, name: MechanismName, truth: list[Floats] | None = None
) -> float:
    budget = Fraction(epsilon) / len(groups)
    channels = [best_channel(budget, size).channel(budget, size) for size in sizes]
    total = 0.0
    for group in groups:
        many, share = (len(group), 1.0) if name == "smp" else (1, 1 / len(group))
        frequencies = [None if truth is None else truth[own] for own in group]
        total += many * sum(
            unbiased_variance(channels[own], share, each) for own, each in zip(group, frequencies, strict=True)
        )
    return total / len(channels)


@pytest.mark.parametrize("mechanism", ["smp", "rs-fd", "rs-rfd", "corr-rr"])
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
        found[groups] = variance_of(groups, sizes, epsilon, mechanism)
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
