"""Which campaign is recommended, from made-up errors."""

from pathlib import Path

import pytest

from privtally.lab.advise import SECOND_PHASE, recommend, worst_ratios
from privtally.lab.expectation import Expected, Question
from privtally.names import MechanismName
from privtally.plots.advice import draw_advice


def row(mechanism: MechanismName, *squares: float) -> Expected:
    mean = 1.0
    for square in squares:
        mean *= square
    share = 0.1 if mechanism == "corr-rr" else None
    return Expected(mechanism, "pooled", share, mean ** (0.5 / len(squares)), squares)


def asked(max_pivot_guess: float) -> Question:
    return Question(1_000, 1.0, max_pivot_guess, 4, 1)


def test_what_names_the_pivot_is_left_out_unless_it_may_be_known() -> None:
    rows = [row("smp", 0.1, 0.1), row("rs-rfd", 0.2, 0.2), row("spl", 0.4, 0.4), row("rs-fd", 0.5, 0.3)]
    assert recommend(rows, asked(0.5)).mechanism == "rs-fd"
    assert recommend(rows, asked(1)).mechanism == "smp"


def test_never_far_behind_is_better_than_better_on_average() -> None:
    rows = [row("spl", 0.1, 0.3), row("rs-fd", 0.15, 0.21)]
    assert rows[0].error < rows[1].error
    assert recommend(rows, asked(0.5)).mechanism == "spl"
    assert recommend([*rows, row("corr-rr", 0.11, 0.18)], asked(0.5)).mechanism == "corr-rr"
    assert recommend([row("spl", 0.1, 0.4), rows[1]], asked(0.5)).mechanism == "rs-fd"


def test_another_campaign_must_beat_smp_everywhere() -> None:
    smp = row("smp", 0.3, 0.3)
    assert recommend([smp, row("spl", 0.29, 0.29)], asked(1)).mechanism == "spl"
    assert recommend([smp, row("spl", 0.01, 0.31)], asked(1)).mechanism == "smp"


def test_a_second_phase_must_earn_its_trouble() -> None:
    rows = [row("spl", 0.3, 0.3), row("corr-rr", 0.295, 0.295)]
    assert recommend(rows, asked(0.5)).mechanism == "spl"
    assert recommend([rows[0], row("corr-rr", 0.2, 0.2)], asked(0.5)).mechanism == "corr-rr"


def test_how_far_behind_is_where_it_is_most_behind() -> None:
    assert worst_ratios([row("spl", 0.1, 0.3), row("rs-fd", 0.2, 0.2)]) == pytest.approx([1.5, 2])
    assert worst_ratios([row("spl", 0.1, 0.3)]) == [1]


@pytest.mark.parametrize("errors", [(0.09, 0.04), (0.2, 0.001), (0.061, 0.055)])
def test_errors_can_be_read_from_the_picture(errors: tuple[float, float]) -> None:
    """At least two plain numbers stand at the axis, however near the errors are to each other."""
    pytest.importorskip("matplotlib")
    curves = {"spl": list(zip((0.5, 2.0), errors, strict=True))}
    axis = draw_advice(curves, curves, 1.0).axes[0]
    low, high = axis.get_ylim()
    shown = [float(label.get_text()) for label in axis.get_yticklabels() if low <= label.get_position()[1] <= high]
    assert len(shown) >= 2


def test_the_documents_state_what_a_second_phase_costs() -> None:
    docs = Path(__file__).parents[2] / "docs"
    cost = f"{SECOND_PHASE - 1:.0%}".replace("%", " %")
    for name, words in (
        ("guide/accuracy.md", f"counts as {cost} further behind"),
        ("reference/commands.md", f"counting as {cost} further behind"),
        ("decisions/0011-advice-with-the-same-noise.md", f"charged {cost} for their trouble"),
    ):
        assert words in " ".join((docs / name).read_text().split()), name
