"""Campaign: the order of plans, of which the last may be open for answers. Pure transitions; whoever stores campaigns
stores values.

    draft -> open -> closed -> open (the next plan) -> closed -> …

Plans come in rounds. The first plan of a round asks as the campaign's first plan did and is learned from nothing; the
plans after it are learned from all earlier counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

import msgspec

from privtally.documents.plan import Plan
from privtally.errors import CampaignError, PrivtallyError
from privtally.mechanisms import NAMED


class State(Enum):
    """Where a campaign's last plan stands."""

    DRAFT = "draft"
    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True)
class Campaign:
    """The plans of a campaign so far; all but the last are closed."""

    plans: tuple[Plan, ...]
    state: State = State.DRAFT

    @classmethod
    def draft(cls, plan: Plan) -> "Campaign":
        """A campaign that nobody can answer yet, from its first plan."""
        if plan.phase != 1:
            raise CampaignError(f"a campaign starts with its first plan, this one is of phase {plan.phase}")
        return cls((plan,))

    @property
    def open_plan(self) -> Plan | None:
        """The plan that takes answers now, if any."""
        return self.plans[-1] if self.state is State.OPEN else None

    def open(self) -> "Campaign":
        """Take answers to the first plan."""
        return self._move(State.DRAFT, State.OPEN)

    def close(self) -> "Campaign":
        """Take no more answers to the open plan."""
        return self._move(State.OPEN, State.CLOSED)

    def follow(self, plan: Plan) -> "Campaign":
        """Take answers to the next plan of the campaign."""
        plans = check_one_campaign((*self.plans, plan), CampaignError)
        if plan.phase != self.plans[-1].phase + 1:
            raise CampaignError(f"phase {plan.phase} cannot follow phase {self.plans[-1].phase}")
        return replace(self._move(State.CLOSED, State.OPEN), plans=tuple(plans))

    def _move(self, start: State, end: State) -> "Campaign":
        if self.state is not start:
            raise CampaignError(f"the campaign is in state '{self.state.value}'; this step starts from '{start.value}'")
        return replace(self, state=end)


def check_one_campaign(plans: Sequence[Plan], error: type[PrivtallyError]) -> list[Plan]:
    """The plans in order of their phases, refused unless all belong to one campaign and each is there once."""
    ordered = sorted(plans, key=lambda plan: plan.phase)
    for one, two in pairwise(ordered):
        if one.phase == two.phase:
            raise error(f"two plans are of phase {one.phase}; give each phase once (counts of one plan add)")
        if one.campaign_id != two.campaign_id:
            raise error(f"phases {one.phase} and {two.phase} belong to different campaigns; give the plans of one")
        for name in ("schema", "epsilon", "mechanism", "answers", "decoys"):
            if getattr(one, name) != getattr(two, name):
                raise error(
                    f"phase {two.phase} differs from phase {one.phase} in '{name}'; the plans of a campaign agree in it"
                )
        if two.learned is not None and not NAMED[two.mechanism].learns:
            raise error(f"phase {two.phase} cannot be 'learned': {two.mechanism} learns nothing")
        _check_rounds(one, two, error)
    _check_starts(ordered, error)
    return ordered


def check_campaign(pin: str, first: Plan, plan: Plan) -> None:
    """Refuse a plan that breaks the contract of a pinned campaign; the refusal names the part that it breaks.

    `pin` is the campaign's id, the digest of its first plan, known from elsewhere than the collector. `first` is the
    campaign's first plan and `plan` the one to answer, as the collector handed them out. No answer plays a part. The
    browser client has the same function.
    """
    if first.phase != 1 or first.digest != pin:
        raise CampaignError("the collector's 'first' plan is not the one that the campaign's id pins; do not answer")
    if plan.campaign_id != pin:
        raise CampaignError("the plan's 'campaign' is another one than the pinned one; do not answer")
    if plan.digest != pin:
        check_one_campaign((first, plan), CampaignError)


def _check_starts(plans: Sequence[Plan], error: type[PrivtallyError]) -> None:
    """Refuse rounds that do not start alike."""
    starts = [plan for plan in plans if plan.learned is None]
    if any(plan.parts != starts[0].parts for plan in starts):
        raise error("the rounds of a campaign start with different 'parts'; each asks as the first one did")


def _check_rounds(one: Plan, two: Plan, error: type[PrivtallyError]) -> None:
    """Refuse a later plan of an earlier round, or one that skips a round."""
    phases, rounds = two.phase - one.phase, two.round - one.round
    started = int(two.learned is None)  # a plan that is learned stays in the round of the plan before it
    if rounds < started or rounds > phases - 1 + started:
        raise error(f"phase {two.phase} cannot be of 'round' {two.round} after phase {one.phase} of round {one.round}")


def refresh(plans: Sequence[Plan]) -> Plan:
    """The first plan of a campaign's next round, from its plans so far: it asks as the campaign's first plan did."""
    if not plans:
        raise CampaignError("a refresh needs the campaign's plans so far")
    ordered = check_one_campaign(plans, CampaignError)
    first, last = ordered[0], ordered[-1]
    if first.phase != 1:
        raise CampaignError("a refresh needs the campaign's first plan: the next round asks as that did")
    return msgspec.structs.replace(
        last,
        phase=last.phase + 1,
        round=last.round + 1,
        parts=first.parts,
        groups=first.groups,
        nonce=None,
        campaign=first.digest,
        learned=None,
    )


def phase1_people(people: int, share: float) -> int:
    """How many of the people are asked in Phase I; refused unless both phases get somebody."""
    if not 0 < share < 1:
        raise CampaignError(
            f"the share of people in the first phase (phase1_share) must be between 0 and 1, got {share}"
        )
    first = round(share * people)
    if not 0 < first < people:
        raise CampaignError(
            f"{people:,} people are too few for two phases with a share of {share:g} in the first; "
            "each phase needs at least one person"
        )
    return first
