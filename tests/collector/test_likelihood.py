"""Gradient and information are the derivatives of the exact law's logarithm, found here by differences."""

from fractions import Fraction
from functools import reduce

import numpy as np
import pytest

from privtally.collector.estimate import likelihood as module
from privtally.collector.estimate.inverse import ends, zero_sum_basis
from privtally.collector.estimate.likelihood import OneWay, WholeReports, part_likelihood
from privtally.collector.estimate.phase import invert
from privtally.documents.plan import Plan
from privtally.errors import EstimateError
from privtally.mechanisms import Part
from privtally.mechanisms.channel import randomized_response
from privtally.mechanisms.fills import AnyFill, CopyFill, RowFill, SilentFill, UniformFill
from tests.collector.made_up import (
    copying_groups,
    made_up_law,
    parts_with_other_alphabets,
    simulated,
    two_pivots,
)
from tests.support import plan_of, records_of, table_fill

THREE = randomized_response(Fraction(2), 3)


def filled(fill: AnyFill, sizes: tuple[int, ...] = (2, 3)) -> Part:
    channels = tuple(randomized_response(Fraction(2), size) for size in sizes)
    return Part(tuple(range(len(sizes))), 1, channels, fill)


PARTS: dict[str, Part] = {
    "alone": Part((0,), 1, (THREE,)),
    "uniform": filled(UniformFill()),
    "rows": filled(RowFill(((0.25, 0.75), (0.5, 0.125, 0.375)))),
    "copies": filled(CopyFill(((1.0, 0.625, 0.25), (0.75, 1.0, 0.5), (0.0, 0.125, 1.0))), (3, 3, 3)),
    "tables": filled(table_fill((2, 3), 1, np.random.default_rng(2))),
    "silent": filled(SilentFill(), (2, 3, 2)),
} | {
    f"other alphabet, {name}": part for name, part in parts_with_other_alphabets().items() if part.pivots == 1
}  # fmt: skip


def reports_of(part: Part) -> np.ndarray:
    return np.array(list(part.reports()))


def law_of(part: Part) -> np.ndarray:
    """The exact law (record, report)."""
    return np.array(
        [[float(part.probability(record, report)) for report in part.reports()] for record in records_of(part.sizes)]
    )


