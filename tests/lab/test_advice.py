"""Which campaign is recommended: the closed form against the exact law, and the choice against every alternative."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from privtally.collector.estimate import estimate
from privtally.collector.inverse import inverse_of
from privtally.collector.tally import count, count_times
from privtally.collector.together import answers_of
from privtally.documents.campaign import Asking
from privtally.documents.counts import SubReports
from privtally.documents.plan import Plan, design
from privtally.errors import CampaignError, PlanError
from privtally.lab.advise import Advice, Question, best, budget_for, by_budget, people_for, recommend, smallest, ways
from privtally.lab.population import seeded
from privtally.lab.simulate import simulate
from privtally.mechanisms.grouping import answer_variance
from privtally.mechanisms.mechanism import Part
from privtally.names import HideAmong
from privtally.participant.respond import respond_many
from privtally.plots.comparison import draw_advice
from privtally.schema import Records
from tests.mechanisms.test_grouping import partitions
from tests.support import schema_of


def enumerated_variance(part: Part, own: int) -> float:
    """The variance of the unbiased estimate from one report at uniform answers, by enumeration of the law."""
    records = list(product(*map(range, part.sizes)))
    back = inverse_of(part).back(own)[own]
    values, chances = [], []
    for report in part.reports():
        if report[own] < part.answers[own]:
            chances.append(sum(float(part.probability(record, report)) for record in records) / len(records))
            values.append(back @ part.asked[own].support(np.eye(part.answers[own])[report[own]]))
    weights, seen = np.array(chances) / sum(chances), np.array(values)
    return float((weights @ (seen - weights @ seen) ** 2).mean() / sum(chances))


@pytest.mark.parametrize("hide_among", [1, 2, "all"])
@pytest.mark.parametrize("sizes", [(2, 3, 2), (3, 3, 3), (32, 2)])
def test_every_variance_is_that_of_the_exact_law(sizes: tuple[int, ...], hide_among: HideAmong) -> None:
    schema = schema_of(sizes)
    for way in ways(schema, Question(1_000, 1.0, hide_among)):
        plan = design(schema, 1.0, **way.design.options)
        for part in plan.mechanism.parts:
            for place, attribute in enumerate(part.attributes):
                # A decoy's code of a large domain is in a label's set not quite as often as an answer's.
                close = 1e-9 if not part.decoys or part.asked[place].inside == 1 else 2e-3
                assert way.variances[attribute] == pytest.approx(enumerated_variance(part, place), rel=close)


@pytest.mark.parametrize("hide_among", [1, 2, 3, "all"])
@pytest.mark.parametrize("epsilon", [0.5, 4.0, 8.0])
@pytest.mark.parametrize("sizes", [(2, 2, 3, 8, 16), (4, 4, 4, 4, 4), (2, 2, 2, 2, 64)])
def test_the_choice_is_the_best_of_all_that_hide_as_well(
    sizes: tuple[int, ...], epsilon: float, hide_among: HideAmong
) -> None:
    """g · min(c, g) · V(ε/t, k) over all partitions whose groups are of one question or large enough to hide it."""
    variances = []
    for groups in partitions(range(len(sizes))):
        least = len(sizes) if hide_among == "all" else hide_among
        if any(1 < len(group) < least for group in groups):
            continue
        total = 0.0
        for group in groups:
            shown = len(group) if hide_among == "all" else min(hide_among, len(group))
            budget = Fraction(epsilon) / len(groups)
            total += sum(len(group) * shown * answer_variance(budget, sizes[own]) for own in group)
        variances.append(total / len(sizes))
    chosen = recommend(schema_of(sizes), epsilon, 1_000, hide_among=hide_among)
    assert chosen.variance == pytest.approx(min(variances), rel=1e-9)


def hidden_among(plan: Plan) -> int:
    """How many questions the one that is used is hidden among, where a group has several."""
    return min((part.shown for part in plan.mechanism.parts if len(part.attributes) > 1), default=0)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0, 8.0])
def test_a_recommendation_hides_as_was_asked_for_and_is_what_design_takes(epsilon: float) -> None:
    schema = schema_of((2, 3, 4, 5, 6, 7))
    numbers: list[HideAmong] = [1, 2, 3, 6, 9, "all"]
    for among in numbers:
        chosen = recommend(schema, epsilon, 2_000, hide_among=among)
        plan = design(schema, epsilon, **chosen.design.options)
        assert plan.name == chosen.design.mechanism
        assert plan.phase == 1
        assert hidden_among(plan) in (0, 6 if among == "all" else min(among, 6))
        if chosen.design.mechanism == "smp":
            assert among == 1


def test_two_questions_are_shown_unless_told_otherwise() -> None:
    schema = schema_of((4, 4, 4, 4))
    assert recommend(schema, 1.0, 4_000).design == Asking("rs-fd", decoys=1)
    assert recommend(schema, 1.0, 4_000, hide_among=1).design == Asking("smp")
    assert recommend(schema, 1.0, 4_000, hide_among="all").design == Asking("rs-fd")
    assert recommend(schema, 8.0, 4_000).design == Asking("spl")
    assert recommend(schema_of((3,)), 1.0, 4_000).design == Asking("spl")


def test_hiding_among_more_never_has_a_smaller_error() -> None:
    schema = schema_of((3, 3, 4, 4, 5))
    for epsilon in (0.5, 2.0, 6.0):
        found = [best(schema, Question(5_000, epsilon, among)).variance for among in range(1, 6)]
        assert found == sorted(found)
        assert found[0] < found[1]


@pytest.mark.parametrize("hide_among", [1, 2])
@pytest.mark.parametrize(("sizes", "epsilon"), [((4, 4, 4, 4), 1.0), ((2, 3, 5), 2.0), ((3, 3, 3), 8.0)])
def test_what_is_stated_is_the_half_width_of_the_estimate_that_will_be_printed(
    sizes: tuple[int, ...], epsilon: float, hide_among: int
) -> None:
    schema, people = schema_of(sizes), 30_000
    chosen = recommend(schema, epsilon, people, hide_among=hide_among)
    plan = design(schema, epsilon, **chosen.design.options)
    generator = np.random.default_rng(1)
    records = Records(schema, np.column_stack([generator.integers(0, size, people) for size in sizes]))
    found = estimate([(plan, count(plan, respond_many(plan, records, seeded(1)).codes))], "unbiased")
    assert chosen.points == pytest.approx(100 * found.half_width, rel=0.03)


def test_an_interval_is_no_wider_than_all_shares() -> None:
    hopeless = Advice(Asking("spl"), (2, 10), (1e9, 1e9), 1)
    assert hopeless.points == pytest.approx(50)
    # Around 10 %, ± 20 points reach from 0 to 30 %.
    reach = Advice(Asking("spl"), (10,), ((0.2 / 1.959963984540054) ** 2,), 1)
    assert reach.points == pytest.approx(15, rel=1e-3)
    # A question with many answers counts for more answers.
    both = Advice(Asking("spl"), (2, 6), (0.0, 0.01**2), 1)
    assert both.points == pytest.approx(100 * 1.96 * 0.01 * math.sqrt(6 / 8), rel=1e-3)


@pytest.mark.parametrize(("needed", "found"), [(1, 1), (3, 3), (1_234, 1_300), (10**6, 10**6), (10**7, None)])
def test_the_smallest_value_that_is_enough(needed: int, found: int | None) -> None:
    """Rounded up to two digits, and by at most half a percent beyond."""
    value = smallest(lambda value: value >= needed, 1, 10**6)
    if found is None:
        assert value is None
    else:
        assert value is not None
        assert needed <= value <= 1.1 * found


def test_what_is_needed_has_the_wanted_error() -> None:
    question, schema = Question(1_000, 1.0), schema_of((4, 4, 4))
    people, epsilon = people_for(schema, question, 4.0), budget_for(schema, question, 4.0)
    assert people is not None
    assert epsilon is not None
    assert best(schema, replace(question, people=people)).points <= 4
    assert best(schema, replace(question, people=people // 2)).points > 4
    assert best(schema, replace(question, epsilon=epsilon)).points <= 4 < best(schema, replace(question)).points
    assert budget_for(schema, question, 1e-9) is None


def enumerated_cell_variance(plan: Plan) -> float:
    """The mean over all cells of two questions of the variance of the unbiased table from one report, at uniform
    answers: a report that answers both has the product of two unbiased indicators for every cell.
    """
    (a, b), sampler = plan.schema.sizes[:2], plan.mechanism
    channels = [sampler.parts[part].asked[place] for part, place in sampler.places[:2]]
    inverses = [
        np.linalg.inv([[float(own.probability(x, y)) for x in range(k)] for y in range(k)])
        for own, k in zip(channels, (a, b), strict=True)
    ]
    first: Any = np.zeros((a, b))
    second: Any = np.zeros((a, b))
    records = list(product(*map(range, plan.schema.sizes)))
    both = 0.0
    for record in records:
        for report, chance in sampler.law(record).items():
            if report[0] < a and report[1] < b:
                value = np.outer(inverses[0][:, report[0]], inverses[1][:, report[1]])
                weight = float(chance) / len(records)
                both += weight
                first += weight * value
                second += weight * value**2
    return float(((second / both - (first / both) ** 2) / both).mean())


@pytest.mark.parametrize("sizes", [(2, 3), (3, 3, 3), (2, 2, 2, 2)])
def test_the_variance_of_a_cell_is_that_of_the_exact_law(sizes: tuple[int, ...]) -> None:
    schema = schema_of(sizes)
    spl, *together = ways(schema, Question(1_000, 2.0, pairs=True))
    plan = design(schema, 2.0, **spl.design.options)
    assert spl.variances[0] == pytest.approx(enumerated_cell_variance(plan), rel=1e-9)
    assert spl.single is not None
    assert [way.design.single for way in together] == [None, 0.25, 0.5]
    assert recommend(schema, 2.0, 1_000, pairs=True).design.mechanism == "pairs"


@pytest.mark.parametrize("share", [None, 0.25, 0.5])
def test_the_variances_of_pairs_are_those_of_many_campaigns(share: float | None) -> None:
    """Mean squares over 300 campaigns of people whose answers are uniform, all cells and all questions; they vary by
    less than a seventh, and twice the variance would show.
    """
    schema = schema_of((2, 3, 2))
    way = next(way for way in ways(schema, Question(1, 2.0, pairs=True)) if way.design == Asking("pairs", single=share))
    plan, generator, people = design(schema, 2.0, **way.design.options), np.random.default_rng(6), 2_000
    cells, single = [], []
    for _ in range(300):
        codes = np.column_stack([generator.integers(size, size=people) for size in schema.sizes])
        reports = simulate(plan.mechanism, SubReports(*np.unique(codes, axis=0, return_counts=True)), generator)
        answers = answers_of([(plan, count_times(plan, reports.codes, reports.times))])
        assert answers is not None
        table = answers.table(0, 1)
        assert table is not None
        cells.append(np.mean((table.frequencies - 1 / 6) ** 2))
        single.append(np.mean((answers.frequencies(1) - 1 / 3) ** 2))
    assert way.single is not None
    assert people * np.mean(cells) == pytest.approx(way.variances[0], rel=0.15)
    assert people * np.mean(single) == pytest.approx(way.single.variances[1], rel=0.25)


def test_curves_are_those_of_recommendations() -> None:
    schema, question = schema_of((4, 4, 4)), Question(2_000, 1.0)
    curves = by_budget(schema, question)
    assert list(curves) == [1, 2, "all"]
    assert dict(curves[2])[1.0] == recommend(schema, 1.0, 2_000).points
    assert [epsilon for epsilon, _ in curves["all"]] == [0.25, 0.5, 1.0, 2.0, 4.0]


@pytest.mark.parametrize("errors", [(9.0, 4.0), (20, 0.1), (6.1, 5.5)])
def test_errors_can_be_read_from_the_picture(errors: tuple[float, float]) -> None:
    """At least two plain numbers stand at the axis, however near the errors are to each other."""
    pytest.importorskip("matplotlib")
    axis = draw_advice({2: list(zip((0.5, 2.0), errors, strict=True))}).axes[0]
    low, high = axis.get_ylim()
    shown = [
        float(label.get_text().removeprefix("± "))
        for label in axis.get_yticklabels()
        if low <= label.get_position()[1] <= high
    ]
    assert len(shown) >= 2


@pytest.mark.parametrize("people", [900.5, True, "900", 0, 10**13])
def test_a_number_of_people_that_is_none_is_refused(people: Any) -> None:
    with pytest.raises(CampaignError, match="whole number"):
        recommend(schema_of((2, 3)), 1.0, people)


@pytest.mark.parametrize("among", [0, -1, 1.5, True, "two", None])
def test_what_is_no_number_of_questions_to_hide_among_is_refused(among: Any) -> None:
    with pytest.raises(CampaignError, match="hide_among"):
        recommend(schema_of((2, 3)), 1.0, 100, hide_among=among)


def test_nobody_can_be_advised_where_nothing_fits() -> None:
    with pytest.raises(PlanError):
        recommend(schema_of((2, 3)), 0.0, 100)
    with pytest.raises(CampaignError, match="two questions"):
        recommend(schema_of((2,)), 1.0, 100, pairs=True)


def test_the_smallest_budget_and_the_most_labels_are_no_special_case() -> None:
    assert recommend(schema_of((60_000, 2)), 1e-6, 100).points == pytest.approx(50)
