"""An estimate as numbers that a page can draw: a panel a question, and a trend a question over several rounds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

import msgspec

from privtally.collector.rounds import LEVEL, about_changes
from privtally.documents.estimate import Change, Estimate, Frequencies, Located, RoundEstimate
from privtally.schema import NO_ANSWER, Attribute, Schema
from privtally.service.pages.rendering import Words

Named = Callable[[str, str], str]
"""The name of a question and one of its labels -> what a page calls the answer."""


def names_of_answers(schema: Schema, words: Words) -> Named:
    """What a page calls the answers of a survey."""
    asked = {attribute.name: attribute for attribute in schema.attributes}
    return lambda question, label: answer_name(asked[question], label, words)


def answer_name(attribute: Attribute, label: str, words: Words) -> str:
    """What a page calls an answer."""
    if attribute.optional and label == NO_ANSWER:
        return words.say("survey.not_said")
    if attribute.numbers is None:
        return label
    return words.decimal(label.replace(" to ", f" {words.say('bins.to')} "))


MOST_LINES = 12
"""Of a question with more answers, the most frequent ones of the last round are shown."""
TREND_SCALES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
MOST_TIMES = 1_000_000
MOST_TICKS = 8


@dataclass(frozen=True)
class Row:
    """An answer with its share of the people and where the 95 % interval of the share begins and ends."""

    label: str
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Trend:
    """A question over the rounds: a line an answer, with a row for each round."""

    name: str
    rounds: Sequence[int]
    lines: Sequence[Sequence[Row]]
    left_out: int
    change: Change | None
    """The test for change, if there can be one."""

    @property
    def ticks(self) -> Sequence[int]:
        """The rounds whose numbers fit below a chart, the last one among them."""
        step = -(-len(self.rounds) // MOST_TICKS)
        return self.rounds[::-1][::step]

    @property
    def scale(self) -> float:
        """The share at the top of the charts: as little as holds all intervals."""
        highest = max(row.high for line in self.lines for row in line)
        return next(end for end in TREND_SCALES if end >= highest)

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
    tables = [_rows(estimate.attributes[name]) for estimate in rounds]
    lines = [[table[code] for table in tables] for code in _most_frequent(tables[-1], MOST_LINES)]
    return Trend(name, [estimate.round for estimate in rounds], lines, len(tables[-1]) - len(lines), change)


def _most_frequent(rows: Sequence[Row], most: int) -> list[int]:
    """The places of so many most frequent answers, in the order of the answers."""
    return sorted(sorted(range(len(rows)), key=lambda place: -rows[place].share)[:most])


MOST_ROWS = 24
"""Of a question with more answers, the most frequent ones are shown."""

SCALES = (0.01, 0.02, 0.05, 0.1, 1.0)
"""Bars end at 100 %, so that questions can be compared, except where all of them would be slivers."""
MOST_DIGITS = 3
MOST_REACH = 0.25
"""With wider intervals the reports say next to nothing, so that nothing can be foretold from them."""


@dataclass(frozen=True)
class Panel:
    """A question with its answers."""

    name: str
    rows: Sequence[Row]
    left_out: int
    skipped: Row | None
    """Those who would rather not say; the other rows are then among those who said."""
    mean: Located | None

    @property
    def scale(self) -> float:
        """The share at which bars end: as little as holds all intervals."""
        return next(end for end in SCALES if end >= max(row.high for row in self.rows))

    @property
    def digits(self) -> int:
        """With how many decimals percentages are written, so that no interval looks like a certainty."""
        width = 100 * min(row.high - row.low for row in self.rows)
        return next((digits for digits in range(MOST_DIGITS) if width >= 10.0**-digits), MOST_DIGITS)


@dataclass(frozen=True)
class Found:
    """What is known so far."""

    panels: Sequence[Panel]
    reach: float
    """Half the width of a 95 % interval, on average over all answers."""
    reports: int
    notes: Sequence[str]
    trends: Sequence[Trend] = ()
    round: int = 1
    """The round whose totals these are: the last one that somebody has answered."""

    @property
    def next_reach(self) -> tuple[int, int] | None:
        """A smaller reach in percentage points, and how many more people it takes if each says as much.

        None at 1, with so few people that nothing can be foretold, and after several rounds, where that depends on how
        much the answers have changed.
        """
        if self.trends or self.reach > MOST_REACH:
            return None
        points = 100 * self.reach
        smaller = next((step for step in (1, 2, 3, 5, 7, 10, 15, 20)[::-1] if step < 0.9 * points), None)
        if smaller is None:
            return None
        more = self.reports * ((points / smaller) ** 2 - 1)
        step = 10 ** max(len(str(int(more))) - 2, 0)
        return smaller, ceil(more / step) * step


def panels_of(estimate: Estimate) -> Found:
    """The panels of an estimate whose frequencies have intervals."""
    panels = []
    for name, attribute in estimate.attributes.items():
        everybody = _rows(attribute)
        among, skipped = everybody, None
        if attribute.answered is not msgspec.UNSET:
            among, skipped = _rows(attribute.answered), next(row for row in everybody if row.label == NO_ANSWER)
        shown = [among[place] for place in _most_frequent(among, MOST_ROWS)]
        mean = None if attribute.mean is msgspec.UNSET else attribute.mean
        panels.append(Panel(name, shown, len(among) - len(shown), skipped, mean))
    said_here = [] if estimate.changes is msgspec.UNSET else about_changes(estimate.changes)
    return Found(
        panels,
        estimate.half_width,
        sum(phase.reports for phase in estimate.provenance.phases),
        [note for note in estimate.notes if note not in said_here],
        trends_of(estimate),
        1 if estimate.rounds is msgspec.UNSET else estimate.rounds[-1].round,
    )


def _rows(frequencies: Frequencies) -> list[Row]:
    assert frequencies.low is not msgspec.UNSET
    assert frequencies.high is not msgspec.UNSET
    columns = (frequencies.labels, frequencies.frequencies, frequencies.low, frequencies.high)
    return [Row(*row) for row in zip(*columns, strict=True)]
