"""Heat maps of two-way tables."""

from pathlib import Path

import numpy as np
import pytest

from privtally.collector.pairs import PairEstimate, PairEstimates
from privtally.plots.estimate import render
from privtally.plots.pair import draw, draw_all
from tests.plots.boxes import collisions
from tests.plots.contrast import contrast

pytest.importorskip("matplotlib")

from matplotlib.colors import to_rgb


def table(first: int, second: int, *, noisy: bool = False) -> PairEstimate:
    frequencies = np.random.default_rng(1).dirichlet(np.ones(first * second)).reshape(first, second)
    labels = tuple(f"a${code}" for code in range(first)), tuple(f"b_{code}" for code in range(second))
    rows = tuple(map(tuple, frequencies.tolist()))
    return PairEstimate(("first", "second"), labels, rows, rows, 1_234, noisy)


def test_every_cell_has_its_number() -> None:
    figure = draw(table(2, 3))
    panel = figure.axes[0]
    (image,) = panel.images
    percent = 100 * np.array(table(2, 3).frequencies)
    assert np.asarray(image.get_array()) == pytest.approx(percent)
    written = [text.get_text().split("\n")[0] for text in panel.texts]
    assert written == [f"{value:.1f} %" for value in percent.ravel()]
    assert [text.get_text() for text in panel.get_yticklabels()] == ["a$0", "a$1"]
    assert (panel.get_ylabel(), panel.get_xlabel()) == ("first", "second")
    assert render(figure, Path("x.svg")).startswith(b"<?xml")


def test_a_table_that_says_little_says_so_in_its_picture() -> None:
    assert "as large as" not in draw(table(2, 2)).get_suptitle()
    assert "± is as large as" in draw(table(2, 2, noisy=True)).get_suptitle().replace("\n", " ")


def test_of_very_many_labels_the_most_frequent_are_drawn() -> None:
    figure = draw(table(500, 3))
    (image,) = figure.axes[0].images
    assert np.asarray(image.get_array()).shape == (40, 3)
    assert not figure.axes[0].texts
    assert max(figure.get_size_inches()) < 30
    largest = 196 * np.array(table(500, 3).standard_errors).max()
    assert f"± {largest:.1f}" in figure.get_suptitle()  # cells without numbers
    assert "460 others" in figure.axes[0].get_ylabel()


def test_numbers_stand_out_from_their_cells() -> None:
    panel = draw(table(12, 12)).axes[0]
    (image,) = panel.images
    for text, value in zip(panel.texts, np.asarray(image.get_array()).ravel(), strict=True):
        assert contrast(to_rgb(text.get_color()), list(image.to_rgba(value))[:3]) > 4.5


def grid(labels: int, error: float) -> PairEstimates:
    """Tables of three questions, of which no report answers the last two together; one table has a connection."""
    even = np.full((labels, labels), 1 / labels**2)
    linked = np.eye(labels) / labels
    rows = {("a", "b"): linked, ("a", "c"): even}
    names = tuple(f"answer {code}" for code in range(labels))
    tables = tuple(
        PairEstimate(pair, (names, names), as_table(cells), as_table(np.full_like(cells, error)), 100)
        for pair, cells in rows.items()
    )
    return PairEstimates(tables, (("b", "c"),))


def as_table(cells: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, cells.tolist()))


def test_a_grid_has_a_panel_for_each_pair_and_greys_out_noise() -> None:
    figure = draw_all(grid(3, 0.01))
    linked, _, even, missing = figure.axes
    shown = np.asarray(linked.images[0].get_array(), dtype=float)
    assert shown == pytest.approx(100 * (np.eye(3) / 3 - 1 / 9))
    assert [text.get_text() for text in linked.texts][:2] == ["+22", "-11"]
    assert not even.texts
    assert [text.get_text() for text in missing.texts] == ["–"]  # no report has both
    assert missing.images[0].get_alpha() == 0
    assert not draw_all(grid(3, 0.5)).axes[0].texts  # all of it is noise
    assert [axes.get_visible() for axes in figure.axes] == [True, False, True, True]
    assert collisions(figure) == []
    assert render(figure, Path("x.png"))


def test_a_table_is_drawn_wherever_its_questions_first_appear() -> None:
    """The second table names questions in another order than they are shown in; its connection is no less."""
    names = ("no", "yes")
    even, linked = np.full((2, 2), 0.25), np.eye(2) / 2
    tables = [
        PairEstimate(pair, (names, names), as_table(cells), as_table(np.full((2, 2), 0.01)), 100)
        for pair, cells in ((("a", "c"), even), (("b", "c"), linked))
    ]
    panels = draw_all(PairEstimates(tuple(tables), (("a", "b"),))).axes
    assert sum(text.get_text() == "+25" for panel in panels for text in panel.texts) == 2


def test_numbers_stand_out_in_a_grid() -> None:
    panel = draw_all(grid(3, 0.01)).axes[0]
    (image,) = panel.images
    values = np.asarray(image.get_array()).ravel()
    for text, value in zip(panel.texts, values, strict=True):
        assert contrast(to_rgb(text.get_color()), list(image.to_rgba(value))[:3]) > 4.5


def test_a_grid_of_many_labels_has_the_most_frequent() -> None:
    figure = draw_all(grid(60, 0.0001))
    assert np.asarray(figure.axes[0].images[0].get_array()).shape == (16, 16)
