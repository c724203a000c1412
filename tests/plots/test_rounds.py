"""The picture over time: a line with its band for each label, and what has no rounds is refused."""

import numpy as np
import pytest
from msgspec import structs

from privtally.documents.estimate import RoundEstimate
from privtally.errors import EstimateError
from tests.plots.test_estimate import estimate_of

pytest.importorskip("matplotlib")

from matplotlib.axes import Axes

from privtally.plots.rounds import MOST_LINES, draw_rounds


def band(panel: Axes) -> np.ndarray:
    """The heights of the first band's corners."""
    return np.asarray(panel.collections[0].get_paths()[0].vertices)[:, 1]


def test_a_line_and_a_band_for_each_label() -> None:
    first = estimate_of({"a": ([0.5, 0.3, 0.2], [0.02] * 3), "b": ([0.1] * 10, [0.01] * 10)})
    last = estimate_of({"a": ([0.6, 0.3, 0.1], [0.02] * 3), "b": ([0.1] * 10, [0.01] * 10)})
    rounds = (RoundEstimate(1, (1,), first.attributes), RoundEstimate(3, (2, 3), last.attributes))
    figure = draw_rounds(structs.replace(last, rounds=rounds))
    one, two = figure.axes
    lines = {line.get_label(): line for line in one.get_lines()}
    assert list(lines) == ["a0", "a1", "a2"]
    assert np.asarray(lines["a0"].get_xydata()) == pytest.approx(np.array([[1, 50], [3, 60]]))
    heights = band(one)
    assert heights.min() == pytest.approx(50 - 1.96 * 2, abs=0.01)
    assert heights.max() == pytest.approx(60 + 1.96 * 2, abs=0.01)
    assert len(two.get_lines()) == MOST_LINES
    assert "4 others" in two.get_title(loc="left")


def test_biased_estimates_have_bands_of_standard_errors() -> None:
    found = estimate_of({"a": ([0.5, 0.5], [0.02] * 2)}, biased=True)
    figure = draw_rounds(structs.replace(found, rounds=(RoundEstimate(1, (1,), found.attributes),)))
    heights = band(figure.axes[0])
    assert (heights.min(), heights.max()) == pytest.approx((48, 52))


def test_an_estimate_without_rounds_is_refused() -> None:
    with pytest.raises(EstimateError, match="by-round"):
        draw_rounds(estimate_of({"a": ([0.5, 0.5], [0.02] * 2)}))
