"""The campaigns that are offered have the noise of their reports, and no other."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privtally.documents.plan import design
from privtally.job import run_campaign
from privtally.lab.expectation import Noise
from privtally.lab.noise import Setup, TwoPhases, evenly_filled, private, said
from privtally.lab.offers import Design, Offer, Question, offer_of, offers
from privtally.lab.seed import seeded
from privtally.mechanisms.channel import randomized_response
from privtally.mechanisms.grouping import unbiased_variance
from privtally.mechanisms.named import best_channel
from privtally.names import LEARNED_WITH, MechanismName
from privtally.schema import Records
from tests.support import plan_of, records_of, schema_of

PEOPLE = 1_000


def offers_of(sizes: tuple[int, ...], question: Question) -> dict[MechanismName, Offer]:
    """The last offer of each mechanism with one group."""
    found = offers(schema_of(sizes), question)
    return {offer.design.mechanism: offer for offer in found if offer.design.groups is None}


def setup(sizes: tuple[int, ...], epsilon: float, groups: tuple[tuple[int, ...], ...] | None = None) -> Setup:
    return Setup(schema_of(sizes), PEOPLE, epsilon, groups or (tuple(range(len(sizes))),))


def copied(sizes: tuple[int, ...], guess: float = 0.5, phase1: int = PEOPLE // 10) -> list[Noise]:
    return list(TwoPhases(setup(sizes, 1.0), phase1, guess).copied())


def variances(mechanism: MechanismName, size: int, epsilon: float) -> np.ndarray:
    """The least covariance of two attributes' first frequencies: the inverse Fisher information, from the exact law."""
    plan = plan_of(mechanism, (size, size), epsilon)
    laws = {record: plan.sampler.law(record) for record in records_of((size, size))}
    # In the direction in which the first label gains what the second loses, at uniform answers.
    direction = np.zeros(size)
    direction[:2] = 1 / np.sqrt(2), -1 / np.sqrt(2)
    information = np.zeros((2, 2))
    for report in set().union(*laws.values()):
        chances = np.array([[float(laws[one, two].get(report, 0)) for two in range(size)] for one in range(size)])
        probability = chances.mean()
        slope = np.array([direction @ chances.mean(axis=1), direction @ chances.mean(axis=0)])
        information += np.outer(slope, slope) / probability
    return np.linalg.inv(information) / PEOPLE


@pytest.mark.parametrize("mechanism", ["spl", "smp", "rs-fd"])
@pytest.mark.parametrize(("size", "epsilon"), [(2, 1.0), (4, 0.3), (3, 3.0)])
def test_noise_is_that_of_the_exact_law_beyond_who_is_asked(
    mechanism: MechanismName, size: int, epsilon: float
) -> None:
    alone = setup((size, size), epsilon, ((0,), (1,)))
    noise = {
        "spl": said(alone),
        "smp": said(setup((size, size), epsilon)),
        "rs-fd": evenly_filled(setup((size, size), epsilon)),
    }[mechanism]
    people = 1 / (size * PEOPLE)
    stated = np.diag(np.array(noise.alone) + np.array(noise.passed_over or 0) / size + people)
    assert stated == pytest.approx(variances(mechanism, size, epsilon), rel=1e-6, abs=1e-12)


def test_even_fills_in_phase_2_are_one_of_the_choices_and_the_first() -> None:
    noises = copied((4, 4))
    both = 1 / (0.1 / variances("spl", 4, 1.0)[0, 0] + 0.9 / variances("rs-fd", 4, 1.0)[0, 0])
    assert noises[0].alone[0] + 1 / (4 * PEOPLE) == pytest.approx(both, rel=1e-6)
    assert len(noises) > 1


def test_the_pivot_that_may_be_guessed_more_often_has_less_noise() -> None:
    def least(guess: float) -> float:
        return min(noise.alone[0] for noise in copied((4,) * 4, guess))

    assert least(0.25) > 1.05 * least(0.5) > 1.05**2 * least(1.0)


@pytest.mark.parametrize(("size", "budget"), [(4, 1.0), (42, 1.0), (64, 3.0), (1_000, 0.5)])
def test_a_private_answer_goes_through_the_channel_that_a_plan_takes(size: int, budget: float) -> None:
    """Its information is that of the unbiased estimate; other codes than labels are used evenly up to 6 %."""
    channel = best_channel(Fraction(budget), size).channel(Fraction(budget), size)
    variance = (1 - 1 / size) / private(budget, size).information
    assert private(budget, size).codes == channel.outputs
    assert variance == pytest.approx(unbiased_variance(channel), rel=0.06)
    plain = (1 - 1 / size) / private(budget, size, by_label=True).information
    assert plain == pytest.approx(unbiased_variance(randomized_response(Fraction(budget), size)), rel=1e-3)


