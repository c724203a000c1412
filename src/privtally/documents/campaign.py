"""Campaign: which plan is open for answers. Pure transitions; whoever stores campaigns stores values.

one phase:    draft -> phase 1 open -> closed
two phases:   draft -> phase 1 open -> phase 1 closed -> phase 2 open -> closed
"""

from dataclasses import dataclass, replace
from enum import Enum

from privtally.documents.plan import Plan, design
from privtally.errors import CampaignError
from privtally.names import TWO_PHASE, MechanismName
from privtally.schema import Schema


def phase1_people(people: int, share: float) -> int:
    """How many of the people are asked in Phase I; refused unless both phases get somebody."""
    if not 0 < share < 1:
        raise CampaignError(f"the share of Phase I must be between 0 and 1, got {share}")
    first = round(share * people)
    if not 0 < first < people:
        raise CampaignError(
            f"{people:,} people are too few for two phases with a share of {share:g}; "
            "each phase needs at least one person"
        )
    return first


class State(Enum):
    """Where a campaign stands."""

    DRAFT = "draft"
    PHASE_1_OPEN = "phase 1 open"
    PHASE_1_CLOSED = "phase 1 closed"
    PHASE_2_OPEN = "phase 2 open"
    CLOSED = "closed"


@dataclass(frozen=True)
class Campaign:
    """The plans of a campaign so far, and where it stands."""

    plans: tuple[Plan, ...]
    state: State = State.DRAFT

    @classmethod
    def draft(cls, schema: Schema, epsilon: float, mechanism: MechanismName) -> "Campaign":
        """A campaign that nobody can answer yet."""
        return cls((design(schema, epsilon, mechanism),))

    @property
    def two_phases(self) -> bool:
        """Whether a second phase follows the first."""
        return self.plans[0].campaign in TWO_PHASE

    @property
    def open_plan(self) -> Plan | None:
        """The plan that takes answers now, if any."""
        return self.plans[-1] if self.state in (State.PHASE_1_OPEN, State.PHASE_2_OPEN) else None

    def open_phase_1(self) -> "Campaign":
        """Take answers to the first plan."""
        return self._move(State.DRAFT, State.PHASE_1_OPEN)

    def close_phase_1(self) -> "Campaign":
        """Take no more answers to the first plan; with one phase that is the end."""
        return self._move(State.PHASE_1_OPEN, State.PHASE_1_CLOSED if self.two_phases else State.CLOSED)

    def open_phase_2(self, plan: Plan) -> "Campaign":
        """Take answers to a second plan, learned from the first."""
        first = self.plans[0]
        if plan.phase != 2 or (plan.schema, plan.epsilon, plan.campaign) != (
            first.schema,
            first.epsilon,
            first.campaign,
        ):
            raise CampaignError("the second plan must be phase 2 of the first one's schema, epsilon and mechanism")
        if plan.learned is not None and plan.learned.plan != first.digest:
            raise CampaignError("the second plan was learned from another first phase")
        moved = self._move(State.PHASE_1_CLOSED, State.PHASE_2_OPEN)
        return replace(moved, plans=(first, plan))

    def close(self) -> "Campaign":
        """Take no more answers to the second plan."""
        return self._move(State.PHASE_2_OPEN, State.CLOSED)

    def _move(self, start: State, end: State) -> "Campaign":
        if self.state is not start:
            raise CampaignError(f"the campaign is in state '{self.state.value}'; this step starts from '{start.value}'")
        return replace(self, state=end)
