"""Rounds: the model of changes against its dense form, the test for change, its size and the power that it states."""

from functools import lru_cache

import numpy as np
import pytest
from scipy import stats

from privtally.collector.estimate import changes, estimate, one_way
from privtally.collector.rounds import (
    Track,
    about_changes,
    changes_of,
    drift_of,
    in_rounds,
    repeats,
    sampling_covariance,
    seen_shift,
    tails,
)
from privtally.collector.tally import count, count_times
from privtally.documents.campaign import refresh
from privtally.documents.counts import Counts
from privtally.documents.estimate import Change
from privtally.documents.plan import Plan
from privtally.errors import EstimateError
from privtally.lab.population import seeded
from privtally.names import Method
from privtally.participant.respond import respond_many
from privtally.schema import Records
from tests.support import first_plan

RUNS, PEOPLE, EPSILON = 250, 1_000, 2.0
SHARES = np.array([0.4, 0.3, 0.2, 0.1])


@pytest.mark.parametrize("degrees", [1, 2, 7, 40, 900])
@pytest.mark.parametrize("times", [0.0, 0.3, 1.0, 1.5, 4.0])
def test_tails_are_those_of_chi_square(degrees: int, times: float) -> None:
    value = degrees * times
    wanted = stats.chi2.sf(value, [degrees, degrees + 2, degrees + 4])
    assert tails(value, degrees, 2) == pytest.approx(wanted, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("degrees", [1, 6, 60])
def test_a_shift_is_seen_with_the_power_that_is_wanted(degrees: int) -> None:
    shift = seen_shift(0.01, degrees, 0.8)
    assert stats.ncx2.sf(stats.chi2.isf(0.01, degrees), degrees, shift) == pytest.approx(0.8, abs=1e-8)


def made_up_track(rounds: int, seed: int = 1) -> Track:
    made_up = np.random.default_rng(seed)
    roots = [made_up.normal(size=(3, 3)) / 20 for _ in range(rounds)]
    inside = np.eye(3) - 1 / 3
    points = [made_up.dirichlet(np.full(3, 20.0)) for _ in range(rounds)]
    return Track.of(points, [inside @ (root @ root.T + np.eye(3) / 900) @ inside for root in roots])


def dense(track: Track, change: float) -> tuple[np.ndarray, np.ndarray]:
    """All rounds' points and the covariance of their errors, and of the changes since the first round."""
    many, width = len(track.points), len(track.step)
    spread = np.zeros((many * width, many * width))
    for one in range(many):
        for two in range(many):
            block = min(one, two) * change * track.step + (track.covariances[one] if one == two else 0)
            spread[one * width : (one + 1) * width, two * width : (two + 1) * width] = block
    return np.concatenate(list(track.points)), spread


@pytest.mark.parametrize("rounds", [2, 3, 5])
@pytest.mark.parametrize("change", [0.0, 1e-3, 0.1])
def test_likelihood_and_smoother_are_those_of_the_dense_model(rounds: int, change: float) -> None:
    track = made_up_track(rounds)
    points, spread = dense(track, change)
    width = len(track.step)
    differences = np.hstack([np.tile(-np.eye(width), (rounds - 1, 1)), np.eye(width * (rounds - 1))])
    law = stats.multivariate_normal(np.zeros(width * (rounds - 1)), differences @ spread @ differences.T)
    constant = -0.5 * width * (rounds - 1) * np.log(2 * np.pi)
    assert track.log_likelihood(change) + constant == pytest.approx(law.logpdf(differences @ points))
    level = np.tile(np.eye(width), (rounds, 1))
    precision = np.linalg.inv(spread)
    first = np.linalg.inv(level.T @ precision @ level)  # of the first round's frequencies, nothing known before
    for number in range(rounds):
        found, covariance = track.smoothed(number, change)
        # The best linear estimate of the frequencies of a round, which differ from the first by their changes.
        moved = np.concatenate([min(number, one) * change * track.step for one in range(rounds)], axis=1)
        start = first @ level.T @ precision @ points
        wanted = start + moved @ precision @ (points - level @ start)
        assert track.basis.T @ (found - 1 / 3) == pytest.approx(wanted)
        off = np.eye(width) - moved @ precision @ level
        left = number * change * track.step - moved @ precision @ moved.T + off @ first @ off.T
        assert track.basis.T @ covariance @ track.basis == pytest.approx(left)


def test_what_does_not_change_is_found_not_to_and_what_does_is() -> None:
    spread = (np.eye(4) - 0.25) / 40_000
    made_up = np.random.default_rng(3)
    still = [SHARES + 1e-3 * (noise - noise.mean()) for noise in made_up.normal(size=(6, 4))]
    moving = [np.roll(SHARES, number) for number in range(6)]
    calm, moved = (drift_of([Track.of(points, [spread] * 6)]) for points in (still, moving))
    assert calm.best == 0
    assert calm.most < 1e-3
    assert moved.best > 0.05
    track = Track.of(moving, [spread] * 6)
    assert track.discount(0, 1, moved.best) < 0.01
    assert track.discount(0, 1, 0.0) == track.discount(2, 2, moved.best) == 1
    found, _ = track.smoothed(2, moved.most)
    assert found == pytest.approx(moving[2], abs=0.01)


def phases(plans: list[Plan], laws: list[np.ndarray], made_up: np.random.Generator) -> list[tuple[Plan, Counts]]:
    """One question in several rounds: counts drawn from their law."""
    channel = plans[0].mechanism.parts[0].asked[0]
    codes = np.arange(4)[:, None]
    return [
        (plan, count_times(plan, codes, made_up.multinomial(PEOPLE, channel.push(law))))
        for plan, law in zip(plans, laws, strict=True)
    ]


def plans_of(size: int, epsilon: float, rounds: int, answers: int = 1) -> list[Plan]:
    """The plans of a campaign that asks one question anew in every round."""
    plans = [first_plan((size,), epsilon, answers=answers)]
    for _ in range(rounds - 1):
        plans.append(refresh(plans))
    return plans


def three_rounds() -> list[Plan]:
    return plans_of(4, EPSILON, 3)


@lru_cache
def p_values(moved: float) -> np.ndarray:
    """p-values of campaigns of three rounds, in the last of which the first answer is more frequent by so much."""
    plans, made_up = three_rounds(), np.random.default_rng(7)
    last = SHARES + moved * np.array([1, -1 / 3, -1 / 3, -1 / 3])
    runs = [phases(plans, [SHARES, SHARES, last], made_up) for _ in range(RUNS)]
    return np.array([changes(in_rounds(run))["q0"].p_value for run in runs])


def test_the_test_has_its_size_and_its_power() -> None:
    """Binomial bounds with a false alarm in 1e-6; a test of four times the size is outside."""
    least, most = stats.binom.ppf(5e-7, RUNS, 0.05), stats.binom.isf(5e-7, RUNS, 0.05)
    assert least <= int((p_values(0.0) < 0.05).sum()) <= most
    assert not least <= int((p_values(0.0) < 0.2).sum()) <= most
    visible = changes(in_rounds(phases(three_rounds(), [SHARES] * 3, np.random.default_rng(1))))["q0"].visible
    seen = int((p_values(round(visible, 3)) < 0.05).sum())
    assert stats.binom.ppf(5e-7, RUNS, 0.75) <= seen <= stats.binom.isf(5e-7, RUNS, 0.9)


def test_p_values_are_corrected_for_the_number_of_attributes() -> None:
    """Holm: the smallest p-value three times, the next twice, never below the one before."""
    spread = (np.eye(2) - 0.5) / 500
    tracks = {name: Track.of([np.array([0.5, 0.5]), np.array([0.5 + off, 0.5 - off])], [spread] * 2) for name, off in (("a", 0.09), ("b", 0.06), ("c", 0.062))}  # fmt: skip  # noqa: E501
    alone = {name: changes_of({name: track})[name].p_value for name, track in tracks.items()}
    together = changes_of(tracks)
    assert together["a"].p_value == pytest.approx(3 * alone["a"])
    assert together["c"].p_value == pytest.approx(2 * alone["c"])
    assert together["b"].p_value == pytest.approx(max(2 * alone["c"], alone["b"]))


@pytest.mark.parametrize("moved", [0.0, 0.15])
def test_intervals_of_a_round_hold_and_other_rounds_narrow_them(moved: float) -> None:
    """The last of three rounds. If 95 % of the intervals hold, fewer than the bound do with a chance of 1e-6."""
    plans, made_up, runs = three_rounds(), np.random.default_rng(5), 150
    last = SHARES + moved * np.array([1, -1 / 3, -1 / 3, -1 / 3])
    held, widths = np.zeros(4), []
    for _ in range(runs):
        history = phases(plans, [SHARES, SHARES, last], made_up)
        found, own = estimate(history).attributes["q0"], estimate(history[:1]).attributes["q0"]
        held += (np.array(found.low) <= last) & (last <= np.array(found.high))
        widths.append(np.mean(found.half_widths) / np.mean(own.half_widths))
    assert held.min() >= stats.binom.ppf(1e-6, runs, 0.95)
    assert np.mean(widths) < (0.93 if moved == 0 else 1.02)


def test_one_question_that_changed_among_many_that_did_not_takes_no_other_rounds() -> None:
    """Twenty questions, of which the first changes by 20 points: its intervals hold as if it had been asked alone.

    If 95 % hold, fewer than the bound of 30 runs do with a chance of 1e-6; pooled with the others a half did.
    """
    first = first_plan((4,) * 20, 2.0, "smp")
    plans, made_up, runs, held = [first, refresh([first])], np.random.default_rng(9), 30, 0
    moved = SHARES + np.array([0.2, -0.2 / 3, -0.2 / 3, -0.2 / 3])
    for _ in range(runs):
        history = []
        for plan, law in zip(plans, (SHARES, moved), strict=True):
            part = plan.mechanism.parts[0]
            many = made_up.multinomial(20_000, [1 / 20] * 20)
            rows, times = [], []
            for own, channel in enumerate(part.asked):
                seen = made_up.multinomial(many[own], channel.push(law if own == 0 else SHARES))
                for code, number in enumerate(seen.tolist()):
                    row = list(part.answers)
                    row[own] = code
                    rows.append(row)
                    times.append(number)
            kept = np.array(times) > 0
            history.append((plan, count_times(plan, np.array(rows)[kept], np.array(times)[kept])))
        found = estimate(history).attributes["q0"]
        held += (found.low or ())[0] <= moved[0] <= (found.high or ())[0]
    assert held >= stats.binom.ppf(1e-6, runs, 0.95)


def test_notes_name_what_changed_and_what_would_have_been_seen() -> None:
    named = about_changes({"a": Change(1e-4, 0.05), "b": Change(0.5, 0.08)})
    assert "'a'" in named[0]
    assert not any("'b'" in note for note in named)
    assert "5.0 to 8.0" in named[-1]
    nothing = about_changes({"a": Change(0.4, 0.05), "b": Change(0.5, 0.05)})
    assert "0.4" in nothing[0]
    assert "5.0" in nothing[-1]
    many = about_changes({f"q{own}": Change(1e-4, 0.05) for own in range(9)})
    assert "5 more" in many[4]


def test_rounds_that_do_not_determine_the_answers_are_not_tested() -> None:
    large = first_plan((1_001,), 1.0)
    counts = count_times(large, np.zeros((1, 1), dtype=np.int64), np.array([10]))
    with pytest.raises(EstimateError, match="too many"):
        changes([[(large, counts)], [(large, counts)]])


RETURNING_RUNS, RETURNING_PEOPLE, RETURNING_EPSILON, PHASES = 150, 300, 6.0, 4
RETURNING_SHARES = np.array([0.5, 0.3, 0.2])
LEAST = float(stats.binom.ppf(1e-7, RETURNING_RUNS, 0.95))
"""Intervals that hold 95 % of the time hold less often in these runs with a chance of 1e-7."""


@lru_cache
def campaigns(answers: int, *, returning: bool) -> list[list[tuple[Plan, Counts]]]:
    """Phases of one question that is hardly randomised: nearly all of the error is that of the sample of people."""
    plans = plans_of(3, RETURNING_EPSILON, PHASES, answers)
    made_up, source, found = np.random.default_rng(4), seeded(4), []
    for _ in range(RETURNING_RUNS):
        people = made_up.choice(3, (1 if returning else PHASES, RETURNING_PEOPLE), p=RETURNING_SHARES).astype(np.uint8)
        phases = np.broadcast_to(people, (PHASES, RETURNING_PEOPLE))
        found.append(
            [
                (plan, count(plan, respond_many(plan, Records(plan.schema, codes[:, None]), source).codes))
                for plan, codes in zip(plans, phases, strict=True)
            ]
        )
    return found


def held(method: Method, answers: int, *, returning: bool) -> int:
    """In how many runs the interval of a frequency, all phases taken together, holds."""

    found = [one_way(history, method) for history in campaigns(answers, returning=returning)]
    gaps = [(own.alone or own).frequencies[0][0] - RETURNING_SHARES[0] for own in found]
    return int(np.sum(np.abs(gaps) < 1.96 * np.sqrt([own.variances[0][0] for own in found])))


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
    assert sampling_covariance(RETURNING_SHARES) == pytest.approx(np.cov(people.T, bias=True))
