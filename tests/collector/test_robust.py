"""The information of copies, by enumeration, and the choice that allows for noise."""

import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from privtally.collector.estimate.inverse import zero_sum_basis
from privtally.collector.estimate.likelihood import OneWay, WholeReports
from privtally.collector.learn import learn
from privtally.collector.learn.information import copy_information
from privtally.collector.learn.robust import GROUPS, ROUNDING, SLACK, best_directed
from privtally.collector.tally import count
from privtally.documents.plan import Plan, design
from privtally.errors import LearningError
from privtally.exact.probability import nearest_distribution, nearest_probability
from privtally.lab.paper.panels import panels
from privtally.mechanisms.fills import CopyFill, RowFill
from privtally.privacy.audit import audit
from tests.collector.made_up import answered_independently, copying_plan, same_copies, squared_scale
from tests.support import expected_counts, first_plan, later_plan, schema_of

PROBABILITIES = np.array([0.0, 0.125, 0.25, 0.5, 0.875, 1.0])


def learned_copies(plan: Plan) -> tuple[tuple[float, ...], ...]:
    """The copy probabilities of a plan that was learned."""
    (part,) = plan.parts
    assert isinstance(part.fill, CopyFill)
    return part.fill.probability


def pivot_guess_of(plan: Plan) -> float:
    """What a plan that was learned states about how often its pivot is named."""
    assert plan.learned is not None
    assert isinstance(plan.learned.pivot_guess, float)
    return plan.learned.pivot_guess


