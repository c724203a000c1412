"""The guide's table of groups is what the benchmark prints, and simulated reports agree with it."""

from pathlib import Path

import pytest
from benchmarks.groups import campaign_errors, measured, tables, variance, variances


def test_the_guide_has_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs/notes/groups.md").read_text()
    assert "\n".join(variances()) in page


def test_simulated_reports_have_the_variance() -> None:
    """30 runs of 2,000 people, 24 frequencies each, at a fixed seed; that of one group is 1.8 times as large."""
    exact = variance(6, 4, 4, 3, hidden=True)
    assert measured((6, 4, 4), 3, "rs-fd", runs=30) == pytest.approx(exact, rel=0.2)
    assert variance(6, 4, 4, 1, hidden=True) > 1.5 * exact


def test_a_campaign_has_an_error_for_each_way_to_choose_groups() -> None:
    assert set(campaign_errors("rs-rfd", "dependent", 4.0, 1)) == {"auto", "alone", "one group"}


def test_real_tables_have_a_line_for_each_mechanism_and_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.groups.TABLE_RUNS", 1)
    monkeypatch.setattr("benchmarks.groups.TABLE_BUDGETS", (4.0,))
    rows = [f"{own % 2},{own % 2},{own % 3 % 2}" for own in range(60)]
    (tmp_path / "table.csv").write_text("\n".join(["a,b,c", *rows]))
    assert [line.partition(" |")[0] for line in tables(tmp_path)][2:] == [
        "| rs-rfd, 4",
        "| corr-rr, 4",
        "| cond-rr, 4",
    ]