def chances(part: Part, law: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """The probability of every report where answers have these frequencies."""
    marginals = np.split(frequencies, ends(part.sizes))
    found: np.ndarray = reduce(np.multiply.outer, marginals).ravel() @ law
    return found


def somewhere(part: Part) -> np.ndarray:
    made_up = np.random.default_rng(1)
    return np.concatenate([made_up.dirichlet(np.full(size, 4.0)) for size in part.sizes])


def times_of(part: Part) -> np.ndarray:
    """How often each report was seen: any numbers, but none of reports that cannot occur."""
    law = law_of(part)
    return np.where(law.sum(axis=0) > 0, np.random.default_rng(3).integers(1, 50, law.shape[1]), 0)


def slopes(part: Part, times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The zero-sum basis, and along it the log-likelihood's gradient and second derivative by central differences."""
    law, point, basis, step = law_of(part), somewhere(part), zero_sum_basis(part.sizes), 1e-4
    seen = times > 0

    def value(move: np.ndarray) -> float:
        return float(times[seen] @ np.log(chances(part, law, point + basis @ move)[seen]))

    axes = step * np.eye(basis.shape[1])
    gradient = np.array([(value(axis) - value(-axis)) / (2 * step) for axis in axes])
    second = np.array(
        [[(value(a + b) - value(a - b) - value(b - a) + value(-a - b)) / (4 * step**2) for b in axes] for a in axes]
    )
    return basis, gradient, second


@pytest.mark.parametrize("name", PARTS)
def test_gradient_and_observed_information_are_derivatives(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ENUMERATED", 0)
    part, times = PARTS[name], times_of(PARTS[name])
    basis, gradient, second = slopes(part, times)
    found, information = WholeReports(part, reports_of(part), times).at(somewhere(part))
    np.testing.assert_allclose(basis.T @ found, gradient, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(basis.T @ information @ basis, -second, rtol=1e-3, atol=0.05)


@pytest.mark.parametrize("name", PARTS)
def test_expected_information_is_the_mean_of_what_is_observed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were each report seen as often as expected, both would be the same; the gradient would be nothing."""
    part, people = PARTS[name], 10**12
    point, basis = somewhere(part), zero_sum_basis(part.sizes)
    times = np.round(people * chances(part, law_of(part), point)).astype(np.int64)
    expected = WholeReports(part, reports_of(part), times).at(point)
    monkeypatch.setattr(module, "MAX_ENUMERATED", 0)
    observed = WholeReports(part, reports_of(part), times).at(point)
    np.testing.assert_allclose(expected[1], observed[1], rtol=1e-9, atol=1e-6 * people)
    assert np.abs(basis.T @ expected[0]).max() < 1e-6 * people


@pytest.mark.parametrize("name", [name for name, part in PARTS.items() if not part.silent])
def test_expected_information_depends_on_the_number_of_reports_alone(name: str) -> None:
    part, times = PARTS[name], times_of(PARTS[name])
    reports, point = reports_of(part), somewhere(part)
    one = WholeReports(part, reports, times).at(point)[1]
    # The probabilities are linear in the frequencies, so that a difference is a derivative.
    basis, exact_law = zero_sum_basis(part.sizes), law_of(part)
    law = chances(part, exact_law, point)
    scores = np.array([chances(part, exact_law, point + column / 100) - law for column in basis.T]) * 100
    possible = law > 0
    exact = (scores[:, possible] / law[possible]) @ scores[:, possible].T
    np.testing.assert_allclose(basis.T @ one @ basis, times.sum() * exact, rtol=1e-6)


def test_silent_information_is_given_how_often_each_attribute_was_asked() -> None:
    """Σ over attributes of (how often it was asked) · Σ over codes R_y R_yᵀ / P(y); nothing between two attributes."""
    part, times = PARTS["silent"], times_of(PARTS["silent"])
    reports, point = reports_of(part), somewhere(part)
    information = WholeReports(part, reports, times).at(point)[1]
    expected = np.zeros_like(information)
    bounds = [0, *np.cumsum(part.sizes)]
    for own, channel in enumerate(part.asked):
        answered = reports[:, own] < part.answers[own]
        matrix = channel.push(np.eye(part.sizes[own]))
        place = slice(bounds[own], bounds[own + 1])
        expected[place, place] = times[answered].sum() * (matrix / (point[place] @ matrix)) @ matrix.T
    np.testing.assert_allclose(information, expected, rtol=1e-9)
    halved = np.where(reports[:, 0] < part.answers[0], times, 0)
    only_first = WholeReports(part, reports, halved).at(point)[1]
    np.testing.assert_allclose(only_first[:2, :2], information[:2, :2])
    assert not only_first[2:, 2:].any()


def test_reports_that_cannot_occur_are_left_out_and_counted() -> None:
    """Two labels and no copies: both attributes never agree."""
    part = filled(CopyFill(((1.0, 0.0), (0.0, 1.0))), (2, 2))
    reports, times = reports_of(part), np.array([3, 10, 20, 4])
    point = np.array([0.4, 0.6, 0.3, 0.7])
    found = WholeReports(part, reports, times)
    possible = WholeReports(part, reports[1:3], times[1:3])
    assert (found.impossible, possible.impossible) == (7, 0)
    for one, two in zip(found.at(point), possible.at(point), strict=True):
        np.testing.assert_array_equal(one, two)


ONE_WAY: dict[str, Plan] = {
    "corr-rr": plan_of("corr-rr", (3, 3), 3.0, seed=3),
    "cond-rr": plan_of("cond-rr", (2, 3), 3.0, seed=3),
    "smp": plan_of("smp", (2, 3), 3.0),
    "two silent pivots": two_pivots(SilentFill()),
    "two pivots, uniform": two_pivots(UniformFill()),
}


@pytest.mark.parametrize("name", ONE_WAY)
def test_one_way_counts_have_their_maximum_at_the_unbiased_estimate(name: str) -> None:
    """One step from anywhere leads there, and the inverse of the information has its variances."""
    plan = ONE_WAY[name]
    (part,) = plan.sampler.parts
    counts = simulated(plan, made_up_law(plan.schema.sizes), 20_000, np.random.default_rng(4), limit=0)
    point, basis = somewhere(part), zero_sum_basis(part.sizes)
    gradient, information = OneWay(plan, counts, part).at(point)
    inverse = basis @ np.linalg.inv(basis.T @ information @ basis) @ basis.T
    unbiased = invert(plan, counts)
    np.testing.assert_allclose(point + inverse @ gradient, np.concatenate(unbiased.frequencies), atol=1e-6)
    np.testing.assert_allclose(np.diag(inverse), np.concatenate(unbiased.variances), rtol=1e-4)


@pytest.mark.parametrize("name", ["corr-rr", "cond-rr"])
def test_whole_reports_say_more_than_their_attributes_one_by_one(name: str) -> None:
    plan = ONE_WAY[name]
    (part,) = plan.sampler.parts
    counts = simulated(plan, made_up_law(plan.schema.sizes), 20_000, np.random.default_rng(4))
    whole = part_likelihood(plan, counts, part)
    assert isinstance(whole, WholeReports)
    point, basis = np.concatenate(invert(plan, counts).frequencies), zero_sum_basis(part.sizes)
    more, less = (basis.T @ likelihood.at(point)[1] @ basis for likelihood in (whole, OneWay(plan, counts, part)))
    assert np.trace(np.linalg.inv(more)) < 0.98 * np.trace(np.linalg.inv(less))


def test_each_part_gets_the_most_that_its_counts_can_say() -> None:
    def kinds(plan: Plan, limit: int) -> set[type]:
        counts = simulated(plan, made_up_law(plan.schema.sizes), 2_000, np.random.default_rng(4), limit=limit)
        return {type(part_likelihood(plan, counts, part)) for part in plan.sampler.parts}

    assert kinds(copying_groups(), 100) == {WholeReports}
    assert kinds(copying_groups(), 5) == {OneWay, WholeReports}
    assert kinds(copying_groups(), 0) == {OneWay}
    assert kinds(plan_of("spl", (2, 3)), 0) == {WholeReports}
    assert kinds(two_pivots(SilentFill()), 100) == {OneWay}


def test_several_hidden_pivots_with_tables_are_refused() -> None:
    plan = two_pivots(table_fill((2, 3, 2), 2, np.random.default_rng(5)))
    counts = simulated(plan, made_up_law((2, 3, 2)), 100, np.random.default_rng(4))
    with pytest.raises(EstimateError):
        part_likelihood(plan, counts, plan.sampler.parts[0])
