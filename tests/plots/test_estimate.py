"""The picture of an estimate: the same intervals as in its table, and a size that can be looked at."""

import io
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from privtally.collector.summaries import top
from privtally.documents.estimate import AttributeEstimate, Estimate, Frequencies, PhaseUsed, Provenance

pytest.importorskip("matplotlib")

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.image import imread

from privtally.plots.estimate import DOTS_AN_INCH, MOST_INCHES, check_drawing, draw, render


def estimate_of(attributes: dict[str, tuple[list[float], list[float]]], *, biased: bool = False) -> Estimate:
    used = PhaseUsed(phase=1, epsilon=1.0, reports=100, plan="0" * 64, counts="1" * 64)
    estimates = {}
    for name, (frequencies, errors) in attributes.items():
        labels = tuple(f"a{code}" for code in range(len(frequencies)))
        numbers = np.array(frequencies), np.array(errors)
        estimates[name] = AttributeEstimate.of(labels, *numbers, intervals=not biased)
    return Estimate(
        attributes=estimates,
        method="paper" if biased else "unbiased",
        biased=biased,
        notes=(),
        provenance=Provenance(campaign="2" * 64, mechanism="spl", phases=(used,), software="tests"),
    )


def bars(panel: Axes) -> list[tuple[float, float]]:
    """Where the error bars of a panel begin and end, in percent."""
    (container,) = (box for box in panel.containers if isinstance(box, ErrorbarContainer))
    return ends(container)


def ends(container: ErrorbarContainer) -> list[tuple[float, float]]:
    return [(float(line[0, 0]), float(line[1, 0])) for line in container.lines[2][0].get_segments()]


def test_a_picture_shows_the_intervals_of_the_estimate() -> None:
    estimate = estimate_of({"q": ([-0.5, 0.4, 1.1], [0.1, 0.3, 0.02])})
    attribute = estimate.attributes["q"]
    assert isinstance(attribute.low, tuple)
    assert isinstance(attribute.high, tuple)
    (panel,) = draw(estimate).axes
    for found, low, high in zip(bars(panel), attribute.low, attribute.high, strict=True):
        assert found == pytest.approx((100 * low, 100 * high))


def test_a_biased_estimate_shows_its_standard_errors_and_no_interval() -> None:
    (panel,) = draw(estimate_of({"q": ([0.6, 0.4], [0.1, 0.2])}, biased=True)).axes
    assert bars(panel) == [pytest.approx((50, 70)), pytest.approx((20, 60))]
    assert not any("95" in label for label in panel.get_legend_handles_labels()[1])


def test_questions_share_a_scale_unless_all_bars_of_one_would_be_slivers() -> None:
    some = {"few": ([0.6, 0.4], [0.01] * 2), "some": ([0.25] * 4, [0.01] * 4)}
    alike = draw(estimate_of(some))
    assert len({panel.get_xlim() for panel in alike.axes}) == 1
    assert "scale" not in alike.get_suptitle()
    figure = draw(estimate_of({**some, "many": ([0.05] * 20, [0.001] * 20)}))
    few, middle, many = (panel.get_xlim() for panel in figure.axes)
    assert few == middle
    assert many[1] < 6
    assert "scale" in figure.get_suptitle()


@pytest.mark.parametrize(("attributes", "drawn"), [(1, 1), (4, 4), (9, 6)])
def test_a_picture_is_never_taller_than_can_be_looked_at(
    attributes: int, drawn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MOST_INCHES * DOTS_AN_INCH <= 12_000
    monkeypatch.setattr("privtally.plots.estimate.MOST_INCHES", 8.0)
    figure = draw(estimate_of({f"q{own}": ([0.2] * 5, [0.01] * 5) for own in range(attributes)}))
    assert figure.get_figheight() <= 8
    assert sum(bool(panel.has_data()) for panel in figure.axes) == drawn
    assert (f"the first {drawn} of {attributes}" in figure.get_suptitle()) == (drawn < attributes)


def test_suffixes_in_capitals_are_known() -> None:
    check_drawing(Path("x.PNG"))
    figure = draw(estimate_of({"q": ([0.6, 0.4], [0.1, 0.2])}))
    assert imread(io.BytesIO(render(figure, Path("x.PNG"))), "png").size
    assert b"<svg" in render(figure, Path("x.SVG"))


def test_a_picture_shows_shares_among_those_who_answered() -> None:
    estimate = estimate_of({"plain": ([0.5, 0.5], [0.05] * 2), "q": ([0.5, 0.3, 0.2], [0.05] * 3)})
    answered = Frequencies(("a0", "a1"), (0.625, 0.375), (0.04, 0.04), (0.5, 0.3), (0.7, 0.45))
    attribute = structs.replace(estimate.attributes["q"], answered=answered)
    figure = draw(structs.replace(estimate, attributes={**estimate.attributes, "q": attribute}))
    _, panel = figure.axes
    everybody, those = (box for box in panel.containers if isinstance(box, ErrorbarContainer))
    assert len(everybody.lines[2][0].get_segments()) == 3
    assert ends(those) == [pytest.approx((50, 70)), pytest.approx((30, 45))]
    (legend,) = figure.legends
    assert any("answered" in text.get_text() for text in legend.get_texts())


def test_the_most_frequent_labels_are_drawn_alone_with_their_own_intervals() -> None:
    frequencies = [0.1, 0.4, 0.05, 0.3, 0.15]
    estimate = estimate_of({"q": (frequencies, [0.01] * 5)})
    chosen = top(estimate, estimate, 3)
    (panel,) = draw(chosen).axes
    assert [label.get_text() for label in panel.get_yticklabels()] == ["a1", "a3", "a4"]
    found = chosen.attributes["q"]
    for bar, low, high in zip(bars(panel), found.low, found.high, strict=True):
        assert bar == pytest.approx((100 * low, 100 * high))
    assert [note.get_text() for note in panel.texts] == ["… and 2 others"]


def test_top_draws_the_most_frequent_labels_and_counts_the_others() -> None:
    estimate = estimate_of({"many": ([0.01] * 30 + [0.4, 0.3], [0.01] * 32), "few": ([0.5, 0.5], [0.01] * 2)})
    many, few = draw(estimate, top=3).axes
    assert [label.get_text() for label in many.get_yticklabels()] == ["a0", "a30", "a31"]
    assert [note.get_text() for note in many.texts] == ["… and 29 others"]
    assert (len(bars(few)), list(few.texts)) == (2, [])


def test_a_picture_has_a_white_ground_whatever_style_is_chosen() -> None:
    with style.context("dark_background"):
        figure = draw(estimate_of({"q": ([0.6, 0.4], [0.1, 0.2])}))
        picture = imread(io.BytesIO(render(figure, Path("x.png"))), "png")
    assert (picture[0, 0] == 1).all()
    assert picture[..., :3].min() < 0.1  # its letters
