"""The check of advice against simulated campaigns: what it runs, and what its tables say."""

import numpy as np
import pytest
from benchmarks.advice import SETTINGS, advised, page, run, run_pairs

SOME = [SETTINGS[0], SETTINGS[-1]]


def test_there_are_many_settings_and_each_is_another() -> None:
    assert len(set(SETTINGS)) == len(SETTINGS) >= 60


def test_every_campaign_is_simulated() -> None:
    for setting in SOME:
        errors = run(setting, "unlike", 1, 1)
        assert len(errors) == len(advised(setting)[0])
        assert min(errors) > 0


def test_errors_as_expected_have_the_ratio_1_and_half_of_them_shows() -> None:
    expected = {setting: np.array([[row.error**2 for row in advised(setting)[0]]] * 3) for setting in SOME}
    text = page(SOME, expected, [("spl, 1", 1.0)])
    assert "| recommended | 2 | 1.00 | 1.00 to 1.00 |" in text
    assert "| two-way tables | 1 | 1.00 | 1.00 to 1.00 |" in text
    half = page(SOME, {setting: errors / 4 for setting, errors in expected.items()}, [("spl, 1", 1.0)])
    assert "| recommended | 2 | 0.50 | 0.50 to 0.50 |" in half


def test_two_way_tables_have_the_error_that_is_expected() -> None:
    """60 runs of 2,000 people know it to a few percent; a fixed seed."""
    for name, ratio in run_pairs(((2, 3, 2), 2_000, 2.0), 60, 5):
        assert ratio == pytest.approx(1, abs=0.1), name
