"""The linear operator against the law, in exact arithmetic."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from privtally.mechanisms.mechanism import Joint, Law, Mechanism, independent
from privtally.names import MechanismName
from tests.support import EXTENSIONS, cases, laws_of, plan_of, records_of


def unit(code: int, size: int) -> np.ndarray:
    return np.array([Fraction(int(own == code)) for own in range(size)], dtype=object)


def reported(laws: Sequence[tuple[Fraction, Law]], outputs: Sequence[int]) -> list[list[Fraction]]:
    """The one-way distributions of reports under a mixture of laws."""
    expected = [[Fraction(0)] * size for size in outputs]
    for share, law in laws:
        for report, chance in law.items():
            for own, code in enumerate(report):
                expected[own][code] += share * chance
    return expected


@pytest.mark.parametrize(("mechanism", "sizes"), cases())
def test_the_operator_gives_the_marginals_of_the_law(mechanism: MechanismName, sizes: tuple[int, ...]) -> None:
    sampler = plan_of(mechanism, sizes).mechanism
    # Four records, no two next to each other: each block of the linear map is the same for all codes but one.
    records = records_of(sizes)
    for record in records[:: max(1, len(records) // 3)]:
        marginals = [unit(code, size) for code, size in zip(record, sizes, strict=True)]
        found = sampler.expect(independent(marginals))
        assert [list(own) for own in found] == reported([(Fraction(1), sampler.law(record))], sampler.outputs)
        floats = sampler.expect(independent([own.astype(float) for own in marginals]))
        for exact, own in zip(found, floats, strict=True):
            np.testing.assert_allclose(own, exact.astype(float), atol=1e-14)


@pytest.mark.parametrize("name", EXTENSIONS)
def test_the_operator_gives_the_marginals_of_the_law_for_dependent_answers(name: str) -> None:
    """A joint distribution of answers in which no attributes are independent: two pivots see pairs of them."""
    mechanism, laws = EXTENSIONS[name](1.0), laws_of(name, 1.0)
    made_up = np.random.default_rng(7)
    weights = [int(weight) for weight in made_up.integers(1, 100, len(laws))]
    shares = {record: Fraction(weight, sum(weights)) for record, weight in zip(laws, weights, strict=True)}
    found = mechanism.expect(joint_of(mechanism, shares))
    assert [list(own) for own in found] == reported(
        [(shares[own], law) for own, law in laws.items()], mechanism.outputs
    )


def joint_of(mechanism: Mechanism, shares: dict[tuple[int, ...], Fraction]) -> Joint:
    table = np.full(mechanism.sizes, Fraction(0), dtype=object)
    for record, share in shares.items():
        table[record] = share

    def joint(places: tuple[int, ...]) -> np.ndarray:
        rest = tuple(own for own in range(table.ndim) if own not in places)
        return np.asarray(table.sum(axis=rest) if rest else table).transpose(np.argsort(np.argsort(places)))

    return joint


@pytest.mark.parametrize("name", [name for name in EXTENSIONS if "silent" in name])
def test_what_is_observed_leaves_silence_out(name: str) -> None:
    for part in EXTENSIONS[name](1.0).parts:
        joint = independent([unit(0, size) for size in part.sizes])
        for seen, own, channel in zip(part.observe(joint), part.expect(joint), part.asked, strict=True):
            assert list(seen * part.answer_share) == list(channel.support(own[: channel.outputs]))
            assert sum(own[: channel.outputs]) == part.answer_share


SCALED = ["groups, uniform", "groups, copy", "groups, silent", "two pivots, silent", "two pivots, row"]


@pytest.mark.parametrize("name", ["spl", "smp", "rs-fd", "rs-rfd", "corr-rr", *SCALED])
def test_scales_are_the_operator_up_to_a_constant(name: str) -> None:
    sampler = EXTENSIONS[name](1.0) if name in EXTENSIONS else plan_of(name, (3, 3, 3)).mechanism  # type: ignore[arg-type]
    made_up = np.random.default_rng(5)
    for part in sampler.parts:
        scales = part.scales()
        assert scales is not None
        one, two = ([made_up.dirichlet(np.ones(size)) for size in part.sizes] for _ in range(2))
        seen = zip(part.observe(independent(one)), part.observe(independent(two)), strict=True)
        for own, (first, second) in enumerate(seen):
            # Where sizes differ nothing is copied: the scales between two attributes are 0.
            true = [a - b for other, (a, b) in enumerate(zip(one, two, strict=True)) if scales[own, other]]
            weights = scales[own][scales[own] != 0]
            expected = sum(weight * change for weight, change in zip(weights, true, strict=True))
            np.testing.assert_allclose(first - second, expected, atol=1e-14)


def test_tables_have_no_scales() -> None:
    assert plan_of("cond-rr", (3, 3)).mechanism.parts[0].scales() is None
    for name in ("groups, table", "two pivots, table", "mixed sizes, aligned table"):
        assert EXTENSIONS[name](1.0).parts[0].scales() is None
