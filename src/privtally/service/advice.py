"""Which campaign to run, as whoever starts the service recommends it."""

from collections.abc import Callable
from dataclasses import dataclass

from privtally.names import MechanismName
from privtally.schema import Schema


@dataclass(frozen=True)
class Advice:
    """The campaign that is recommended, and what to expect of it."""

    mechanism: MechanismName
    groups: tuple[tuple[str, ...], ...] | None
    pivots: int
    phase1_share: float | None
    """The share of the people in the first phase, if there are two."""
    points: float
    """Half the width of a 95 % interval, in percentage points."""


Advise = Callable[[Schema, float, int, float], Advice]
"""The advice for questions, a budget, a number of people, and how often an observer may name the pivot of a report."""
