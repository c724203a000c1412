"""Rounds: the recursion against one large normal distribution, and what it does with and without change."""

from itertools import pairwise

import msgspec
import numpy as np
import pytest
from benchmarks.rounds import ESTIMATES, Case, campaign, drifting

from privtally.collector.estimate import estimate
from privtally.collector.estimate.added_error import add_error, root_of_answers
from privtally.collector.estimate.current import current_frequencies, current_likelihoods
from privtally.collector.estimate.history import in_rounds
from privtally.collector.estimate.likelihood import Score
from privtally.collector.estimate.local_level import Quadratic, Rounds
from privtally.collector.estimate.methods import unbiased
from privtally.collector.estimate.pooled import pool
from privtally.collector.tally import count_times
from privtally.documents.campaign import refresh
from privtally.documents.counts import Counts
from privtally.documents.estimate import load_estimate
from privtally.documents.plan import Plan
from privtally.exact.arrays import Floats
from tests.support import expected_counts, first_plan

LABELS = [("a", "b", "c"), ("d", "e")]
UNIFORM = np.array([1 / 3, 1 / 3, 1 / 3, 1 / 2, 1 / 2])


class Seen:
    """Frequencies seen with a normal error."""

    def __init__(self, frequencies: Floats, information: Floats) -> None:
        self._frequencies, self._information = frequencies, information

    def at(self, frequencies: Floats) -> Score:
        return self._information @ (self._frequencies - frequencies), self._information


def seen(seed: int, precision: float = 400.0) -> Seen:
    made_up = np.random.default_rng(seed)
    frequencies = np.concatenate([made_up.dirichlet([5, 5, 5]), made_up.dirichlet([5, 5])])
    mixed = np.eye(5) + 0.2 * made_up.normal(size=(5, 5))
    return Seen(frequencies, precision * mixed @ mixed.T)


def test_an_added_error_adds_its_covariance() -> None:
    made_up = np.random.default_rng(1)
    gradient, mixed = made_up.normal(size=3), made_up.normal(size=(3, 3))
    information, root = mixed @ mixed.T + np.eye(3), made_up.normal(size=(3, 2))
    wider, flatter, change = add_error((gradient, information), root)
    covariance = np.asarray(np.linalg.inv(information), dtype=np.float64)
    assert np.linalg.inv(flatter) == pytest.approx(covariance + root @ root.T)
    assert np.linalg.solve(flatter, wider) == pytest.approx(covariance @ gradient)  # the mean stays

    def log_density(value: Floats, variance: Floats) -> float:
        return float(-0.5 * value @ np.linalg.solve(variance, value) - 0.5 * np.linalg.slogdet(variance)[1])

    before = log_density(covariance @ gradient, covariance)
    assert change == pytest.approx(log_density(covariance @ gradient, covariance + root @ root.T) - before)


def test_the_root_of_answers_is_the_root_of_their_covariance() -> None:
    own = np.array([0.5, 0.3, 0.2])
    root = root_of_answers([own])
    assert root @ root.T == pytest.approx(np.diag(own) - np.outer(own, own))


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_other_rounds_say_what_one_large_normal_distribution_says(number: int) -> None:
    """All rounds stacked, their covariance growing by one change a round, given every round's own observation."""
    tracked = Rounds([[seen(seed)] for seed in range(4)], LABELS)
    factor, own = 0.05, len(tracked._root)
    change = factor * tracked._root @ tracked._root.T
    joint = np.zeros((4 * own, 4 * own))
    for one, said in enumerate(tracked._said):
        if one != number:
            joint[one * own : (one + 1) * own, one * own : (one + 1) * own] += said.information
    gradient = np.concatenate([said.gradient * (one != number) for one, said in enumerate(tracked._said)])
    for one, two in pairwise(range(4)):
        step = np.zeros((own, 4 * own))
        step[:, one * own : (one + 1) * own], step[:, two * own : (two + 1) * own] = -np.eye(own), np.eye(own)
        joint += step.T @ np.linalg.inv(change) @ step
    place = slice(number * own, (number + 1) * own)
    rest = np.delete(np.arange(4 * own), np.arange(4 * own)[place])
    backed = joint[place][:, rest] @ np.linalg.inv(joint[np.ix_(rest, rest)])
    found = tracked._others(number, factor)
    assert found.information == pytest.approx(joint[place, place] - backed @ joint[rest][:, place], rel=1e-6, abs=1e-6)
    assert found.gradient == pytest.approx(gradient[place] - backed @ gradient[rest], rel=1e-6, abs=1e-6)


def test_without_change_all_rounds_pool() -> None:
    """The same frequencies in all rounds: the factor 0 gives what one round of all reports gives."""
    same = seen(1)
    tracked = Rounds([[same]] * 3, LABELS)
    together = pool([same] * 3, LABELS)
    assert pool(tracked.about(2, 0.0), LABELS).mean == pytest.approx(together.mean, abs=1e-6)
    assert tracked.estimate(2).mean == pytest.approx(together.mean, abs=0.01)
    assert float(tracked.weights @ tracked.changes) < 0.3


