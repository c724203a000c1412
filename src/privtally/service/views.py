"""A campaign as an operator sees it."""

import msgspec

from privtally.documents.campaign import State
from privtally.names import MechanismName
from privtally.service import operations
from privtally.store.options import Options
from privtally.store.session import Store
from privtally.store.surveys import Survey


class PhaseView(msgspec.Struct, frozen=True):
    """A phase with the number of its reports so far."""

    phase: int
    round: int
    plan: str
    reports: int


class CampaignView(msgspec.Struct, frozen=True):
    """A campaign with its phases."""

    id: str
    title: str
    state: State
    mechanism: MechanismName
    epsilon: float
    answers: int
    options: Options
    phases: list[PhaseView]


async def view(store: Store, survey: Survey) -> CampaignView:
    """A campaign with the numbers of its reports."""
    first, totals = survey.plans[0], await operations.totals(store, survey)
    phases = [
        PhaseView(own.phase, own.round, own.digest, number) for own, number in zip(survey.plans, totals, strict=True)
    ]
    state, options = survey.campaign.state, survey.options
    return CampaignView(survey.id, survey.title, state, first.mechanism, first.epsilon, first.answers, options, phases)
