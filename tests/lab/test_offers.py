"""The campaigns that are offered have the noise of their reports, and no other."""

import numpy as np
import pytest

from privtally.lab.expectation import Noise
from privtally.lab.offers import Offer, Question, offers
from privtally.names import MechanismName
from tests.support import plan_of, records_of, schema_of

PEOPLE = 1_000


def offers_of(sizes: tuple[int, ...], question: Question) -> dict[MechanismName, Offer]:
    return {offer.mechanism: offer for offer in offers(schema_of(sizes), question)}


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
    (noise,) = offers_of((size, size), Question(PEOPLE, epsilon))[mechanism].noises
    people = 1 / (size * PEOPLE)
    stated = np.diag(np.array(noise.alone) + noise.passed_over / size + people) + noise.common
    assert stated == pytest.approx(variances(mechanism, size, epsilon), rel=1e-6, abs=1e-12)


def test_even_fills_in_phase_2_are_one_of_the_choices_and_the_first() -> None:
    question = Question(PEOPLE, 1.0)
    offer = offers_of((4, 4), question)["corr-rr"]
    even = offer.noises[0]
    share = offer.phase1_share
    assert share is not None
    both = 1 / (share / variances("spl", 4, 1.0)[0, 0] + (1 - share) / variances("rs-fd", 4, 1.0)[0, 0])
    assert even.alone[0] + 1 / (4 * PEOPLE) == pytest.approx(both, rel=1e-6)
    assert len(offer.noises) > 1


def test_the_pivot_that_may_be_guessed_more_often_has_less_noise() -> None:
    def least(guess: float) -> float:
        return min(noise.alone[0] for noise in offers_of((4,) * 4, Question(PEOPLE, 1.0, guess))["corr-rr"].noises)

    assert least(0.25) > 1.05 * least(0.5) > 1.05**2 * least(1.0)


def test_who_can_name_the_pivot() -> None:
    found = offers_of((4,) * 4, Question(PEOPLE, 1.0, 0.4))
    guesses = {mechanism: offer.pivot_guess for mechanism, offer in found.items()}
    assert guesses == {"spl": 0.25, "rs-fd": 0.25, "smp": 1.0, "corr-rr": 0.4}


def test_what_does_not_fit_is_not_offered() -> None:
    assert set(offers_of((2, 3), Question(PEOPLE, 1.0))) == {"spl", "rs-fd", "smp"}
    assert "corr-rr" not in offers_of((2, 2), Question(1, 1.0))


def test_many_attributes_and_labels_fall_back_on_even_fills() -> None:
    noises: list[Noise] = list(offers_of((1_200, 1_200), Question(PEOPLE, 1.0))["corr-rr"].noises)
    assert len(noises) == 1