def test_a_group_has_the_noise_of_a_survey_with_its_part_of_the_budget() -> None:
    groups = ((0, 2), (1, 3, 4))
    noises = [said(setup((3,) * 5, 2.0, groups)), evenly_filled(setup((3,) * 5, 2.0, groups))]
    for group in groups:
        sizes = (3,) * len(group)
        for whole, own in zip(noises, [said(setup(sizes, 1.0)), evenly_filled(setup(sizes, 1.0))], strict=True):
            assert [whole.alone[place] for place in group] == pytest.approx(own.alone)


def test_two_pivots_are_two_thirds_of_three_with_half_the_budget() -> None:
    two = said(setup((3,) * 3, 2.0), pivots=2)
    own = said(setup((3,), 1.0))
    assert two.alone[0] == pytest.approx(1.5 * own.alone[0])
    assert two.passed_over == pytest.approx([0.5 / PEOPLE] * 3)


def test_copies_in_groups_share_noise_inside_their_group_only() -> None:
    groups = ((0, 1, 2), (3, 4, 5))
    noises = list(TwoPhases(setup((4,) * 6, 4.0, groups), 100, 0.5).copied())
    assert len(noises) > 1
    for noise in noises[1:]:
        assert {places for places, _ in noise.common} <= set(groups)


def test_who_can_name_the_pivot() -> None:
    found = offers_of((4,) * 4, Question(PEOPLE, 1.0, 0.4))
    guesses = {mechanism: offer.pivot_guess for mechanism, offer in found.items()}
    unbounded = {name: 1.0 for name, options in LEARNED_WITH.items() if "max_pivot_guess" not in options}
    bounded = {name: 0.4 for name, options in LEARNED_WITH.items() if "max_pivot_guess" in options}
    assert guesses == {"spl": None, "rs-fd": 0.25, "smp": 1.0, **unbounded, **bounded}


@pytest.mark.parametrize(("groups", "guess"), [(((0, 1), (2, 3, 4)), 1 / 2), (((0, 1, 2, 3), (4,)), 1 / 4)])
def test_the_smallest_group_that_hides_something_is_the_easiest_to_guess(
    groups: tuple[tuple[int, ...], ...], guess: float
) -> None:
    schema = schema_of((3,) * 5)
    names = tuple(tuple(schema.names[own] for own in group) for group in groups)
    assert offer_of(schema, Question(PEOPLE, 2.0), Design("rs-fd", names)).pivot_guess == pytest.approx(guess)
    assert offer_of(schema, Question(PEOPLE, 2.0), Design("smp", names)).pivot_guess == 1


def test_what_does_not_fit_is_not_offered() -> None:
    fits = {offer.design.mechanism for offer in offers(schema_of((1_500, 1_500)), Question(PEOPLE, 1.0))}
    assert "cond-rr" not in fits
    assert "rs-rfd" in fits
    alone = {offer.design.mechanism for offer in offers(schema_of((2, 2)), Question(1, 1.0))}
    assert alone == {"spl", "smp", "rs-fd"}


def test_groups_are_offered_where_they_pay() -> None:
    """At a budget of 6 two groups are better than one and than every attribute alone, said or hidden; at 0.5 not."""
    found = [offer.design for offer in offers(schema_of((4,) * 6), Question(PEOPLE, 6.0))]
    assert {design.mechanism for design in found if design.groups} >= {"smp", "rs-fd"}
    low = [offer.design for offer in offers(schema_of((4,) * 6), Question(PEOPLE, 0.5))]
    assert not [design for design in low if design.groups and design.mechanism == "smp"]


def test_two_way_tables_have_the_variance_of_two_answers() -> None:
    """findings: one cell at d = 4, k = 4 and ε = 1 has 1,825 with SPL and 564 with two pivots, from one report."""
    question = Question(10**6, 1.0, pairs=True)
    found = {offer.design: offer.square([]) * 10**6 for offer in offers(schema_of((4,) * 4), question)}
    assert found[Design("spl")] == pytest.approx(1_825, rel=0.01)
    assert found[Design("smp", pivots=2)] == pytest.approx(564, rel=0.01)
    assert math.isfinite(found[Design("smp", pivots=3)])
    assert len(found) == 3
    assert not offers(schema_of((4,)), question)


def test_many_attributes_and_labels_fall_back_on_even_fills() -> None:
    assert len(copied((1_200, 1_200))) == 1


def test_the_options_of_a_campaign_are_those_of_its_first_plan_and_the_share() -> None:
    """As `run_campaign` and `design` take them."""
    made_up = Design("cond-rr", phase1_share=0.2)
    records = Records(schema_of((2, 2)), np.zeros((50, 2), dtype=np.uint8))
    first, second = run_campaign(records, 1.0, source=seeded(1), **made_up.campaign_options).phases
    assert (first.counts.reports, second.counts.reports) == (10, 40)
    assert design(records.schema, 1.0, **made_up.options, source=seeded(1)).parts == first.plan.parts
