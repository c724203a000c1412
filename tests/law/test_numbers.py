"""Numbers on a grid: exact rounding, the law of a report, its privacy, both ways to draw it, and what is estimated.

Each random check runs on a fixed seed and fails a correct program with a probability below 1e-6: the chi-square tests
accept above p = 1e-9. Each has a control that must fail.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from privtally.collector.estimate import estimate
from privtally.collector.spread import Exact
from privtally.collector.summaries import quantiles
from privtally.documents.estimate import Located, load_estimate
from privtally.documents.plan import Plan, design, load_plan
from privtally.exact.randomness import WORD, rounded
from privtally.exact.rational import at_most_exp
from privtally.lab.population import seeded
from privtally.mechanisms.mechanism import Mechanism
from privtally.names import MechanismName, Method
from privtally.participant.respond import respond
from privtally.privacy.loss import certify
from privtally.privacy.verify import CertificateError, verify
from privtally.schema import Attribute, Schema
from privtally.tables.frames import estimate as estimate_frame
from privtally.tables.frames import privatise
from tests.collector.test_summaries import covariance_of
from tests.support import Scripted, chi_square_p, counts_of

AGE = Attribute("age", grid=(0, 18, 30, 45, 65, 120))
SHARE = Attribute("share", grid=(-0.3, 0.1, 0.2, 7.0), decimals=True)
SURVEY = Schema((AGE, Attribute("rooms", grid=(1, 3, 8), optional=True)))
Law = dict[tuple[int, ...], Fraction]


def upper_share(place: Fraction, low: int, drift: int) -> Fraction:
    """The share of words that lead to the code above `low`; of a word that does not decide, that of the next."""
    words: list[int] = []
    share = Fraction(0)
    for digits in range(1, 5):  # what is left then is below 2^-256
        least, most = 0, WORD  # words below lead to the upper code, whatever comes next
        while least < most:
            middle = (least + most) // 2
            (code,) = rounded([place], Scripted([*words, middle, WORD - 1, WORD - 1]))
            least, most = (middle + 1, most) if code > low else (least, middle)
        share += Fraction(least + drift, WORD**digits)
        words.append(least)
        if least == WORD:
            break
    return share


@pytest.mark.parametrize(
    ("attribute", "answer"),
    [
        *product([AGE], [0, "1", 17, 18, 29, 31, 64, 66, "119", 120]),
        *product([SHARE], [-0.3, "-0.2999", 0, 0.1, 0.15, "1e-30", 5e-324, 6.999, 7]),
    ],
)
@pytest.mark.parametrize("drift", [0, 1])
def test_the_mean_of_a_rounded_number_is_the_number(attribute: Attribute, answer: float | str, drift: int) -> None:
    """The words that lead to each point are counted by bisection; one word more, and the mean is another."""
    place = Fraction(attribute.place_of[answer])
    low = min(int(place), attribute.size - 2)
    below, above = (Fraction(label) for label in attribute.labels[low : low + 2])
    mean = below + upper_share(place, low, drift) * (above - below)
    assert (abs(mean - Fraction(str(answer))) < Fraction(1, 2**200)) == (drift == 0)


def test_numbers_that_are_whole_are_left_as_they_are() -> None:
    assert rounded([3, Fraction(0), Fraction(5)], Scripted([0, WORD - 1, 7])) == [3, 0, 5]


def law_of(mechanism: Mechanism, places: Sequence[Fraction]) -> Law:
    """The exact law of a report: a mixture of those of the points around each number."""
    law: Law = {}
    ends = [{int(place): 1 - place % 1, int(place) + 1: place % 1} for place in places]
    for codes in product(*ends):
        chance = Fraction(1)
        for own, code in zip(ends, codes, strict=True):
            chance *= own[code]
        for report, likely in mechanism.law(codes).items() if chance else ():
            law[report] = law.get(report, Fraction(0)) + chance * likely
    return law


def places_of(age: int, rooms: int | None) -> list[Fraction]:
    return [Fraction(own.place_of[answer]) for own, answer in zip(SURVEY.attributes, (age, rooms), strict=True)]


MECHANISMS: tuple[MechanismName, ...] = ("spl", "smp", "rs-fd", "pairs")


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_rounding_costs_no_privacy(mechanism: MechanismName) -> None:
    """The ratio between any two records is at most that between two records on the grid, hence at most e^ε."""
    plan = design(SURVEY, 1.5, mechanism)
    people = [(0, 1), (120, 8), (17, 2), (50, 7), (65, None), (119, 3)]
    laws = [law_of(plan.mechanism, places_of(*person)) for person in people]
    assert all(sum(law.values()) == 1 for law in laws)
    worst = max(one[report] / two[report] for one, two in product(laws, repeat=2) for report in one)
    assert worst <= plan.mechanism.ratio
    assert at_most_exp(worst, Fraction(plan.epsilon))
    assert not at_most_exp(worst, Fraction(plan.epsilon) * Fraction(99, 100))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_both_ways_to_answer_follow_the_law(mechanism: MechanismName) -> None:
    """A table of one answer, and one person after the other; the control is a law of an age two years away."""
    plan = design(SURVEY, 4.0, mechanism)
    people = 60_000
    table = pl.DataFrame({"age": [55] * people, "rooms": [2] * people})
    silent = [outputs - 1 for outputs in plan.mechanism.outputs]
    in_bulk = privatise(plan, table, seeded(1)).drop("id").rows()
    source = seeded(2)
    one_by_one = [respond(plan, {"age": 55, "rooms": "2"}, source).codes for _ in range(people // 4)]
    filled = [
        np.array([[none if code is None else code for code, none in zip(row, silent, strict=True)] for row in rows])
        for rows in (in_bulk, one_by_one)
    ]
    for drawn, far in zip(filled, (57, 62), strict=True):
        assert chi_square_p(drawn, law_of(plan.mechanism, places_of(55, 2))) > 1e-9
        assert chi_square_p(drawn, law_of(plan.mechanism, places_of(far, 2))) < 1e-9


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_verifier_needs_the_labels_alone(mechanism: MechanismName) -> None:
    plan = design(SURVEY, 2.0, mechanism)
    assert load_plan(plan.dump()) == plan
    certificate = certify(plan)
    assert verify(plan, certificate)
    other = design(SURVEY, 3.0, mechanism)
    with pytest.raises(CertificateError):
        verify(other, certificate)
    with pytest.raises(CertificateError):
        verify(plan, {**certificate, "epsilon": 1.0})


def test_a_ledger_keeps_the_report_however_the_number_would_be_rounded_again(tmp_path: Path) -> None:
    plan = design(SURVEY, 2.0, "smp")
    first, *others = [respond(plan, {"age": 40}, ledger=tmp_path / "ledger.json") for _ in range(20)]
    assert all(report == first for report in others)
    assert len({respond(plan, {"age": 40}).codes for _ in range(50)}) > 1


def expected_counts(plan: Plan, ages: dict[int, int]) -> tuple[float, np.ndarray]:
    """The mean of ages, and the numbers of reports that a multiple of these people gives on average."""
    people = sum(ages.values())
    chances = np.zeros(plan.mechanism.outputs)
    for age, number in ages.items():
        for report, chance in law_of(plan.mechanism, [Fraction(plan.schema.attributes[0].place_of[age])]).items():
            chances[report] += float(chance) * number / people
    return sum(age * number for age, number in ages.items()) / people, np.rint(chances * 10**9).astype(np.int64)


@pytest.mark.parametrize("method", ["unbiased", "likelihood"])
@pytest.mark.parametrize("mechanism", ["spl", "smp"])
def test_means_are_unbiased(mechanism: MechanismName, method: Method) -> None:
    plan = design(Schema((AGE,)), 2.0, mechanism)
    truth, counts = expected_counts(plan, {3: 2, 18: 1, 29: 4, 50: 3, 64: 1, 119: 1})
    found = estimate([(plan, counts_of(plan, counts))], method)
    mean = found.attributes["age"].mean
    assert isinstance(mean, Located)
    assert mean.value == pytest.approx(truth, abs=1e-4)
    assert mean.high - mean.low < 0.1
    assert load_estimate(found.dump()) == found


def test_quantiles_of_the_answers_lie_in_their_intervals() -> None:
    """Without noise, whatever the population; the points at which D reaches the share alone would miss many."""
    made_up, missed = np.random.default_rng(5), 0
    assert AGE.ranges is not None
    points = np.array([float(label) for label in AGE.labels])
    for _ in range(300):
        ages = np.sort(made_up.choice(120, made_up.integers(1, 12)))
        law = np.zeros(6)
        for age in ages:
            place = Fraction(AGE.place_of[int(age)])
            law[int(place)] += float(1 - place % 1) / len(ages)
            law[min(int(place) + 1, 5)] += float(place % 1) / len(ages)
        for found in quantiles(AGE.ranges, law, Exact(covariance_of(law, 10**12))):
            truth = ages[int(np.ceil(found.share * len(ages) - 1e-9)) - 1]
            assert found.low <= truth <= found.high
            reached = points[int(np.searchsorted(law.cumsum(), found.share - 1e-9))]
            missed += reached != truth
    assert missed > 300


def test_a_scale_of_whole_numbers_has_a_mean() -> None:
    scale = Attribute("score", tuple(map(str, range(11))), ordered=True, optional=True)
    plain = [Attribute("plain", ("1", "2")), Attribute("words", ("low", "high"), ordered=True)]
    schema = Schema((scale, *plain, Attribute("down", ("2", "1"), ordered=True)))
    plan = design(schema, 8.0, "spl")
    table = pl.DataFrame({"score": [None, 10, 7, 9] * 5_000, "plain": ["1"] * 20_000})
    table = table.with_columns(pl.lit("low").alias("words"), pl.lit("1").alias("down"))
    reports = privatise(plan, table, seeded(1))
    found = estimate_frame(plan, reports).attributes
    mean = found["score"].mean
    assert isinstance(mean, Located)
    assert mean.low < 26 / 3 < mean.high < mean.low + 0.4
    assert all(not isinstance(found[name].mean, Located) for name in ("plain", "words", "down"))