def directions(attributes: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """A unit difference between two labels that all attributes share, and one in which two attributes differ."""
    inside = np.zeros(size)
    inside[:2] = 2**-0.5, -(2**-0.5)
    shared = np.kron(np.ones(attributes) / attributes**0.5, inside)
    return shared, np.kron(np.eye(attributes)[0] - np.eye(attributes)[1], inside) / 2**0.5


@pytest.mark.parametrize(("attributes", "size"), [(2, 2), (2, 4), (3, 3), (4, 2), (4, 4)])
def test_partitions_give_what_enumeration_gives(attributes: int, size: int) -> None:
    stated = copy_information(PROBABILITIES, attributes, size)
    assert stated is not None
    for place, probability in enumerate(PROBABILITIES):
        plan = copying_plan(same_copies(attributes, probability), size)
        (part,) = plan.sampler.parts
        seen = np.zeros((1, attributes), dtype=np.int64) if probability else np.arange(attributes)[None] % size
        if not probability and attributes > size:
            seen = np.array([[0] + [1] * (attributes - 1)])
        _, information = WholeReports(part, seen, np.ones(1, dtype=np.int64)).at(np.full(attributes * size, 1 / size))
        alike, differ = directions(attributes, size)
        assert stated.common[place] * squared_scale(plan) == pytest.approx(alike @ information @ alike, abs=1e-9)
        assert stated.contrast[place] * squared_scale(plan) == pytest.approx(differ @ information @ differ, abs=1e-9)
        assert stated.pivot_guess[place] == pytest.approx(audit(plan)["pivot_guess"], abs=1e-9)


@pytest.mark.parametrize(("attributes", "size"), [(2, 4), (3, 3), (4, 2)])
def test_one_way_information_is_that_of_the_operator(attributes: int, size: int) -> None:
    probabilities = PROBABILITIES[1:-1]
    stated = copy_information(probabilities, attributes, size, whole=False)
    assert stated is not None
    for place, probability in enumerate(probabilities):
        plan = copying_plan(same_copies(attributes, probability), size)
        (part,) = plan.sampler.parts
        counts = expected_counts(plan, np.full((size,) * attributes, 1 / size**attributes), 10**9)
        information = OneWay(plan, counts, part).at(np.full(attributes * size, 1 / size))[1] / counts.reports
        alike, differ = directions(attributes, size)
        assert stated.common[place] * squared_scale(plan) == pytest.approx(alike @ information @ alike, rel=1e-4)
        assert stated.contrast[place] * squared_scale(plan) == pytest.approx(differ @ information @ differ, rel=1e-4)


def test_too_many_kinds_of_reports_are_not_analysed() -> None:
    assert copy_information(PROBABILITIES, 40, 12) is None
    first = design(schema_of((12,) * 40), 1.0, "corr-rr")
    second = learn([(first, count(first, np.zeros((40, 40), dtype=np.uint8)))])
    codes = second.sampler.parts[0].asked[0].outputs
    assert learned_copies(second)[0][1] == nearest_probability(1 / codes)
    assert 1 / 40 <= pivot_guess_of(second) < 1 / 30


def test_without_information_it_bets_next_to_nothing() -> None:
    """What it chooses costs unlike attributes about a hundredth."""
    for sizes in ((2, 2), (4, 4), (8, 8)):
        first = design(schema_of(sizes), 0.1, "corr-rr")
        codes = np.random.default_rng(1).integers(0, sizes, (20, 2)).astype(np.uint8)
        copies = learned_copies(learn([(first, count(first, codes))]))
        stated = copy_information(np.array([copies[0][1], 1 / sizes[0]]), 2, sizes[0])
        assert stated is not None
        unlike = 1 / stated.common + 1 / stated.contrast
        assert unlike[0] / unlike[1] < 1.011


@pytest.mark.parametrize(("attributes", "alike", "unlike"), [(2, (0.35, 0.45), (0.2, 0.3)), (4, (0, 0.1), (0, 0.1))])
def test_like_attributes_are_copied_and_unlike_ones_are_not(
    attributes: int, alike: tuple[float, float], unlike: tuple[float, float]
) -> None:
    """Two attributes: copies, as far as they cost little if Phase I is wrong. Four: differing serves both."""
    first = design(schema_of((4,) * attributes), 2.0, "corr-rr")
    falling = np.array([0.4, 0.3, 0.2, 0.1])
    for law, people, (least, most) in (
        ([falling] * attributes, 2_000_000, alike),
        ([falling, falling[::-1]] * (attributes // 2), 200_000, unlike),
    ):
        copies = learned_copies(learn([(first, answered_independently(first, law, people))]))
        assert least <= copies[0][1] <= most


@pytest.mark.parametrize("most", [0.35, 0.5, 0.7, 1.0])
@pytest.mark.parametrize("sizes", [(2, 2, 2, 2), (4, 4, 4)])
def test_the_pivot_is_as_secret_as_asked_for(sizes: tuple[int, ...], most: float) -> None:
    first = design(schema_of(sizes), 2.0, "corr-rr")
    truth = [np.random.default_rng(own).dirichlet(np.ones(size)) for own, size in enumerate(sizes)]
    second = learn([(first, answered_independently(first, truth, 50_000))], max_pivot_guess=most)
    exact = audit(second)["pivot_guess"]
    assert pivot_guess_of(second) == pytest.approx(exact, abs=1e-9)
    assert exact <= most + 1e-9


def test_copies_run_one_way_where_that_gains_and_only_there() -> None:
    """Four questions of two labels: half the variance, if there is anything to see."""
    for epsilon, people, wanted in ((1.0, 2_000, 0.0), (0.001, 20, 0.5)):
        first = design(schema_of((2, 2, 2, 2)), epsilon, "corr-rr")
        truth = [np.array([0.3 + 0.1 * own, 0.7 - 0.1 * own]) for own in range(4)]
        second = learn([(first, answered_independently(first, truth, people))])
        copies = learned_copies(second)
        assert copies[0][1] == wanted
        assert copies[1][0] == 1 - wanted
        assert pivot_guess_of(second) == pytest.approx(0.5 if wanted == 0 else 0.25)


@pytest.mark.parametrize("most", [0.0, -1.0, 1.5, float("nan")])
def test_a_bound_that_is_none_is_refused(most: float) -> None:
    first = design(schema_of((2, 2)), 1.0, "corr-rr")
    with pytest.raises(LearningError, match="max_pivot_guess"):
        learn([(first, count(first, np.zeros((5, 2), dtype=np.uint8)))], max_pivot_guess=most)


def test_the_guide_states_what_copying_tells() -> None:
    """The table in docs/notes/bounds.md."""
    page = (Path(__file__).parents[2] / "docs/notes/bounds.md").read_text()
    rows = [
        re.findall(r"[\d.]+|∞", line.split("|", 2)[2])
        for line in page.splitlines()
        if re.match(r"\| (0|1/k|0.8|1) ", line)
    ]
    for place, (row, probability) in enumerate(zip(rows, (0.0, None, 0.8, 1.0), strict=True)):
        found: list[float] = []
        for size in (2, 4):
            stated = copy_information(np.array([1 / size if probability is None else probability]), 4, size)
            assert stated is not None
            with np.errstate(divide="ignore"):
                found += [size / stated.common[0] / 4, size / stated.contrast[0], stated.pivot_guess[0]]
        shown = [float("inf") if cell == "∞" else float(cell) for cell in row]
        assert shown == pytest.approx(found, abs=0.055), place
        assert shown[2::3] == pytest.approx(found[2::3], abs=0.006), place


def test_many_questions_take_little_memory() -> None:
    first = design(schema_of((2,) * 120), 1.0, "corr-rr")
    counts = count(first, np.random.default_rng(1).integers(0, 2, (40, 120)).astype(np.uint8))
    tracemalloc.start()
    try:
        learn([(first, counts)])
        assert tracemalloc.get_traced_memory()[1] < 120_000_000
    finally:
        tracemalloc.stop()


def test_where_the_pivot_may_be_known_always_differing_can_be_chosen() -> None:
    first = design(schema_of((2,) * 5), 2.0, "corr-rr")
    truth = [np.array([0.9, 0.1]), np.array([0.1, 0.9])] * 2 + [np.array([0.5, 0.5])]
    second = learn([(first, answered_independently(first, truth, 200_000))], max_pivot_guess=1.0)
    assert pivot_guess_of(second) == 1


def informed_plan(frequencies: list[np.ndarray], epsilon: float) -> Plan:
    """RS+RFD that knows the frequencies."""
    first = first_plan([len(own) for own in frequencies], epsilon, "rs-rfd")
    return later_plan(first, RowFill(tuple(map(nearest_distribution, frequencies))))


def least_variance(plan: Plan, frequencies: list[np.ndarray]) -> float:
    """The Cramér–Rao bound on a frequency's mean variance, for one report to a pivot plan."""
    (part,), sizes = plan.sampler.parts, plan.schema.sizes
    one = np.zeros((1, len(sizes)), dtype=np.int64)
    information = WholeReports(part, one, np.ones(1, dtype=np.int64)).at(np.concatenate(frequencies))[1]
    basis = zero_sum_basis(sizes)
    return float(np.trace(basis @ np.linalg.inv(basis.T @ information @ basis) @ basis.T) / sum(sizes))


def test_two_skewed_and_unlike_questions_are_out_of_reach() -> None:
    """The bound in docs/notes/bounds.md: no copy probability comes near RS+RFD that knows the frequencies."""
    frequencies = [np.array([0.9, 0.1]), np.array([0.2, 0.8])]
    informed = informed_plan(frequencies, 2.0)
    copies = [copying_plan(same_copies(2, p), 2, 2.0) for p in np.linspace(0.02, 0.98, 49)]
    best = min(least_variance(plan, frequencies) for plan in copies)
    assert least_variance(informed, frequencies) == pytest.approx(1.05, abs=0.006)
    assert best == pytest.approx(1.46, abs=0.006)
    assert best / least_variance(informed, frequencies) > 1.39


def test_the_guide_states_the_rules_limit_and_what_follows() -> None:
    """Two questions, two labels: p costs 1/p where they are alike, 1/(4p(1 − p)) where they are not."""
    page = (Path(__file__).parents[2] / "docs/notes/bounds.md").read_text()
    assert f"more than {SLACK - 1:.0%}".replace("%", " %") in page
    most = 0.5 + np.sqrt(0.25 - 1 / (4 * SLACK))
    assert f"p ≤ {most:.2f}, and the loss to a lucky bet is at least {1 / most:.1f}" in page
    insured = copy_information(np.array([0.35, 0.25]), 2, 4)
    assert insured is not None
    unlike, alike = 1 / insured.common + 1 / insured.contrast, 1 / insured.common
    assert f"costs unlike attributes {unlike[0] / unlike[1] - 1:.0%}".replace("%", " %") in page
    assert f"saves like ones {1 - alike[0] / alike[1]:.0%}".replace("%", " %") in page
    differing = copy_information(np.array([0.0]), 4, 4)
    assert differing is not None
    assert "needs 8.4 units" in page
    assert (4 / differing.common[0] + 3 * 4 / differing.contrast[0]) / 4 == pytest.approx(8.4, abs=0.05)


def spl_variance(sizes: tuple[int, ...], epsilon: float, frequencies: list[np.ndarray]) -> float:
    """The mean variance of unbiased frequencies from one SPL report, with two labels."""
    plan = first_plan(sizes, epsilon, "spl")
    reported = [part.asked[0].push(own) for part, own in zip(plan.sampler.parts, frequencies, strict=True)]
    return float(np.mean([share[0] * share[1] / squared_scale(plan) for share in reported]))


def of_the_people(variance: float, frequencies: list[np.ndarray], people: int) -> float:
    """What is left of one report's variance if so many are a table's people and no sample: who they are is no error."""
    return (variance - float(np.mean([own[0] * own[1] for own in frequencies]))) / people


def published_error_of(numbers: int) -> float:
    """The relative standard error of a point of Figure 11, the mean square of so many normal numbers."""
    (runs,) = {panel.published_runs for panel in panels("published") if panel.figure == "fig_11"}
    return float(np.sqrt(2 / numbers / runs))


def test_the_guide_states_what_claves_questions_allow() -> None:
    """10,000 people, ε = 0.5, frequencies as in the data: the variances that unbiased estimates have at least."""
    frequencies = [np.array([0.501, 0.499]), np.array([0.602, 0.398])]
    informed = informed_plan(frequencies, 0.5)
    copies = [copying_plan(same_copies(2, p), 2, 0.5) for p in np.linspace(0.02, 0.98, 49)]
    least = min(least_variance(plan, frequencies) for plan in (informed, *copies))
    assert of_the_people(least, frequencies, 10_000) == pytest.approx(1.62e-3, abs=5e-6)
    split = of_the_people(spl_variance((2, 2), 0.5, frequencies), frequencies, 10_000)
    assert split == pytest.approx(1.59e-3, abs=5e-6)
    assert published_error_of(2) == pytest.approx(0.14, abs=0.005)
    assert (1 - 1.34e-3 / split) / published_error_of(2) == pytest.approx(1.1, abs=0.05)
    plain = " ".join((Path(__file__).parents[2] / "docs/notes/bounds.md").read_text().split())
    assert all(
        figure in plain
        for figure in ("is 1.59e-03 there", "1.62e-03 at least", "error of 14 %", "is 1.1 of them below")
    )


def test_no_estimate_is_below_claves_point_everywhere() -> None:
    """Van Trees' inequality for SPL with 10,000 people and ε = 0.5: the prior sin²(πf) has information 4π²."""
    places = (np.arange(2_000) + 0.5) / 2_000
    density = 2 * np.sin(np.pi * places) ** 2
    scale = squared_scale(first_plan((2, 2), 0.5, "spl")) ** 0.5
    reported = scale * places + (1 - scale) / 2
    information = 10_000 * float(np.mean(density * scale**2 / (reported * (1 - reported))))
    known = np.gradient(np.log(density), places) ** 2
    assert float(np.mean(density * known)) == pytest.approx(4 * np.pi**2, rel=0.01)
    assert 1.5e-3 <= 1 / (information + 4 * np.pi**2) < 1.55e-3
    assert "at least 1.5e-03 on average" in (Path(__file__).parents[2] / "docs/notes/bounds.md").read_text()


def test_the_guide_states_what_adults_questions_allow() -> None:
    """The same for Adult, with directed copies and a pivot that is named half the time."""
    frequencies = [np.array([0.527, 0.473]), np.array([0.549, 0.451]), np.array([0.67, 0.33])]
    found = []
    for most in GROUPS:
        taken = best_directed(3, 2, most, 1e-9, 1.0, 0.5 * ROUNDING, whole=True)
        assert taken is not None
        found.append(copying_plan(taken[0].copy_probability, 2, 0.5))
    least = min(least_variance(plan, frequencies) for plan in found)
    assert of_the_people(least, frequencies, 10_000) == pytest.approx(3.17e-3, abs=5e-6)
    split = of_the_people(spl_variance((2,) * 3, 0.5, frequencies), frequencies, 10_000)
    assert split == pytest.approx(3.59e-3, abs=5e-6)
    assert (1 - 3.05e-3 / split) / published_error_of(3) == pytest.approx(1.3, abs=0.05)
    plain = " ".join((Path(__file__).parents[2] / "docs/notes/bounds.md").read_text().split())
    assert all(
        figure in plain for figure in ("is 3.59e-03", "is 3.17e-03 at least", "the point 1.3 standard errors below")
    )
