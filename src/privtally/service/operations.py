"""What an operator does with campaigns, over HTTP or on the command line."""

import asyncio
import secrets
from contextlib import suppress
from functools import partial
from typing import TypeVar

import msgspec

from privtally.collector.estimate import Phase
from privtally.documents.campaign import refresh as refreshed
from privtally.documents.counts import Counts
from privtally.documents.learned import check_people
from privtally.documents.plan import Plan, design
from privtally.errors import CampaignError, RequestError, UnavailableError
from privtally.exact import wire
from privtally.names import HIDE_AMONG, HideAmong, MechanismChoice
from privtally.schema import Schema
from privtally.service.advice import Advise
from privtally.service.later import check_later, learned, to_learn_from
from privtally.store import surveys
from privtally.store.folding import fold_all
from privtally.store.options import Options
from privtally.store.session import Session, Store, Work
from privtally.store.surveys import Survey, numbered
from privtally.store.tallies import counts_of, reports_of

T = TypeVar("T")

MOST_TITLE = 200
_REWRITE = "rewrite_due"


class NewCampaign(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that a campaign starts from."""

    title: str
    schema: Schema
    epsilon: float
    mechanism: MechanismChoice
    people: int | None = None
    """How many people will be asked in all, for mechanism auto."""
    answers: int = 1
    groups: tuple[tuple[str, ...], ...] | None = None
    pivots: int = 1
    decoys: int | None = None
    hide_among: HideAmong = HIDE_AMONG
    """Among how many questions mechanism auto hides the one that is used."""
    options: Options = msgspec.field(default_factory=Options)

    def __post_init__(self) -> None:
        if not self.title.strip() or len(self.title) > MOST_TITLE or not wire.is_printable(self.title):
            raise RequestError(f"a title must be printable text of at most {MOST_TITLE} characters")
        if self.mechanism != "auto":
            if self.people is not None:
                raise RequestError("'people' goes with mechanism auto; say in 'options' how many the next phase asks")
            if self.hide_among != HIDE_AMONG:
                raise RequestError("'hide_among' goes with mechanism auto; say with 'decoys' what a report shows")
        elif self.people is None:
            raise RequestError("mechanism auto needs 'people', how many will be asked in all")
        elif (self.groups, self.pivots, self.decoys, self.options.people) != (None, 1, None, None):
            raise RequestError(
                "mechanism auto chooses 'groups', 'pivots', 'decoys' and 'people' of the options; leave them out"
            )
        else:
            check_people(self.people)
        check_later(self.options, self.schema, self.mechanism, self.groups)


async def create(store: Store, new: NewCampaign, advise: Advise | None = None) -> Survey:
    """Start a campaign with a first plan of its own; mechanism auto takes what is advised."""
    chosen = await asyncio.to_thread(_advised, new, advise)
    plan = await asyncio.to_thread(_first_plan, chosen)
    return await store.write(partial(surveys.create, title=chosen.title, plan=plan, options=chosen.options))


def _advised(new: NewCampaign, advise: Advise | None) -> NewCampaign:
    """The campaign with a mechanism."""
    if new.people is None:
        return new
    if advise is None:
        raise RequestError("this service has no advice to choose a mechanism by; name one")
    try:
        found = advise(new.schema, new.epsilon, new.people, hide_among=new.hide_among)
    except CampaignError as fault:  # there is no campaign yet that could be in a wrong state
        raise RequestError(str(fault)) from None
    return msgspec.structs.replace(
        new,
        people=None,
        hide_among=HIDE_AMONG,
        options=msgspec.structs.replace(new.options, people=new.people),
        **found.design.options,
    )


def _first_plan(new: NewCampaign) -> Plan:
    assert new.mechanism != "auto"
    return design(
        new.schema,
        new.epsilon,
        new.mechanism,
        answers=new.answers,
        groups=new.groups,
        pivots=new.pivots,
        decoys=new.decoys,
    )


async def find(store: Store, campaign: str) -> Survey:
    """The campaign with an id."""
    return await store.read(partial(surveys.find, campaign=campaign))


async def history(store: Store, survey: Survey) -> list[Phase]:
    """All plans of a campaign with the counts of the reports so far, in one consistent state."""

    async def work(session: Session) -> list[tuple[Plan, Counts]]:
        return [(plan, await counts_of(session, number, plan)) for number, plan in numbered(survey)]

    return await store.read(work)


async def totals(store: Store, survey: Survey) -> list[int]:
    """How many reports there are to each plan."""

    async def work(session: Session) -> list[int]:
        return [await reports_of(session, number) for number in survey.plan_numbers]

    return await store.read(work)


async def advance(store: Store, campaign: str, digest: str) -> Plan:
    """Learn from all reports so far and open the next phase after the plan with this digest.

    Asked again with the same digest, it gives the same plan. Reports may arrive in the meantime: the counts that the
    new plan rests on are stored with it.
    """
    survey = await find(store, campaign)
    there = survey.after(digest)
    if there is not None:
        return _as_learned(there)
    if survey.campaign.open_plan is None:
        raise CampaignError("the campaign is closed, so that no phase can follow; open another round first")
    if survey.campaign.open_plan.digest != digest:
        raise CampaignError("this plan is not the campaign's open one, so that no phase can follow it")
    phases = to_learn_from(await history(store, survey))
    plan = await asyncio.to_thread(learned, survey, phases)
    published = await and_rewrite(store, partial(surveys.publish, campaign=campaign, plan=plan, history=phases))
    return _as_learned(published)


def _as_learned(plan: Plan) -> Plan:
    if plan.learned is None:
        raise CampaignError("another round follows this plan, so that no phase can be learned from it")
    return plan


async def refresh(store: Store, campaign: str, digest: str) -> Plan:
    """Open another round after the plan with this digest, also after the campaign was closed.

    Asked again with the same digest, it gives the same plan.
    """
    survey = await find(store, campaign)
    there = survey.after(digest)
    if there is not None:
        return _as_refreshed(there)
    if survey.plans[-1].digest != digest:
        raise CampaignError("this plan is not the campaign's last one, so that no round can follow it")
    started = zip(survey.plans, await totals(store, survey), strict=True)
    if not any(reports for plan, reports in started if plan.round == survey.plans[-1].round):
        raise CampaignError("nobody has answered in this round, so that another one would ask the same")
    plan = refreshed(survey.plans)
    return _as_refreshed(await and_rewrite(store, partial(surveys.start_round, campaign=campaign, plan=plan)))


def _as_refreshed(plan: Plan) -> Plan:
    if plan.learned is not None:
        raise CampaignError("another phase follows this plan in the same round; start a round after the last phase")
    return plan


async def close(store: Store, campaign: str) -> Survey:
    """Take no more reports."""
    return await and_rewrite(store, partial(surveys.close, campaign=campaign))


async def delete(store: Store, campaign: str, title: str) -> None:
    """Delete a closed campaign; its title confirms that it is the one that was meant."""
    await _confirm(store, campaign, title)
    await and_rewrite(store, partial(surveys.delete, campaign=campaign))


async def delete_reports(store: Store, campaign: str, title: str) -> None:
    """Delete the reports of a closed campaign and keep its totals; its title confirms that it is the one."""
    await _confirm(store, campaign, title)
    await and_rewrite(store, partial(surveys.delete_reports, campaign=campaign))


async def and_rewrite(store: Store, work: Work[T]) -> T:
    """Do something that ends a phase or deletes, count all reports, and rewrite tokens and reports in key order."""

    async def and_note_it(session: Session) -> T:
        result = await work(session)
        await surveys.change_setting(session, _REWRITE, secrets.token_hex())
        return result

    result = await store.write(and_note_it)
    await rewrite_if_due(store)
    return result


async def rewrite_if_due(store: Store) -> None:
    """Leave nothing of the order of arrival after a phase ended, also if the process ended with it.

    Where the store is too busy for it, it stays due: until a phase ends again, or the service starts again. Every phase
    that ends sets a new value, so that one that ends during a rewrite makes another one due.
    """
    with suppress(UnavailableError):
        due = await store.read(partial(surveys.setting, name=_REWRITE))
        if due is not None:
            await fold_all(store)
            await store.rewrite()
            await store.write(partial(surveys.end_setting, name=_REWRITE, value=due))


async def _confirm(store: Store, campaign: str, title: str) -> None:
    if (await find(store, campaign)).title != title:
        raise CampaignError("the title does not match the campaign's, so that nothing was deleted; give it exactly")
