"""The guide's table of two-way tables is what the benchmark prints, and simulated reports agree with it."""

from pathlib import Path

import pytest
from benchmarks.pairs import campaign_error, exact, measured, table


def test_the_guide_has_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs/notes/two-way-tables.md").read_text()
    assert "\n".join(table()) in page


def test_simulated_reports_have_the_variance() -> None:
    """20 runs, 16 cells each, at a fixed seed; SPL's is 3.4 times as large."""
    assert measured((4, 4), 2.0, "smp", runs=20) == pytest.approx(exact((4, 4), 2.0, "smp"), rel=0.35)
    assert exact((4, 4), 2.0, "spl") > 3 * exact((4, 4), 2.0, "smp")


def test_a_campaign_with_a_larger_budget_is_more_exact() -> None:
    assert campaign_error("smp", 6.0, 1) < campaign_error("smp", 0.5, 1)
