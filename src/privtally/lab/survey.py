"""A made-up survey: four questions on the same scale, answered by simulated people whose answers hang together."""

import numpy as np

from privtally.exact.arrays import Codes
from privtally.exact.source import Source
from privtally.schema import Records, Schema

SCALE = ("never", "rarely", "weekly", "daily")

SCHEMA = Schema.of(dict.fromkeys(("sleeps badly", "feels lonely", "skips meals", "drinks alcohol"), SCALE))

_MOOD = (40, 30, 20, 10)
"""Percent of people in each of four moods; a mood suggests the same place on every scale."""
_HABITS = ((25, 35, 25, 15), (35, 35, 20, 10), (55, 25, 15, 5), (30, 25, 35, 10))
"""Percent of answers to each question among people whose mood does not decide it."""
_SWAY = (60, 70, 40, 30)
"""Percent of people whose mood decides their answer to each question."""


def simulate(people: int, source: Source) -> Records:
    """Answers of simulated people."""
    mood = _pick(_MOOD, people, source)
    columns = [
        np.where(_percent(people, source) < sway, mood, _pick(habits, people, source))
        for habits, sway in zip(_HABITS, _SWAY, strict=True)
    ]
    return Records(SCHEMA, np.column_stack(columns))


def _pick(percentages: tuple[int, ...], people: int, source: Source) -> Codes:
    return np.searchsorted(np.cumsum(percentages), _percent(people, source), side="right").astype(np.uint8)


def _percent(people: int, source: Source) -> Codes:
    """A number from 0 to 99 for each person (uneven by less than one part in 10^17, which no simulation sees)."""
    return (source.words(people) % np.uint64(100)).astype(np.uint8)
