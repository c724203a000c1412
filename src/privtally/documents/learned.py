"""Where a later phase's parameters came from."""

import msgspec

from privtally.errors import PlanError
from privtally.exact import wire
from privtally.names import Rule

MOST_PIVOTS = 3
"""The largest number of questions that a report may answer in a group."""


class LearnedFrom(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Counts that a plan was learned from."""

    plan: str
    counts: str
    reports: int

    def __post_init__(self) -> None:
        wire.check_digest(self.plan, "the plan that was learned from", PlanError)
        wire.check_digest(self.counts, "the counts that were learned from", PlanError)
        check_people(self.reports)


class Learned(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a later phase's parameters came from: the counts of earlier phases, and how they were used."""

    history: tuple[LearnedFrom, ...]
    rule: Rule | None = None
    people: int | None = None
    """How many people the phase was planned for, where that matters."""
    pivots: int | msgspec.UnsetType = msgspec.UNSET
    """How many pivots were wanted in every group, if several; a part has fewer where that is all that was supported."""

    def __post_init__(self) -> None:
        if not self.history:
            raise PlanError("a plan that was learned must name the counts that it was learned from")
        if self.people is not None:
            check_people(self.people)
        if self.pivots is not msgspec.UNSET:
            check_pivots(self.pivots)

    @property
    def reports(self) -> int:
        """How many reports the parameters rest on."""
        return sum(source.reports for source in self.history)


def check_people(people: int) -> None:
    """Refuse a number of people that no document can hold."""
    if isinstance(people, bool) or not isinstance(people, int) or not 1 <= people <= wire.MAX_INTEGER:
        raise PlanError(f"a number of people must be a whole number between 1 and {wire.MAX_INTEGER:,}, got {people}")


def check_pivots(pivots: int) -> None:
    """Refuse a number of pivots that no group can have."""
    if isinstance(pivots, bool) or not isinstance(pivots, int) or not 1 <= pivots <= MOST_PIVOTS:
        raise PlanError(f"the number of pivots must be a whole number from 1 to {MOST_PIVOTS}, got {pivots}")
