"""The pictures of `privtally reproduce`: ticks are named in plain numbers, however few decades an axis spans."""

from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

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