def test_large_changes_make_other_rounds_fade() -> None:
    def moved(share: float) -> Seen:
        return Seen(np.array([share, 0.9 - share, 0.1, share, 1 - share]), 1e5 * np.eye(5))

    tracked = Rounds([[moved(share)] for share in (0.1, 0.7, 0.2, 0.8)], LABELS)
    alone = pool([moved(0.8)], LABELS)
    assert tracked.changes.min() > 0.1
    assert tracked.estimate(3).mean == pytest.approx(alone.mean, abs=1e-3)
    assert tracked.estimate(0).mean[0] == pytest.approx(0.1, abs=0.01)


def test_quadratics_add() -> None:
    one = Quadratic(np.ones(2), np.eye(2), 1.0) + Quadratic(np.ones(2), np.eye(2), 2.0)
    assert (one.gradient.tolist(), one.information.tolist(), one.constant) == ([2, 2], [[2, 0], [0, 2]], 3.0)


def test_drift_is_followed_better_than_without_memory_and_than_by_pooling() -> None:
    case = Case("smp", 6, 3, 2.0, 2_000, 4, 0.2)
    squares: dict[str, list[float]] = {}
    for run in range(4):
        generator = np.random.default_rng([5, run])
        laws = drifting(case, generator)
        history = campaign(case, laws, generator)
        for name, method in ESTIMATES.items():
            off = np.array(method(history).frequencies) - laws[-1]
            squares.setdefault(name, []).append(float(np.mean(off**2)))
    errors = {name: np.sqrt(np.mean(own)) for name, own in squares.items()}
    assert errors["rounds"] < 0.97 * min(errors["all alike"], errors["last alone"], errors["first alone"])


CASE = Case("rs-rfd", 3, 3, 3.0, 900, 2, 0.3)
CAMPAIGN = campaign(CASE, drifting(CASE, np.random.default_rng(1)), np.random.default_rng(2))


@pytest.mark.parametrize("method", ["pooled", "unbiased", "paper"])
def test_an_estimate_is_the_last_rounds(method: str) -> None:
    found = estimate(CAMPAIGN, method, by_round=True)  # type: ignore[arg-type]
    assert load_estimate(found.dump()) == found
    assert [(own.round, own.phases) for own in found.rounds or ()] == [(1, (1, 2)), (2, (3, 4))]
    last = (found.rounds or ())[-1]
    assert all(last.attributes[name].frequencies == own.frequencies for name, own in found.attributes.items())
    if method != "pooled":
        alone = estimate(in_rounds(CAMPAIGN)[-1], method)  # type: ignore[arg-type]
        assert alone.attributes == found.attributes
    lines = found.to_csv().decode().splitlines()
    assert lines[0].startswith("round,")
    assert len(lines) == 1 + 2 * 9


def test_the_next_phase_is_learned_from_rounds_that_fade() -> None:
    one = in_rounds(CAMPAIGN)[0]
    assert all(map(np.array_equal, current_frequencies(one), unbiased(one, []).frequencies))
    last = estimate(CAMPAIGN).attributes.values()
    assert [tuple(own) for own in current_frequencies(CAMPAIGN)] == [own.frequencies for own in last]
    assert len(current_likelihoods(one, (0, 1))) == 2
    labels = [attribute.labels for attribute in CAMPAIGN[0][0].schema.attributes]
    found = pool(current_likelihoods(CAMPAIGN, (0, 1, 2)), labels)
    assert found.mean == pytest.approx(np.concatenate(current_frequencies(CAMPAIGN)), abs=0.02)


def test_more_labels_than_matrices_take_are_estimated_round_by_round() -> None:
    first = first_plan((1_001,), 8.0)
    again = refresh([first])
    answers = np.zeros(1_001)
    answers[:4] = 0.25
    reports = {plan: expected_counts_of(plan, answers) for plan in (first, again)}
    found = estimate([(plan, reports[plan]) for plan in (first, again)], by_round=True)
    assert found.attributes["q0"].frequencies[0] == pytest.approx(0.25, abs=0.05)
    assert found.changes is msgspec.UNSET
    assert any("alone" in note for note in found.notes)
    assert any("not tested" in note for note in found.notes)


def expected_counts_of(plan: Plan, answers: Floats) -> Counts:
    """Counts of one attribute, as expected."""
    times = np.round(20_000 * plan.sampler.parts[0].asked[0].push(answers)).astype(np.int64)
    return count_times(plan, np.arange(len(times))[:, None], times)


def test_expected_counts_of_unchanged_answers_show_no_change() -> None:
    plans = [first_plan((3, 2), 2.0, "smp")]
    plans.append(refresh(plans))
    answers = np.array([[0.3, 0.1], [0.2, 0.1], [0.2, 0.1]])
    history = [(plan, expected_counts(plan, answers, 3_000)) for plan in plans]
    found = estimate(history, by_round=True)
    first, last = found.rounds or ()
    for name, own in first.attributes.items():
        assert own.frequencies == pytest.approx(last.attributes[name].frequencies, abs=2e-3)
    assert all(change.p_value > 0.99 for change in (found.changes or {}).values())


def test_wider_errors_widen_estimates_and_leave_the_size_of_changes() -> None:
    rounds = [[seen(seed)] for seed in range(3)]
    wider = [[seen(seed, precision=200.0)] for seed in range(3)]
    plain, allowed = Rounds(rounds, LABELS), Rounds(rounds, LABELS, wider)
    assert np.array_equal(plain.weights, allowed.weights)
    assert np.trace(allowed.estimate(1).covariance) > 1.1 * np.trace(plain.estimate(1).covariance)
