"""Mechanisms of any channels, pivots and fills: law, operator, sampler and exact losses say the same."""

from collections.abc import Sequence
from fractions import Fraction
from math import prod

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from privtally.exact.rational import nearest_distribution
from privtally.lab.population import seeded
from privtally.mechanisms.channels import Asked, Keep
from privtally.mechanisms.fills import Fill, RowFill, Table, TableFill, UniformFill, table_places
from privtally.mechanisms.mechanism import Mechanism, Part
from privtally.mechanisms.projective import Geometry, Projective
from tests.law.test_operator import joint_of, reported
from tests.privacy.test_loss import assert_losses_are_those_of
from tests.support import all_laws, chi_square_p

GROUPINGS = (((0, 1, 2),), ((1, 0),), ((2, 0), (1,)), ((0,), (1,)))


@st.composite
def any_channel(draw: st.DrawFn) -> Asked:
    """Small weights; with lines of seven points for two or three labels, some codes belong to none."""
    other = draw(st.integers(1, 3))
    same = other + draw(st.integers(1, 6))
    if draw(st.booleans()):
        return Keep(draw(st.integers(2, 3)), same, other)
    return Projective(draw(st.integers(2, 3)), same, other, Geometry(2, 3))


@st.composite
def any_mechanism(draw: st.DrawFn) -> Mechanism:
    made_up = np.random.default_rng(draw(st.integers(0, 1000)))
    parts = []
    for attributes in draw(st.sampled_from(GROUPINGS)):
        asked = tuple(draw(any_channel()) for _ in attributes)
        pivots = draw(st.integers(1, len(attributes)))
        fills = made_up_fills(asked, pivots, made_up)
        decoys = draw(st.integers(0, len(attributes) - pivots))
        fill = draw(st.sampled_from(fills)) if decoys else None
        parts.append(Part(attributes, pivots, asked, decoys, fill))
    mechanism = Mechanism(tuple(parts))
    assume(prod(mechanism.sizes) * prod(mechanism.outputs) <= 1_500)
    return mechanism


def made_up_fills(asked: Sequence[Asked], pivots: int, made_up: np.random.Generator) -> list[Fill]:
    outputs = [channel.outputs for channel in asked]
    labels = [channel.outputs if channel.inside == 1 else channel.inputs for channel in asked]

    def row(size: int) -> tuple[float, ...]:
        """Any distribution; now and then a code has no probability."""
        return nearest_distribution(made_up.dirichlet(np.ones(size)) * (np.arange(size) != made_up.integers(2 * size)))

    tables = (
        Table(chosen, other, tuple(row(outputs[other]) for _ in range(prod(outputs[own] for own in chosen))))
        for chosen, other in table_places(len(outputs), pivots)
    )
    return [UniformFill(), RowFill(tuple(map(row, labels))), TableFill(tuple(tables))]


@given(any_mechanism(), st.integers(0, 1000))
def test_law_operator_and_sampler_agree(mechanism: Mechanism, seed: int) -> None:
    """Accepted above p = 1e-9, on the same examples every time: a false alarm once in ten million choices of them."""
    laws = all_laws(mechanism)
    assert all(sum(law.values()) == 1 for law in laws.values())
    weights = np.random.default_rng(seed).integers(1, 100, len(laws)).tolist()
    shares = {record: Fraction(weight, sum(weights)) for record, weight in zip(laws, weights, strict=True)}
    mixture = [(shares[record], law) for record, law in laws.items()]
    assert [list(own) for own in mechanism.expect(joint_of(mechanism, shares))] == reported(mixture, mechanism.outputs)
    record = list(laws)[seed % len(laws)]
    drawn = mechanism.privatise(np.tile(np.array(record, dtype=np.uint8), (5_000, 1)), seeded(seed))
    assert chi_square_p(drawn, laws[record]) > 1e-9
    for part in mechanism.parts:
        assert (np.sum(drawn[:, part.attributes] < np.array(part.answers), axis=1) == part.shown).all()


@given(any_mechanism())
def test_losses_are_those_of_the_law(mechanism: Mechanism) -> None:
    assert_losses_are_those_of(mechanism, all_laws(mechanism))
