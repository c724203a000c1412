"""Standard errors hold whether people come again or not; ignoring that they do is seen."""

from functools import lru_cache

import numpy as np
import pytest
from scipy import stats

from privtally.collector.estimate.attribute import Found
from privtally.collector.estimate.methods import IN_ROUNDS
from privtally.collector.estimate.rounds import repeats, sampling_covariance
from privtally.collector.tally import count
from privtally.documents.campaign import refresh
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.lab.seed import seeded
from privtally.names import Method
from privtally.participant.respond import respond_many
from privtally.schema import Records
from tests.support import first_plan

RUNS, PEOPLE, EPSILON, PHASES = 150, 300, 6.0, 4
SHARES = np.array([0.5, 0.3, 0.2])
LEAST = float(stats.binom.ppf(1e-7, RUNS, 0.95))
"""Intervals that hold 95 % of the time hold less often in these runs with a chance of 1e-7."""


def plans_of(answers: int) -> list[Plan]:
    plans = [first_plan((3,), EPSILON, answers=answers)]
    for _ in range(PHASES - 1):
        plans.append(refresh(plans))
    return plans


@lru_cache
def campaigns(answers: int, *, returning: bool) -> list[list[tuple[Plan, Counts]]]:
    """Phases of one question that is hardly randomised: nearly all of the error is that of the sample of people."""
    plans = plans_of(answers)
    made_up, source, found = np.random.default_rng(4), seeded(4), []
    for _ in range(RUNS):
        people = made_up.choice(3, (1 if returning else PHASES, PEOPLE), p=SHARES).astype(np.uint8)
        phases = np.broadcast_to(people, (PHASES, PEOPLE))
        found.append(
            [
                (plan, count(plan, respond_many(plan, Records(plan.schema, codes[:, None]), source).codes))
                for plan, codes in zip(plans, phases, strict=True)
            ]
        )
    return found


def held(method: Method, answers: int, *, returning: bool) -> int:
    """In how many runs the interval of a frequency, all phases taken together, holds."""

    def z(found: Found) -> float:
        return float(abs((found.alone or found).frequencies[0][0] - SHARES[0]) / np.sqrt(found.variances[0][0]))

    histories = campaigns(answers, returning=returning)
    return sum(z(IN_ROUNDS[method]([history], [0], [])[0]) < 1.96 for history in histories)


@pytest.mark.parametrize("method", ["unbiased", "likelihood"])
def test_intervals_hold_if_all_come_again_and_if_nobody_does(method: Method) -> None:
    assert held(method, PHASES, returning=True) >= LEAST
    assert held(method, PHASES, returning=False) >= LEAST
    assert held(method, 1, returning=True) < LEAST  # what ignoring returns would do


def test_only_phases_that_are_there_can_be_answered_again() -> None:
    histories = [campaigns(answers, returning=False)[0] for answers in (1, PHASES)]
    assert [repeats(history) for history in histories] == [0, 3]
    assert repeats(histories[1][:2]) == 1


def test_a_persons_answer_has_a_multinomial_covariance() -> None:
    people = np.eye(3)[np.repeat([0, 1, 2], [5, 3, 2])]
    assert sampling_covariance(SHARES) == pytest.approx(np.cov(people.T, bias=True))


def test_no_overlap_of_people_exceeds_the_bound() -> None:
    """Any overlap of six people's phases: the variance of any combination of the phases' means is
    at most that of independent phases with the sampling variance as often as one person may answer."""
    made_up = np.random.default_rng(5)
    for _ in range(200):
        answered = made_up.random((6, PHASES)) < 0.5  # person, phase
        most = int(answered.sum(axis=1).max())
        sizes = np.maximum(answered.sum(axis=0), 1)
        weights = made_up.normal(size=PHASES)
        exact = ((answered * weights / sizes).sum(axis=1) ** 2).sum()
        assert exact <= most * ((weights / sizes) ** 2 * answered.sum(axis=0)).sum() + 1e-12
