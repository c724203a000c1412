"""A campaign as commands show it."""

from typing import TYPE_CHECKING

from privtally.cli.console import out, print_json
from privtally.cli.links import link_to

if TYPE_CHECKING:
    from privtally.service.views import CampaignView
    from privtally.store.session import Store
    from privtally.store.surveys import Survey


async def campaign_view(opened: "Store", survey: "Survey") -> "CampaignView":
    """What there is to show."""
    from privtally.service.views import view

    return await view(opened, survey)


def say_campaign(campaign: "CampaignView", *, json: bool, public_url: str | None = None) -> None:
    """Print a campaign with its link and the numbers of its reports."""
    if json:
        print_json(campaign)
        return
    out.print(f"{campaign.title} ({campaign.mechanism}, ε = {campaign.epsilon:g}), {campaign.state.value}")
    out.print(f"  id       {campaign.id}")
    out.print(f"  link     {link_to(campaign.id, public_url)}")
    rounds = campaign.phases[-1].round > 1
    for phase in campaign.phases:
        of_round = f" of round {phase.round}" if rounds else ""
        people = "1 person has" if phase.reports == 1 else f"{phase.reports:,} people have"
        out.print(f"  phase {phase.phase}{of_round}  {people} answered (plan {phase.plan[:12]}…)")
