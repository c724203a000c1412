"""Guessing rates and bits against brute force over all records and reports."""

from collections import defaultdict
from fractions import Fraction
from math import log2, prod

import pytest

from privtally.documents.plan import Plan
from privtally.errors import PlanError
from privtally.exact.probability import nearest_probability
from privtally.names import MechanismName
from privtally.privacy.audit import audit
from privtally.privacy.leakage import leakage, uniform
from tests.support import cases, plan_of, records_of, schema_of

SKEWED = {2: [Fraction(3, 4), Fraction(1, 4)], 3: [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]}


@pytest.mark.parametrize(("mechanism", "sizes"), cases([(2, 2), (3, 3), (2, 3), (2, 2, 2)]))
def test_guesses_and_bits_are_those_of_the_joint_law(mechanism: MechanismName, sizes: tuple[int, ...]) -> None:
    plan = plan_of(mechanism, sizes, epsilon=1.5)
    marginals = [SKEWED[size] for size in sizes]
    joint = {
        (record, report): prod((marginals[own][code] for own, code in enumerate(record)), start=Fraction(1)) * chance
        for record in records_of(sizes)
        for report, chance in plan.sampler.law(record).items()
    }
    found = leakage(plan.sampler, marginals)
    assert found.values is not None
    for own, size in enumerate(sizes):
        by_report: dict[tuple[int, ...], list[Fraction]] = {}
        for (record, report), chance in joint.items():
            by_report.setdefault(report, [Fraction(0)] * size)[record[own]] += chance
        assert found.values[own].after == sum(max(chances) for chances in by_report.values())
        assert found.values[own].before == max(marginals[own])
    of_record: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    of_report: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for (record, report), chance in joint.items():
        of_record[record] += chance
        of_report[report] += chance
    bits = sum(
        float(chance) * log2(chance / (of_record[record] * of_report[report]))
        for (record, report), chance in joint.items()
        if chance
    )
    assert found.bits == pytest.approx(bits, abs=1e-9)


def copying(size: int, attributes: int, p: float, epsilon: float = 0.01) -> Plan:
    probability = nearest_probability(p)
    return Plan(
        schema=schema_of((size,) * attributes),
        epsilon=epsilon,
        campaign="corr-rr",
        phase=2,
        mechanism="corr-rr",
        copy_probability=tuple(
            tuple(1.0 if one == two else probability for two in range(attributes)) for one in range(attributes)
        ),
    )


@pytest.mark.parametrize(
    ("attributes", "size", "p", "expected"),
    [(4, 2, 0.8, 0.28), (4, 2, 0.2, 0.61), (4, 2, 0.1, 0.79), (4, 4, 0.8, 0.30), (4, 4, 0.05, 0.44), (6, 2, 0.2, 0.57)],
)
def test_how_well_the_pivot_can_be_named(attributes: int, size: int, p: float, expected: float) -> None:
    """Values at small ε and uniform answers, computed independently while the mechanism was studied."""
    guess = leakage(copying(size, attributes, p).sampler, uniform((size,) * attributes)).pivot_guess
    assert guess is not None
    assert float(guess) == pytest.approx(expected, abs=0.006)


def test_the_pivot_of_uniform_fills_is_hidden_and_of_smp_known() -> None:
    hidden = leakage(plan_of("rs-fd", (3, 3, 3)).sampler, uniform((3, 3, 3)))
    assert hidden.pivot_guess == Fraction(1, 3)
    assert leakage(plan_of("smp", (3, 3)).sampler, uniform((3, 3))).pivot_guess == 1
    assert leakage(plan_of("spl", (3, 3)).sampler, uniform((3, 3))).pivot_guess is None


def test_frequencies_that_an_observer_knows() -> None:
    plan = plan_of("spl", (2, 3))
    known = audit(plan, {"q0": [0.9, 0.1], "q1": [0.5, 0.6, -0.1]})
    assert known["value_guesses"]["q0"]["without_report"] == pytest.approx(0.9)
    assert known["value_guesses"]["q1"]["without_report"] == pytest.approx(0.6 / 1.1)
    for guess in known["value_guesses"].values():
        assert guess["with_report"] >= guess["without_report"] - 1e-12
    with pytest.raises(PlanError, match="'q1' do not fit"):
        audit(plan, {"q0": [0.9, 0.1]})
