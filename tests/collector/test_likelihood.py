"""The likelihood of whole reports against the exact law, and what its maximum and its information must be."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from privtally.collector.estimate import estimate as estimate_of
from privtally.collector.estimate import reports_of, unbiased
from privtally.collector.likelihood import OWN, SHARED, Reports, SingleQuestions, WholeReports, alone, estimate
from privtally.collector.tally import count_times
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.exact.types import Floats
from privtally.mechanisms.fills import CopyFill
from privtally.mechanisms.mechanism import Part
from tests.support import EXTENDED_PLANS, MECHANISMS, first_plan, part_of, plan_of, plan_with

ONE_PIVOT = [name for name, (parts, _) in EXTENDED_PLANS.items() if all(part.pivots == 1 for part in parts)]
PLANS = [plan_of(mechanism, (3, 3), 2.0, seed=4) for mechanism in MECHANISMS]
PLANS += [plan_with(*EXTENDED_PLANS[name], 2.0) for name in ONE_PIVOT]


def frequencies_for(plan: Plan, seed: int = 1) -> list[Floats]:
    made_up = np.random.default_rng(seed)
    return [made_up.dirichlet(np.full(size, 2.0)) for size in plan.schema.sizes]


def law_of(part: Part, frequencies: list[Floats]) -> dict[tuple[int, ...], float]:
    """The law of a part's sub-reports by adding up the exact law of every record."""
    law = dict.fromkeys(part.reports(), 0.0)
    for record in product(*map(range, part.sizes)):
        chance = float(np.prod([own[code] for own, code in zip(frequencies, record, strict=True)]))
        for report in law:
            law[report] += chance * float(part.probability(record, report))
    return law


def counts_of(plan: Plan, reports: int = 500, seed: int = 2) -> Counts:
    """Made-up counts of reports that the plan can give, in no way what people would send."""
    made_up = np.random.default_rng(seed)
    chosen = []
    frequencies = frequencies_for(plan)
    for part in plan.mechanism.parts:
        law = law_of(part, [frequencies[own] for own in part.attributes])
        possible = [each for each, chance in law.items() if chance > 0]
        chosen.append(np.array(possible)[made_up.integers(len(possible), size=reports)])
    codes = np.column_stack([chosen[number][:, place] for number, place in plan.mechanism.places])
    rows, times = np.unique(codes, axis=0, return_counts=True)
    return count_times(plan, rows, times)


@pytest.mark.parametrize("plan", PLANS)
def test_gradient_and_information_are_those_of_the_exact_law(plan: Plan) -> None:
    """The law is linear: its slopes along directions in which each attribute sums to 0 are differences."""
    for part in plan.mechanism.parts:
        point = [frequencies_for(plan)[own] for own in part.attributes]
        law = {report: chance for report, chance in law_of(part, point).items() if chance > 0}
        directions, slopes = [], []
        for own, size in enumerate(part.sizes):
            for code in range(1, size):
                direction = [np.zeros(size) for size in part.sizes]
                direction[own][[0, code]] = -0.125, 0.125
                moved = law_of(part, [one + two for one, two in zip(point, direction, strict=True)])
                slopes.append([(moved[report] - chance) / chance for report, chance in law.items()])
                directions.append(np.concatenate(direction))
        along, score = np.array(directions), np.array(slopes)
        times = np.arange(1, len(law) + 1)
        whole = WholeReports(part, np.array(list(law)), times)
        wanted = score @ times
        found = along @ whole.gradient(np.concatenate(point))
        np.testing.assert_allclose(found, wanted, atol=1e-9 * np.abs(wanted).max())
        # The information is the mean given how often each set of attributes was shown.
        shown = [tuple(np.flatnonzero(np.array(report) < part.answers)) for report in law]
        number, share = dict.fromkeys(shown, 0), dict.fromkeys(shown, 0.0)
        for places, many, chance in zip(shown, times.tolist(), law.values(), strict=True):
            number[places] += many
            share[places] += chance
        expected = np.array(
            [number[own] / share[own] * chance for own, chance in zip(shown, law.values(), strict=True)]
        )
        square = (score * expected) @ score.T
        found = along @ whole.information(np.concatenate(point)) @ along.T
        np.testing.assert_allclose(found, square, atol=1e-9 * np.abs(square).max())


@pytest.mark.parametrize("plan", PLANS)
def test_single_questions_have_the_law_of_their_codes(plan: Plan) -> None:
    """At the frequencies whose expected counts these are, no label pulls more than another."""
    point = frequencies_for(plan)
    for part in plan.mechanism.parts:
        own = [point[attribute] for attribute in part.attributes]
        law = law_of(part, own)
        tallies = [np.zeros(outputs) for outputs in part.outputs]
        for report, chance in law.items():
            for tally, code in zip(tallies, report, strict=True):
                tally[code] += 1e9 * chance
        attributes = [np.zeros(1, dtype=np.int64)] * plan.mechanism.width
        for attribute, tally in zip(part.attributes, tallies, strict=True):
            attributes[attribute] = np.rint(tally).astype(np.int64)
        counts = Counts(plan.digest, 10**9, tuple(attributes), {}, {})
        gradient = SingleQuestions(part, counts).gradient(np.concatenate(own))
        for each in np.split(gradient, np.cumsum(part.sizes)[:-1]):  # the same for all labels: a stationary point
            np.testing.assert_allclose(each, each.mean(), rtol=1e-6)


