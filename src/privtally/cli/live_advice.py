"""What `privtally advise` recommends, for a service."""

from typing import TYPE_CHECKING

from privtally.cli.auto import say
from privtally.lab.advise import recommend
from privtally.schema import Schema
from privtally.service.advice import Advice

if TYPE_CHECKING:
    from privtally.lab.advise import Expected


def live_advice(schema: Schema, epsilon: float, people: int, max_pivot_guess: float) -> Advice:
    """The recommendation over the stated prior."""
    return _advice(recommend(schema, epsilon, people, max_pivot_guess=max_pivot_guess))


def said_advice(schema: Schema, epsilon: float, people: int, max_pivot_guess: float) -> Advice:
    """The same, and says which it is."""
    found = recommend(schema, epsilon, people, max_pivot_guess=max_pivot_guess)
    say(found)
    return _advice(found)


def _advice(found: "Expected") -> Advice:
    own = found.design
    groups = None if own.groups is None else tuple(map(tuple, own.groups))
    return Advice(own.mechanism, groups, own.pivots, own.phase1_share, found.points)
