"""The linear operator against the law, in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from privtally.mechanisms import Pivot, operator_matrix
from privtally.names import MechanismName
from tests.support import cases, plan_of, records_of


def unit(code: int, size: int) -> np.ndarray:
    return np.array([Fraction(int(own == code)) for own in range(size)], dtype=object)


@pytest.mark.parametrize(("mechanism", "sizes"), cases())
def test_the_operator_gives_the_marginals_of_the_law(mechanism: MechanismName, sizes: tuple[int, ...]) -> None:
    sampler = plan_of(mechanism, sizes).sampler
    matrix = operator_matrix(sampler)
    bounds = np.cumsum(sampler.outputs)[:-1]
    # Two records with no code in common, and a third: enough for a linear map whose blocks are the same for all codes.
    for record in records_of(sizes)[:: max(1, len(records_of(sizes)) // 7)]:
        law = sampler.law(record)
        expected = [[Fraction(0)] * size for size in sampler.outputs]
        for report, chance in law.items():
            for own, code in enumerate(report):
                expected[own][code] += chance
        marginals = [unit(code, size) for code, size in zip(record, sizes, strict=True)]
        assert [list(marginal) for marginal in sampler.expect(marginals)] == expected
        floats = np.split(np.concatenate(marginals).astype(float) @ matrix, bounds)
        for own, row in enumerate(expected):
            np.testing.assert_allclose(floats[own], np.array(row, dtype=float), atol=1e-14)


@pytest.mark.parametrize("mechanism", ["rs-fd", "rs-rfd", "corr-rr"])
def test_scales_are_the_operator_up_to_a_constant(mechanism: MechanismName) -> None:
    sampler = plan_of(mechanism, (3, 3, 3)).sampler
    assert isinstance(sampler, Pivot)
    scales = sampler.scales()
    assert scales is not None
    made_up = np.random.default_rng(5)
    one, two = ([made_up.dirichlet(np.ones(3)) for _ in range(3)] for _ in range(2))
    difference = np.array(sampler.expect(one)) - np.array(sampler.expect(two))
    np.testing.assert_allclose(difference, scales @ (np.array(one) - np.array(two)), atol=1e-14)


def test_conditional_tables_have_no_scales() -> None:
    sampler = plan_of("cond-rr", (3, 3)).sampler
    assert isinstance(sampler, Pivot)
    assert sampler.scales() is None
