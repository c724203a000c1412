"""An estimate as panels, one a question, in the survey's order."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from math import ceil

import msgspec

from privtally.collector.estimate.rounds import about_changes
from privtally.documents.estimate import Estimate, Frequencies, Located
from privtally.errors import EstimateError
from privtally.schema import NO_ANSWER
from privtally.service.collector import Estimates, Finished
from privtally.service.pages.trends import Trend, trends_of
from privtally.store.surveys import Survey

MOST_ROWS = 24
"""Of a question with more answers, the most frequent ones are shown."""

SCALES = (0.01, 0.02, 0.05, 0.1, 1.0)
"""Bars end at 100 %, so that questions can be compared, except where all of them would be slivers."""
MOST_DIGITS = 3
MOST_REACH = 0.25
"""With wider intervals the reports say next to nothing, so that nothing can be foretold from them."""


@dataclass(frozen=True)
class Row:
    """An answer with its share of the people and where the 95 % interval of the share begins and ends."""

    label: str
    share: float
    low: float
    high: float


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
        smaller = next((own for own in (1, 2, 3, 5, 7, 10, 15, 20)[::-1] if own < 0.9 * points), None)
        if smaller is None:
            return None
        more = self.reports * ((points / smaller) ** 2 - 1)
        step = 10 ** max(len(str(int(more))) - 2, 0)
        return smaller, ceil(more / step) * step


async def estimate_so_far(
    estimates: Estimates, survey: Survey, get: Callable[..., Awaitable[Finished | None]]
) -> Finished | EstimateError | None:
    """What is known within a moment, or why nothing is; None if the first estimate is not finished."""
    by_round = survey.plans[-1].round > 1
    try:
        return await asyncio.wait_for(get(survey, "likelihood", by_round=by_round), estimates.patience)
    except EstimateError as refusal:
        return refusal
    except TimeoutError:
        return estimates.last(survey, "likelihood", by_round=by_round)


def panels_of(estimate: Estimate) -> Found:
    """The panels of an estimate whose frequencies have intervals."""
    panels = []
    for name, own in estimate.attributes.items():
        everybody = _rows(own)
        among, skipped = everybody, None
        if own.answered is not msgspec.UNSET:
            among, skipped = _rows(own.answered), next(row for row in everybody if row.label == NO_ANSWER)
        shown = sorted(range(len(among)), key=lambda place: -among[place].share)[:MOST_ROWS]
        panels.append(
            Panel(
                name=name,
                rows=[among[place] for place in sorted(shown)],
                left_out=len(among) - len(shown),
                skipped=skipped,
                mean=None if own.mean is msgspec.UNSET else own.mean,
            )
        )
    said_here = [] if estimate.changes is msgspec.UNSET else about_changes(estimate.changes)
    return Found(
        panels,
        estimate.half_width,
        sum(phase.reports for phase in estimate.provenance.phases),
        [note for note in estimate.notes if note not in said_here],
        trends_of(estimate),
        1 if estimate.rounds is msgspec.UNSET else estimate.rounds[-1].round,
    )


def _rows(found: Frequencies) -> list[Row]:
    assert found.low is not msgspec.UNSET
    assert found.high is not msgspec.UNSET
    columns = (found.labels, found.frequencies, found.low, found.high)
    return [Row(*row) for row in zip(*columns, strict=True)]