@pytest.mark.parametrize("plan", PLANS)
def test_the_estimate_is_the_largest_posterior(plan: Plan) -> None:
    """Questions that share no labels have 1½ pseudo-answers a label. The posterior is concave, so that its maximum is
    where no label pulls more than another; a little beside it some do.
    """
    sizes = plan.schema.sizes
    labels = [tuple(f"{own} {code}" for code in range(size)) for own, size in enumerate(sizes)]
    reports = Reports(labels, reports_of([(plan, counts_of(plan))]).parts)
    found = np.concatenate(estimate(reports))

    def pull(point: Floats) -> float:
        gradient = point * reports.gradient(point) + OWN + SHARED
        own, parts = (np.split(each, np.cumsum(sizes)[:-1]) for each in (gradient, point))
        return max(float(np.abs(each - part * each.sum()).max()) for each, part in zip(own, parts, strict=True))

    beside = 0.99 * found + 0.01 * np.repeat(1 / np.array(sizes), sizes)
    assert pull(found) < 2e-3
    assert pull(beside) > 5 * pull(found) or np.abs(beside - found).max() < 1e-4


def test_questions_with_the_same_labels_share_pseudo_answers() -> None:
    """Nobody answers the third question; its estimate is spread as the others are, and not evenly."""
    plan = first_plan((3, 3, 3), 4.0, "smp")
    codes = np.array([[0, 3, 3], [3, 0, 3], [3, 1, 3]])
    counts = count_times(plan, codes, np.array([90, 80, 10]))
    frequencies = estimate_of([(plan, counts)]).attributes["q2"].frequencies
    assert frequencies[0] > 0.6 > 0.3 > max(frequencies[1:])
    low, high = estimate_of([(plan, counts)]).attributes["q2"].low, estimate_of([(plan, counts)]).attributes["q2"].high
    assert (low, high) == ((0.0,) * 3, (1.0,) * 3)  # likeness never narrows an interval


@pytest.mark.parametrize("mechanism", ["spl", "smp"])
def test_where_answers_are_open_the_reports_alone_say_what_the_inverse_says(mechanism: str) -> None:
    plan = plan_of(mechanism, (3, 2), 1.0)  # type: ignore[arg-type]
    history = [(plan, counts_of(plan, 40_000))]
    reports = reports_of(history)
    found, known = alone(reports, estimate(reports)), unbiased(history, [])
    np.testing.assert_allclose(found.frequencies, np.concatenate(known.frequencies), atol=2e-3)
    np.testing.assert_allclose(found.covariance.diagonal(), np.concatenate(known.variances), rtol=0.05)
    assert found.determined.all()


def test_what_the_reports_do_not_determine_has_the_whole_range() -> None:
    """Every other answer is always a copy: the sum of the attributes is known, and nothing of their difference."""
    plan = plan_with((part_of((0, 1), 1, CopyFill(((1.0, 1.0), (1.0, 1.0)))),), (3, 3))
    counts = count_times(plan, np.array([[0, 0], [1, 1], [2, 2]]), np.array([500, 300, 200]))
    found = estimate_of([(plan, counts)])
    assert any("do not determine" in note for note in found.notes)
    for own in found.attributes.values():
        assert (own.low, own.high) == ((0.0,) * 3, (1.0,) * 3)


def test_reports_that_no_answers_give_are_left_out_and_said() -> None:
    plan = plan_with((part_of((0, 1), 1, CopyFill(((1.0, 1.0), (1.0, 1.0)))),), (3, 3))
    counts = count_times(plan, np.array([[0, 0], [0, 1]]), np.array([500, 20]))
    assert any(note.startswith("20 reports cannot come") for note in estimate_of([(plan, counts)]).notes)


def test_an_interval_is_never_empty_and_never_a_certain_zero() -> None:
    from privtally.collector.summaries import interval, wilson
    from privtally.mechanisms.channels import randomized_response

    low, high = interval(np.array([-0.3, 0.5, 1.4, -0.05]), np.array([0.1, 0.1, 0.1, 0.1]))
    assert (low <= high).all()
    assert high[0] == pytest.approx(0.196, rel=1e-3)
    assert low[2] == pytest.approx(1 - 0.196, rel=1e-3)
    channel = randomized_response(Fraction(4), 3)
    nobody = wilson(np.zeros(3, dtype=np.int64), channel)
    assert (nobody[0] == 0).all()
    assert (nobody[1] == 1).all()
    few = wilson(np.array([3, 0, 0]), channel)
    assert (few[1] > few[0]).all()
    assert few[1][1] > 0.3
