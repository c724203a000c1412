"""What is wanted of a group's fill, and what was found for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from privtally.errors import CampaignError
from privtally.exact.arrays import Floats
from privtally.mechanisms.fills import AnyFill, Places, Row
from privtally.mechanisms.named import AnyChannel
from privtally.names import RULES, MechanismName, Rule, without_effect


@dataclass(frozen=True)
class Wanted:
    """How a fill is to be chosen: by which rule, for how many people, how well the pivots may be guessed (as usual if
    None), and the totals of all attributes that an observer knows (nothing if None).
    """

    rule: Rule
    people: int
    max_pivot_guess: float | None
    totals: tuple[Row, ...] | None = None
    pivots: int = 1
    """How many attributes of a group are asked."""

    def known(self, group: Places, sizes: Sequence[int]) -> list[Floats]:
        """The marginals by which an observer of a group guesses; all answers are equally frequent to one who knows
        nothing.
        """
        if self.totals is None:
            return [np.full(sizes[own], 1 / sizes[own]) for own in group]
        return [np.array(self.totals[own]) for own in group]


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


def check_effect(mechanism: MechanismName, rule: Rule | None, options: Mapping[str, object]) -> None:
    """Refuse an option that is given, as anything but None, although the mechanism or the rule does not use it."""
    given = [name for name, value in options.items() if value is not None]
    if found := without_effect(mechanism, rule or RULES[0], given):
        raise CampaignError(f"{found[0]} has no effect {found[1]}; leave it out")
