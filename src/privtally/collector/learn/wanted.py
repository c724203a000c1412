"""What is wanted of a group's fill, and what was found for it."""

from dataclasses import dataclass

import msgspec

from privtally.mechanisms.fills import AnyFill
from privtally.mechanisms.named import AnyChannel
from privtally.names import Rule


@dataclass(frozen=True)
class Wanted:
    """How a fill is to be chosen: by which rule, for how many people, and how well the pivot may be guessed."""

    rule: Rule
    people: int
    max_pivot_guess: float
    pivots: int = 1
    """How many attributes of a group are asked."""


@dataclass(frozen=True)
class Found:
    """A group's fill, and what of the wish it depends on: rule and people, and the bound on guessing the pivot.

    The channels are the best ones if none are given.
    """

    fill: AnyFill
    rule: Rule | None = None
    people: int | None = None
    pivot_guess: float | msgspec.UnsetType = msgspec.UNSET
    channels: tuple[AnyChannel, ...] | None = None
    pivots: int = 1
    """How many attributes of the group are asked: no more than wanted."""
