"""Panels are as tall as their labels need, and no text lies on another."""

from collections.abc import Callable

import numpy as np
import pytest
from msgspec import structs

from privtally.collector.pairs import PairEstimate
from privtally.documents.estimate import AttributeEstimate, Estimate, RoundEstimate

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure

from privtally.plots import pair
from privtally.plots.comparison import draw_comparison
from privtally.plots.estimate import ALONE_WIDTH, PANEL_WIDTH, columns_for, draw, rows_of
from privtally.plots.rounds import WIDTH as ROUNDS_WIDTH
from privtally.plots.rounds import draw_rounds
from privtally.plots.style import SIZE
from tests.plots.boxes import collisions
from tests.plots.test_estimate import estimate_of

QUESTION = "How often did you feel that you were unable to control the important things in your life last month?"
ANSWERS = (
    "never",
    "almost never, perhaps once or twice in the whole month",
    "fairly often",
    "Donaudampfschifffahrtsgesellschaftskapitän",
)
ROWS = [
    {"epsilon": epsilon, "name": name, "method": method}
    | {"percentage_points": points, "mse": points * 1e-5 / epsilon, "standard_error": 1e-6}
    for epsilon in (1, 2)
    for name, points in (
        ("corr-rr", 5.0),
        ("rs-rfd, 2 groups, 2 questions a report", 9.0),
        ("spl", 12.0),
        ("mine", 15.0),
    )
    for method in ("likelihood", "unbiased", "unbiased+simplex", "paper", "paper+simplex")
]


def asked(*labels: tuple[str, ...]) -> Estimate:
    """An estimate of questions with these labels."""
    attributes = {
        f"{number}. {QUESTION}": AttributeEstimate.of(
            own, np.full(len(own), 1 / len(own)), np.full(len(own), 0.02), intervals=True
        )
        for number, own in enumerate(labels, start=1)
    }
    return structs.replace(estimate_of({"q": ([0.5, 0.5], [0.1, 0.1])}), attributes=attributes)


def numbered(count: int) -> tuple[str, ...]:
    return tuple(f"answer {number}" for number in range(count))


def inches(figure: Figure) -> list[float]:
    return [axes.get_position().height * figure.get_figheight() for axes in figure.axes]


def test_a_panel_is_as_tall_as_its_own_labels_need() -> None:
    few, many, wrapping, cut = inches(draw(asked(numbered(3), numbered(9), ANSWERS, numbered(60)), top=9))
    assert many == pytest.approx(3 * few)
    assert few < wrapping < 3 * few
    assert many < cut < many + few  # the line that counts the others


def rounds_of(estimate: Estimate) -> Estimate:
    return structs.replace(estimate, rounds=tuple(RoundEstimate(own, (own,), estimate.attributes) for own in (1, 2)))


def pair_of(*labels: tuple[str, ...]) -> PairEstimate:
    first, second = labels
    table = ((1 / len(first) / len(second),) * len(second),) * len(first)
    return PairEstimate((f"1. {QUESTION}", f"2. {QUESTION}"), (first, second), table, table, 1_234, noisy=True)


DRAWN: dict[str, Callable[[], Figure]] = {
    "estimate": lambda: draw(asked(ANSWERS, numbered(9), ANSWERS), top=5),
    "one question": lambda: draw(asked(ANSWERS), {f"1. {QUESTION}": [0.25] * 4}),
    "rounds": lambda: draw_rounds(rounds_of(asked(ANSWERS, numbered(9)))),
    "pair": lambda: pair.draw(pair_of(ANSWERS, ANSWERS)),
    "large pair": lambda: pair.draw(pair_of(numbered(14), ANSWERS), top=13),
    "comparison": lambda: draw_comparison(ROWS),
    "comparison at one budget": lambda: draw_comparison([row for row in ROWS if row["epsilon"] == 1]),
}


@pytest.mark.parametrize("width", [PANEL_WIDTH * 2, ALONE_WIDTH, ROUNDS_WIDTH])
def test_letters_can_be_read_where_a_picture_has_600_pixels(width: float) -> None:
    assert SIZE / 72 / width * 600 >= 11


@pytest.mark.parametrize("name", DRAWN)
def test_no_text_lies_on_another_or_is_cut_off(name: str) -> None:
    assert collisions(DRAWN[name]()) == []


@pytest.mark.parametrize(("name", "module"), [("estimate", "estimate"), ("rounds", "rounds"), ("pair", "pair")])
def test_texts_that_are_not_wrapped_collide(name: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"privtally.plots.{module}.wrapped", lambda text, *_, **__: text)
    assert collisions(DRAWN[name]())


@pytest.mark.parametrize("panels", [1, 2, 3, 78, 300, 10_000])
@pytest.mark.parametrize("tallest", [1.5, 15.0, 200.0])
def test_there_are_as_many_rows_as_fit(panels: int, tallest: float) -> None:
    heights = [1.5] * (panels - 1) + [tallest]
    columns = columns_for(heights, 80)
    rows = rows_of(heights, columns, 80)
    assert 1 <= columns <= min(panels, 3)
    assert sum(rows) <= 80 or len(rows) == 1
    every = rows_of(heights, columns, 1e9)
    assert len(rows) == len(every) or sum(every[: len(rows) + 1]) > 80
    assert columns <= 2 or sum(rows_of(heights, 2, 1e9)) > 80
