"""Rounds over time as a page draws them."""

import numpy as np
import pytest

from privtally.collector.estimate import estimate
from privtally.collector.tally import count
from privtally.documents.campaign import refresh
from privtally.documents.estimate import Change, Estimate
from privtally.documents.plan import Plan, design
from privtally.lab.population import seeded
from privtally.participant.respond import respond_many
from privtally.schema import Records, Schema
from privtally.service.pages.charts import MOST_LINES, Row, Trend, panels_of

MANY = MOST_LINES + 3
SCHEMA = Schema.of({"few": ["x", "y"], "many": [f"label {own}" for own in range(MANY)]})


def campaign(shares: tuple[float, ...], people: int = 4_000) -> Estimate:
    """Rounds in which so many give the second answer to the first question."""
    plans: list[Plan] = [design(SCHEMA, 4.0, "smp")]
    history = []
    for seed, share in enumerate(shares):
        if seed:
            plans.append(refresh(plans))
        made_up = np.random.default_rng(seed)
        codes = np.column_stack([made_up.random(people) < share, made_up.integers(0, MANY, people)]).astype(np.uint8)
        history.append(
            (plans[-1], count(plans[-1], respond_many(plans[-1], Records(SCHEMA, codes), seeded(seed)).codes))
        )
    return estimate(history, by_round=True)


def test_a_change_shows_and_is_said() -> None:
    found = campaign((0.3, 0.3, 0.6))
    shown = panels_of(found)
    few, many = shown.trends
    assert (few.name, few.rounds, few.ticks, shown.round) == ("few", [1, 2, 3], [3, 2, 1], 3)
    assert few.changed
    assert few.once_in >= 20
    assert not many.changed
    last = few.lines[1][-1]
    assert last.low <= last.share <= last.high <= few.scale
    assert abs(last.share - 0.6) < 0.1
    assert (len(many.lines), many.left_out) == (MOST_LINES, 3)
    assert found.notes != shown.notes  # what the trends say is not said again
    assert shown.next_reach is None


def test_a_single_round_has_no_trend() -> None:
    shown = panels_of(campaign((0.3,)))
    assert (list(shown.trends), shown.round) == ([], 1)


@pytest.mark.parametrize(
    ("p_value", "once_in"), [(0.049, 20), (0.00123, 810), (0.0, 1_000_000), (1e-12, 1_000_000), (1.0, 1)]
)
def test_chances_are_rounded_in_favour_of_no_change(p_value: float, once_in: int) -> None:
    trend = Trend("q", [], [], 0, Change(p_value, 0.1))
    assert trend.once_in == once_in


def test_many_rounds_have_some_of_their_numbers_below() -> None:
    trend = Trend("q", range(1, 21), [[Row("a", 0.1, 0.05, 0.15)] * 20], 0, None)
    assert trend.ticks[0] == 20
    assert len(trend.ticks) <= 8
    assert trend.scale == 0.2
    assert not trend.changed
