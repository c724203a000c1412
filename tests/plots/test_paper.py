"""The pictures of `privtally reproduce`: ticks are named in plain numbers, however few decades an axis spans."""

from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from privtally.lab.paper.output import reproduce
from privtally.plots.estimate import render
from privtally.plots.paper import ErrorPanel, Point, draw_errors


@pytest.mark.parametrize("errors", [(0.0003, 0.003), (0.011, 0.013), (0.00001, 0.4)])
def test_ticks_are_plain_numbers(errors: tuple[float, float]) -> None:
    x = (0.1, 0.2)
    points = [Point(place, error, error / 10, error) for place, error in zip(x, errors, strict=True)]
    figure = draw_errors("Table 6", [ErrorPanel("SynA", "ε", x, {"SPL": points, "RS+FD": points[::-1]})] * 2)
    render(figure, Path("table_6.png"))
    for axes in figure.axes:
        ticks = [*axes.get_yticklabels(which="both"), *axes.get_xticklabels(which="both")]
        shown = [tick.get_text() for tick in ticks if tick.get_text()]
        assert {f"{place:g}" for place in x} <= set(shown)
        assert len(shown) > len(x)
        assert all(float(text.replace("−", "-")) > 0 for text in shown)


@pytest.mark.parametrize("name", ["table_6", "fig_7", "fig_9", "fig_2"])
def test_no_text_of_a_reproduced_picture_is_in_mathematical_notation(name: str) -> None:
    """Whatever style is in force where it is drawn, and in a notebook, which draws it once more."""
    from matplotlib import style
    from matplotlib.text import Text

    with style.context(["classic", {"axes.formatter.use_mathtext": True}]):
        figure = reproduce(name, runs=2).figure
        assert figure is not None
        figure._repr_png_()  # type: ignore[attr-defined]
    render(figure, Path("figure.png"))
    shown = [text.get_text() for text in figure.findobj(Text)]
    assert len(list(filter(None, shown))) > 10
    assert [text for text in shown if "\\" in text or "$" in text] == []
