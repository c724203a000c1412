"""An estimate as panels: nothing looks certain, and what more people would bring."""

import numpy as np
import pytest

from privtally.documents.estimate import AttributeEstimate, Estimate, PhaseUsed, Provenance
from privtally.service.pages.charts import MOST_ROWS, Found, panels_of


def found(shares: list[float], error: float, reports: int = 1_000) -> Found:
    labels = tuple(f"label {place}" for place in range(len(shares)))
    own = AttributeEstimate.of(labels, np.array(shares), np.full(len(shares), error), intervals=True)
    phase = PhaseUsed(1, 1.0, reports, "0" * 64, "1" * 64)
    provenance = Provenance("0" * 64, "spl", (phase,), "test")
    return panels_of(Estimate({"question": own}, "likelihood", biased=False, notes=(), provenance=provenance))


@pytest.mark.parametrize("error", [0.2, 0.02, 0.002, 0.0002])
def test_no_interval_is_written_as_one_number(error: float) -> None:
    (panel,) = found([0.0, 0.3, 0.7], error).panels
    for row in panel.rows:
        assert round(100 * row.low, panel.digits) < round(100 * row.high, panel.digits)


def test_bars_hold_their_intervals_and_the_rarest_answers_are_left_out() -> None:
    shares = [1 / 100 + (place - 49.5) * 1e-5 for place in range(100)]
    (panel,) = found(shares, 0.001).panels
    assert panel.scale == 0.02
    assert [row.label for row in panel.rows] == [f"label {place}" for place in range(100 - MOST_ROWS, 100)]
    assert panel.left_out == 100 - MOST_ROWS


@pytest.mark.parametrize(("error", "points"), [(0.3, None), (0.1, 15), (0.03, 5), (0.01, 1), (0.004, None)])
def test_what_more_people_would_bring(error: float, points: int | None) -> None:
    shown = found([0.4, 0.6], error)
    if points is None:
        assert shown.next_reach is None
        return
    assert shown.next_reach is not None
    smaller, more = shown.next_reach
    assert smaller == points
    assert shown.reach * (1_000 / (1_000 + more)) ** 0.5 == pytest.approx(points / 100, rel=0.05)
