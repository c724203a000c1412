"""Guessing rates and bits against brute force over all records and reports, and where that ends."""

from collections import defaultdict
from fractions import Fraction
from math import log2, prod
from typing import Any

import numpy as np
import pytest

from privtally.documents.plan import Plan
from privtally.errors import PlanError
from privtally.exact.rational import nearest_probability
from privtally.mechanisms.fills import CopyFill, RowFill, UniformFill
from privtally.mechanisms.mechanism import Law, Mechanism, Part
from privtally.mechanisms.named import asking
from privtally.names import MechanismName
from privtally.privacy.audit import Leakage, PivotGuess, audit, distance_bound, leakage, pivot_guess, uniform
from tests.support import EXTENSIONS, all_laws, cases, exact_guess, first_plan, later_plan, laws_of, plan_of

Joint = dict[tuple[tuple[int, ...], tuple[int, ...]], Fraction]
"""The probability of every record together with every report."""


def skewed(size: int) -> list[Fraction]:
    """Frequencies of which no two are the same."""
    return [Fraction(2 * (code + 1), size * (size + 1)) for code in range(size)]


def joint_of(laws: dict[tuple[int, ...], Law], marginals: list[list[Fraction]]) -> Joint:
    return {
        (record, report): prod((marginals[own][code] for own, code in enumerate(record)), start=Fraction(1)) * chance
        for record, law in laws.items()
        for report, chance in law.items()
    }


def assert_guesses_and_bits(found: Leakage, joint: Joint, marginals: list[list[Fraction]]) -> None:
    """Bayes' best guess of every value, and the mutual information, from the whole joint law."""
    assert found.values is not None
    for own, marginal in enumerate(marginals):
        by_report: dict[tuple[int, ...], list[Fraction]] = {}
        for (record, report), chance in joint.items():
            by_report.setdefault(report, [Fraction(0)] * len(marginal))[record[own]] += chance
        after = sum(max(chances) for chances in by_report.values())
        assert found.values[own].after == pytest.approx(float(after), rel=1e-12)
        assert found.values[own].before == float(max(marginal))
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


def assert_leaks(mechanism: Mechanism, laws: dict[tuple[int, ...], Law]) -> None:
    marginals = [skewed(size) for size in mechanism.sizes]
    found = leakage(mechanism, [np.array(own, dtype=float) for own in marginals])
    assert_guesses_and_bits(found, joint_of(laws, marginals), marginals)
    choosing = [part for part in mechanism.parts if len(part.branches) > 1]
    if choosing:
        named = max(exact_guess(part, [marginals[own] for own in part.attributes]) for part in choosing)
        assert found.pivot_guess == pytest.approx(float(named), rel=1e-12)
    else:
        assert found.pivot_guess is None
    assert found.pivot_guess_exact
    assert found.blind_pivot_guess == max((1 / len(part.branches) for part in choosing), default=None)


@pytest.mark.parametrize(("mechanism", "sizes"), cases([(2, 2), (3, 3), (2, 3), (2, 2, 2), (2, 3, 5)]))
def test_guesses_and_bits_are_those_of_the_joint_law(mechanism: MechanismName, sizes: tuple[int, ...]) -> None:
    sampler = plan_of(mechanism, sizes, epsilon=1.5).mechanism
    assert_leaks(sampler, all_laws(sampler))


@pytest.mark.parametrize("name", EXTENSIONS)
def test_guesses_and_bits_of_any_parts_pivots_and_channels(name: str) -> None:
    assert_leaks(EXTENSIONS[name](2.0), laws_of(name, 2.0))


def copying(size: int, attributes: int, p: float, epsilon: float = 0.01) -> Plan:
    probability = nearest_probability(p)
    fill = CopyFill(
        tuple(tuple(1.0 if one == two else probability for two in range(attributes)) for one in range(attributes))
    )
    return later_plan(first_plan((size,) * attributes, epsilon, "corr-rr"), fill)


@pytest.mark.parametrize(
    ("attributes", "size", "p", "expected"),
    [(4, 2, 0.8, 0.28), (4, 2, 0.2, 0.61), (4, 2, 0.1, 0.79), (4, 4, 0.8, 0.30), (4, 4, 0.05, 0.44), (6, 2, 0.2, 0.57)],
)
def test_how_well_the_pivot_can_be_named(attributes: int, size: int, p: float, expected: float) -> None:
    """Values at small ε and uniform answers, computed independently while the mechanism was studied."""
    guess = leakage(copying(size, attributes, p).mechanism, uniform((size,) * attributes)).pivot_guess
    assert guess == pytest.approx(expected, abs=0.006)


def test_frequencies_that_an_observer_knows() -> None:
    plan = plan_of("spl", (2, 3))
    known = audit(plan, {"q0": [0.9, 0.1], "q1": [0.5, 0.6, -0.1]})
    assert known["value_guesses"]["q0"]["without_report"] == pytest.approx(0.9)
    assert known["value_guesses"]["q1"]["without_report"] == pytest.approx(0.6 / 1.1)
    for guess in known["value_guesses"].values():
        assert guess["with_report"] >= guess["without_report"] - 1e-12
    with pytest.raises(PlanError, match="q1"):
        audit(plan, {"q0": [0.9, 0.1]})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "0.5", None])
def test_frequencies_that_are_no_numbers_are_refused(value: Any) -> None:
    with pytest.raises(PlanError, match="the frequencies of 'q0' must be finite numbers"):
        audit(first_plan((2, 2), 1.0), {"q0": [value, 0.5], "q1": [0.5, 0.5]})


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
    assert exact.value < distance_bound(few, [few.asked[0].push(own) for own in known[:9]])


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
    assert pivot_guess(part, [np.full(1_500, 1 / 1_500)] * 2) == PivotGuess(1.0, exact=False)
