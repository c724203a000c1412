"""The test for change: its distribution, its size, and the power that it states; a test too eager is seen."""

from functools import lru_cache

import numpy as np
import pytest
from scipy import stats

from privtally.collector.estimate import pooled
from privtally.collector.estimate.chi_square import critical, seen_shift, tail
from privtally.collector.estimate.drift import _holm, about_changes, changes
from privtally.collector.estimate.history import in_rounds
from privtally.collector.tally import count_times
from privtally.documents.campaign import refresh
from privtally.documents.counts import Counts
from privtally.documents.estimate import Change
from privtally.documents.plan import Plan
from privtally.errors import EstimateError
from tests.support import first_plan

RUNS, PEOPLE, EPSILON = 250, 1_000, 2.0
SHARES = np.array([0.4, 0.3, 0.2, 0.1])


@pytest.mark.parametrize("degrees", [1, 2, 7, 40, 900])
@pytest.mark.parametrize("times", [0.0, 0.3, 1.0, 1.5, 4.0])
def test_tails_are_those_of_chi_square(degrees: int, times: float) -> None:
    value = degrees * times
    assert tail(value, degrees) == pytest.approx(stats.chi2.sf(value, degrees), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("degrees", [1, 6, 60])
def test_critical_values_and_power(degrees: int) -> None:
    bound = critical(0.01, degrees)
    assert bound == pytest.approx(stats.chi2.isf(0.01, degrees), rel=1e-9)
    shift = seen_shift(0.01, degrees, 0.8)
    assert stats.ncx2.sf(bound, degrees, shift) == pytest.approx(0.8, abs=1e-8)


def test_holm_corrects_for_the_number_of_attributes() -> None:
    assert _holm({"a": 0.01, "b": 0.04, "c": 0.03}) == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06})


def phases(plans: list[Plan], laws: list[np.ndarray], made_up: np.random.Generator) -> list[tuple[Plan, Counts]]:
    """One question in several rounds: counts drawn from their law."""
    channel = plans[0].sampler.parts[0].asked[0]
    codes = np.arange(4)[:, None]
    return [
        (plan, count_times(plan, codes, made_up.multinomial(PEOPLE, channel.push(law))))
        for plan, law in zip(plans, laws, strict=True)
    ]


@lru_cache
def p_values(moved: float) -> np.ndarray:
    """p-values of campaigns of three rounds, in the last of which the first answer is more frequent by so much."""
    plans = [first_plan((4,), EPSILON)]
    plans += [refresh(plans)]
    plans += [refresh(plans)]
    made_up = np.random.default_rng(7)
    last = SHARES + moved * np.array([1, -1 / 3, -1 / 3, -1 / 3])
    runs = [phases(plans, [SHARES, SHARES, last], made_up) for _ in range(RUNS)]
    return np.array([changes(in_rounds(run))["q0"].p_value for run in runs])


def test_the_test_has_its_size_and_its_power(monkeypatch: pytest.MonkeyPatch) -> None:
    """Binomial bounds with a false alarm in 1e-6; a test of four times the size is outside.

    What all rounds say together, near which the test looks, has normal components only, which takes less time.
    """
    monkeypatch.setattr(pooled, "MOST_DIRICHLET", 0)
    least, most = stats.binom.ppf(5e-7, RUNS, 0.05), stats.binom.isf(5e-7, RUNS, 0.05)
    false_alarms = int((p_values(0.0) < 0.05).sum())
    assert least <= false_alarms <= most
    assert not least <= int((p_values(0.0) < 0.2).sum()) <= most
    plans = [first_plan((4,), EPSILON)]
    plans += [refresh(plans)]
    plans += [refresh(plans)]
    visible = changes(in_rounds(phases(plans, [SHARES] * 3, np.random.default_rng(1))))["q0"].visible
    seen = int((p_values(round(visible, 3)) < 0.05).sum())
    assert seen >= stats.binom.ppf(5e-7, RUNS, 0.75)
    assert seen <= stats.binom.isf(5e-7, RUNS, 0.9)


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
    with pytest.raises(EstimateError, match="1,000"):
        changes([[(large, counts)], [(large, counts)]])
