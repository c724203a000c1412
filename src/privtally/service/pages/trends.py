"""Estimates round by round, one trend a question: an answer's shares over the rounds with their intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

import msgspec

from privtally.collector.estimate.rounds import LEVEL
from privtally.documents.estimate import Change, Estimate, RoundEstimate

MOST_LINES = 12
"""Of a question with more answers, the most frequent ones of the last round are shown."""
SCALES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
MOST_TIMES = 1_000_000
MOST_TICKS = 8


@dataclass(frozen=True)
class Point:
    """An answer's share in one round, and where its 95 % interval begins and ends."""

    round: int
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Line:
    """An answer over the rounds."""

    label: str
    points: Sequence[Point]


@dataclass(frozen=True)
class Trend:
    """A question over the rounds."""

    name: str
    lines: Sequence[Line]
    left_out: int
    change: Change | None
    """The test for change, if there can be one."""

    @property
    def rounds(self) -> list[int]:
        return [point.round for point in self.lines[0].points]

    @property
    def ticks(self) -> list[int]:
        """The rounds whose numbers fit below a chart, the last one among them."""
        step = -(-len(self.rounds) // MOST_TICKS)
        return self.rounds[::-1][::step]

    @property
    def scale(self) -> float:
        """The share at the top of the charts: as little as holds all intervals."""
        highest = max(point.high for line in self.lines for point in line.points)
        return next(end for end in SCALES if end >= highest)

    @property
    def changed(self) -> bool:
        return self.change is not None and self.change.p_value < LEVEL

    @property
    def once_in(self) -> int:
        """In how many surveys without a change such a difference comes about once, rounded down to two digits."""
        assert self.change is not None
        times = min(1 / max(self.change.p_value, 1 / MOST_TIMES), MOST_TIMES)
        unit = 10 ** max(floor(log10(times)) - 1, 0)
        return int(times // unit * unit)


def trends_of(estimate: Estimate) -> list[Trend]:
    """The trends of an estimate with several rounds, none of one with a single round."""
    if estimate.rounds is msgspec.UNSET or len(estimate.rounds) == 1:
        return []
    changes = {} if estimate.changes is msgspec.UNSET else estimate.changes
    return [_trend(name, estimate.rounds, changes.get(name)) for name in estimate.attributes]


def _trend(name: str, rounds: Sequence[RoundEstimate], change: Change | None) -> Trend:
    last = rounds[-1].attributes[name]
    often = sorted(range(len(last.labels)), key=lambda code: -last.frequencies[code])[:MOST_LINES]
    lines = [Line(last.labels[code], [_point(own, name, code) for own in rounds]) for code in sorted(often)]
    return Trend(name, lines, len(last.labels) - len(lines), change)


def _point(own: RoundEstimate, name: str, code: int) -> Point:
    found = own.attributes[name]
    assert found.low is not msgspec.UNSET
    assert found.high is not msgspec.UNSET
    return Point(own.round, found.frequencies[code], found.low[code], found.high[code])
