"""Which campaign is recommended, from made-up errors."""

from pathlib import Path
from typing import Any

import pytest

from privtally.cli.advice import advise
from privtally.errors import CampaignError
from privtally.lab.advise import (
    SECOND_PHASE,
    Adviser,
    Expected,
    best_of_each,
    choose,
    recommend,
    smallest,
    worst_ratios,
)
from privtally.lab.expectation import prior_populations
from privtally.lab.offers import Design, Question
from privtally.names import MechanismName
from privtally.plots.advice import draw_advice
from tests.support import schema_of

GUESSES: dict[MechanismName, float | None] = {"spl": None, "rs-fd": 0.25, "corr-rr": 0.5, "smp": 1.0}


def row(mechanism: MechanismName, *squares: float) -> Expected:
    mean = 1.0
    for square in squares:
        mean *= square
    share = 0.1 if mechanism == "corr-rr" else None
    design = Design(mechanism, phase1_share=share)
    return Expected(design, GUESSES[mechanism], mean ** (0.5 / len(squares)), squares)


def test_what_names_the_pivot_is_left_out_unless_it_may_be_known() -> None:
    rows = [row("smp", 0.1, 0.1), row("spl", 0.4, 0.4), row("rs-fd", 0.5, 0.3), row("corr-rr", 0.2, 0.2)]
    assert choose(rows, 1).design.mechanism == "smp"
    assert choose(rows, 0.5).design.mechanism == "corr-rr"
    assert choose(rows, 0.3).design.mechanism == "rs-fd"
    with pytest.raises(CampaignError, match=r"0\.25"):
        choose([own for own in rows if own.design.mechanism != "spl"], 0.01)
    assert choose(rows, 0.01).design.mechanism == "spl"


def test_never_far_behind_is_better_than_better_on_average() -> None:
    rows = [row("spl", 0.1, 0.3), row("rs-fd", 0.15, 0.21)]
    assert rows[0].error < rows[1].error
    assert choose(rows, 0.5).design.mechanism == "spl"
    assert choose([*rows, row("corr-rr", 0.11, 0.18)], 0.5).design.mechanism == "corr-rr"
    assert choose([row("spl", 0.1, 0.4), rows[1]], 0.5).design.mechanism == "rs-fd"


def test_a_second_phase_must_earn_its_trouble() -> None:
    rows = [row("spl", 0.3, 0.3), row("corr-rr", 0.295, 0.295)]
    assert choose(rows, 0.5).design.mechanism == "spl"
    assert choose([rows[0], row("corr-rr", 0.2, 0.2)], 0.5).design.mechanism == "corr-rr"


def test_how_far_behind_is_where_it_is_most_behind() -> None:
    assert worst_ratios([row("spl", 0.1, 0.3), row("rs-fd", 0.2, 0.2)]) == pytest.approx([1.5, 2])
    assert worst_ratios([row("spl", 0.1, 0.3)]) == [1]


def test_a_mechanism_is_shown_once_where_it_is_best() -> None:
    rows = [row("corr-rr", 0.3), row("spl", 0.25), row("corr-rr", 0.2)]
    assert [(each.design.mechanism, each.by_population) for each in best_of_each(rows)] == [
        ("corr-rr", (0.2,)),
        ("spl", (0.25,)),
    ]


@pytest.mark.parametrize(("needed", "found"), [(1, 1), (3, 3), (1_234, 1_300), (10**6, 10**6), (10**7, None)])
def test_the_smallest_value_that_is_enough(needed: int, found: int | None) -> None:
    """Rounded up to two digits, and by at most half a percent beyond."""
    value = smallest(lambda value: value >= needed, 1, 10**6)
    if found is None:
        assert value is None
    else:
        assert value is not None
        assert needed <= value <= 1.1 * found


def adviser(*sizes: int) -> Adviser:
    schema = schema_of(sizes)
    return Adviser(schema, list(prior_populations(schema).values()))


def test_what_is_needed_has_the_wanted_error() -> None:
    question = Question(1_000, 1.0)
    survey = adviser(4, 4, 4)
    users, epsilon = survey.people_for(0.02, question), survey.budget_for(0.02, question)
    assert users is not None
    assert epsilon is not None
    assert survey.recommend(Question(users, 1.0)).error <= 0.02 < survey.recommend(Question(users // 2, 1.0)).error
    assert survey.recommend(Question(1_000, epsilon)).error <= 0.02
    assert survey.recommend(Question(1_000, epsilon / 2)).error > 0.02


def test_where_the_pivot_may_be_known_saying_it_is_as_good_as_anything() -> None:
    """Next to SMP no recommendation is behind in any population."""
    for sizes in ((2, 2), (4, 4, 4, 4), (2, 3, 5), (8,) * 6):
        for users in (200, 20_000):
            for epsilon in (0.1, 1.0, 6.0):
                rows = adviser(*sizes).expect(Question(users, epsilon, 1.0))
                chosen = choose(rows, 1.0)
                smp = next(each for each in rows if each.design.mechanism == "smp")
                behind = [a / b for a, b in zip(chosen.by_population, smp.by_population, strict=True)]
                assert max(behind) <= 1 + 1e-9


@pytest.mark.parametrize("errors", [(0.09, 0.04), (0.2, 0.001), (0.061, 0.055)])
def test_errors_can_be_read_from_the_picture(errors: tuple[float, float]) -> None:
    """At least two plain numbers stand at the axis, however near the errors are to each other."""
    pytest.importorskip("matplotlib")
    curves = {"spl": list(zip((0.5, 2.0), errors, strict=True))}
    axis = draw_advice(curves, curves, 1.0).axes[0]
    low, high = axis.get_ylim()
    shown = [
        float(label.get_text().removeprefix("± "))
        for label in axis.get_yticklabels()
        if low <= label.get_position()[1] <= high
    ]
    assert len(shown) >= 2


def test_the_documents_state_what_a_second_phase_costs() -> None:
    docs = Path(__file__).parents[2] / "docs"
    cost = f"{SECOND_PHASE - 1:.0%}".replace("%", " %")
    for name in ("notes/accuracy.md", "decisions/0011-advice-in-closed-form.md"):
        assert cost in (docs / name).read_text(), name
    assert cost in str(advise.__doc__)


def test_nobody_can_be_advised_where_nothing_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privtally.lab.advise.offers", lambda *_: [])
    with pytest.raises(CampaignError):
        adviser(2, 2).expect(Question(10, 1.0))


@pytest.mark.parametrize("people", [900.5, True, "900"])
def test_a_number_of_people_that_is_none_is_refused(people: Any) -> None:
    with pytest.raises(CampaignError, match="whole number"):
        recommend(schema_of((2, 3)), 1.0, people)


def test_where_every_question_is_answered_there_is_nothing_to_guess() -> None:
    assert recommend(schema_of((3, 3)), 1.0, 1_000, max_pivot_guess=0.3).design.mechanism == "spl"
