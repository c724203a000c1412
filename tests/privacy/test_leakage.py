"""Guessing rates and bits against brute force over all records and reports."""

from collections import defaultdict
from fractions import Fraction
from math import log2, prod
from typing import Any

import numpy as np
import pytest

from privtally.documents.plan import Plan
from privtally.errors import PlanError
from privtally.exact.rational import nearest_probability
from privtally.mechanisms.fills import CopyFill
from privtally.mechanisms.mechanism import Law, Mechanism, Part
from privtally.names import MechanismName
from privtally.privacy.audit import Leakage, audit, leakage, uniform
from tests.support import EXTENSIONS, all_laws, cases, first_plan, later_plan, laws_of, plan_of, records_of

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


def pivot_guess(part: Part, marginals: list[list[Fraction]]) -> Fraction:
    """How often the most probable branch, given the sub-report, is the right one: all records, one branch at a time."""
    named = Fraction(0)
    own = [marginals[attribute] for attribute in part.attributes]
    for report in part.reports():
        chances = []
        for branch in part.branches:
            rest = part.rest_probability(branch, report)
            chances.append(Fraction(0))
            for record in records_of(part.sizes) if rest else []:
                asked = prod((part.asked[p].probability(record[p], report[p]) for p in branch), start=Fraction(1))
                chances[-1] += rest * asked * prod(own[p][code] for p, code in enumerate(record))
        named += max(chances)
    return named / len(part.branches)


def assert_leaks(mechanism: Mechanism, laws: dict[tuple[int, ...], Law]) -> None:
    marginals = [skewed(size) for size in mechanism.sizes]
    found = leakage(mechanism, [np.array(own, dtype=float) for own in marginals])
    assert_guesses_and_bits(found, joint_of(laws, marginals), marginals)
    choosing = [part for part in mechanism.parts if len(part.branches) > 1]
    if choosing:
        named = max(float(pivot_guess(part, marginals)) for part in choosing)
        assert found.pivot_guess == pytest.approx(named, rel=1e-12)
    else:
        assert found.pivot_guess is None
    assert found.pivot_guess_exact
    assert found.blind_pivot_guess == max((1 / len(part.branches) for part in choosing), default=None)


@pytest.mark.parametrize(("mechanism", "sizes"), cases([(2, 2), (3, 3), (2, 3), (2, 2, 2)]))
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


def test_the_pivot_of_uniform_fills_is_hidden_and_of_smp_known() -> None:
    hidden = leakage(plan_of("rs-fd", (3, 3, 3)).mechanism, uniform((3, 3, 3)))
    assert hidden.pivot_guess == pytest.approx(1 / 3)
    assert leakage(plan_of("smp", (3, 3)).mechanism, uniform((3, 3))).pivot_guess == 1
    assert leakage(plan_of("spl", (3, 3)).mechanism, uniform((3, 3))).pivot_guess is None


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
