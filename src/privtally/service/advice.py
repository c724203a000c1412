"""Which campaign to run, as whoever starts the service recommends it."""

from typing import Any, Protocol

from privtally.names import HideAmong
from privtally.schema import Schema


class Advice(Protocol):
    """What is recommended: a campaign, and half the width of a 95 % interval to expect, in percentage points."""

    @property
    def design(self) -> Any:
        """Its mechanism, groups, pivots and decoys; its `options` are the arguments of `design`."""

    @property
    def points(self) -> float: ...


class Advise(Protocol):
    """Gives advice for questions, a budget, a number of people, and how many questions to hide the one used among."""

    def __call__(self, schema: Schema, epsilon: float, people: int, *, hide_among: HideAmong) -> Advice: ...
