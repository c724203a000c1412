"""What an operator does with campaigns, over HTTP or on the command line, and the tokens that let people in."""

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol, TypeVar

import msgspec

from privtally.collector.learn import check_groups, learn_with
from privtally.documents.campaign import Asking, Learning, Phase, State
from privtally.documents.campaign import refresh as refreshed
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan, check_people
from privtally.errors import CampaignError, RequestError, UnavailableError
from privtally.exact import canonical
from privtally.names import HIDE_AMONG, HideAmong, MechanismChoice, MechanismName
from privtally.schema import Schema
from privtally.store import campaigns
from privtally.store.campaigns import Options, StoredCampaign, counts_of, numbered, reports_of
from privtally.store.intake import fold_all
from privtally.store.session import Session, Store, Work


class Advice(Protocol):
    """What is recommended: a campaign, and half the width of a 95 % interval to expect, in percentage points."""

    @property
    def design(self) -> Asking: ...

    @property
    def points(self) -> float: ...


class Advise(Protocol):
    """Gives advice for questions, a budget, a number of people, and how many questions to hide the one used among."""

    def __call__(self, schema: Schema, epsilon: float, people: int, *, hide_among: HideAmong) -> Advice: ...


def to_learn_from(phases: Sequence[Phase]) -> list[Phase]:
    """The phases that somebody has answered, and the last one in any case: the next phase follows it."""
    return [phase for phase in phases if phase[1].reports or phase is phases[-1]]


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
    together: int | None = None
    single: float | None = None
    pairs_of: tuple[tuple[str, ...], ...] | None = None
    """What the mechanism pairs asks together, and the share of people whom it asks one question instead."""
    priors: dict[str, dict[str, float]] | None = None
    """The shares from which rs-rfd draws its decoys, in one phase."""
    hide_among: HideAmong = HIDE_AMONG
    """Among how many questions mechanism auto hides the one that is used."""
    options: Options = msgspec.field(default_factory=Options)

    def __post_init__(self) -> None:
        if not self.title.strip() or len(self.title) > MOST_TITLE or not canonical.is_printable(self.title):
            raise RequestError(f"a title must be printable text of at most {MOST_TITLE} characters")
        if self.mechanism != "auto":
            _ = self.asking  # refuses what the mechanism does not use
            if self.people is not None:
                raise RequestError("'people' goes with mechanism auto; say in 'options' how many the next phase asks")
            if self.hide_among != HIDE_AMONG:
                raise RequestError("'hide_among' goes with mechanism auto; say with 'decoys' what a report shows")
            return
        if self.people is None:
            raise RequestError("mechanism auto needs 'people', how many will be asked in all")
        check_people(self.people)
        usual = Options()
        changed = any(getattr(self.options, name) != getattr(usual, name) for name in Learning.__struct_fields__)
        chosen = (self.groups, self.decoys, self.together, self.single, self.pairs_of, self.priors)
        if any(own is not None for own in chosen) or self.pivots != 1 or changed:
            raise RequestError(
                "mechanism auto chooses 'groups', 'pivots', 'decoys', what is asked 'together', 'priors' and how to "
                "learn, in the options too; leave them out"
            )

    @property
    def asking(self) -> Asking:
        """How the campaign asks, where its mechanism is named."""
        assert self.mechanism != "auto"
        return Asking(
            self.mechanism,
            self.groups,
            self.pivots,
            self.decoys,
            self.together,
            self.single,
            self.pairs_of,
            self.priors,
            self.options,
        )


async def create(store: Store, new: NewCampaign, advise: Advise | None = None) -> StoredCampaign:
    """Start a campaign with a first plan of its own; mechanism auto takes what is advised."""
    chosen, plan = await asyncio.to_thread(_begun, new, advise)
    return await store.write(partial(campaigns.create, title=chosen.title, plan=plan, options=chosen.options))


def _begun(new: NewCampaign, advise: Advise | None) -> tuple[NewCampaign, Plan]:
    """The campaign with a mechanism, and its first plan."""
    chosen = new if new.people is None else _advised(new, new.people, advise)
    plan = chosen.asking.first_plan(chosen.schema, chosen.epsilon, answers=chosen.answers)
    if plan.learns:
        check_groups(plan, chosen.options)
    return chosen, plan


def _advised(new: NewCampaign, people: int, advise: Advise | None) -> NewCampaign:
    if advise is None:
        raise RequestError("this service has no advice to choose a mechanism by; name one")
    try:
        advice = advise(new.schema, new.epsilon, people, hide_among=new.hide_among)
    except CampaignError as fault:  # there is no campaign yet that could be in a wrong state
        raise RequestError(str(fault)) from None
    return msgspec.structs.replace(
        new,
        people=None,
        hide_among=HIDE_AMONG,
        options=msgspec.structs.replace(new.options, people=people),
        **advice.design.options,
    )


async def find(store: Store, campaign_id: str) -> StoredCampaign:
    """The campaign with an id."""
    return await store.read(partial(campaigns.find, campaign_id=campaign_id))


async def history(store: Store, campaign: StoredCampaign) -> list[Phase]:
    """All plans of a campaign with the counts of the reports so far, in one consistent state."""

    async def work(session: Session) -> list[tuple[Plan, Counts]]:
        return [(plan, await counts_of(session, number, plan)) for number, plan in numbered(campaign)]

    return await store.read(work)


async def totals(store: Store, campaign: StoredCampaign) -> list[int]:
    """How many reports there are to each plan."""

    async def work(session: Session) -> list[int]:
        return [await reports_of(session, number) for number in campaign.plan_numbers]

    return await store.read(work)


async def advance(store: Store, campaign_id: str, digest: str) -> Plan:
    """Learn from all reports so far and open the next phase after the plan with this digest.

    Asked again with the same digest, it gives the same plan. Reports may arrive in the meantime: the counts that the
    new plan rests on are stored with it.
    """
    campaign = await find(store, campaign_id)
    plan = campaign.after(digest)
    if plan is None:
        if campaign.open_plan is None:
            raise CampaignError("the campaign is closed, so that no phase can follow; open another round first")
        if campaign.open_plan.digest != digest:
            raise CampaignError("this plan is not the campaign's open one, so that no phase can follow it")
        phases = to_learn_from(await history(store, campaign))
        next_plan = await asyncio.to_thread(learn_with, campaign.options, phases)
        publish = partial(campaigns.publish, campaign_id=campaign_id, plan=next_plan, history=phases)
        plan = await and_rewrite(store, publish)
    if plan.learned is None:
        raise CampaignError("another round follows this plan, so that no phase can be learned from it")
    return plan


async def refresh(store: Store, campaign_id: str, digest: str) -> Plan:
    """Open another round after the plan with this digest, also after the campaign was closed.

    Asked again with the same digest, it gives the same plan.
    """
    campaign = await find(store, campaign_id)
    plan = campaign.after(digest)
    if plan is None:
        last = campaign.plans[-1]
        if last.digest != digest:
            raise CampaignError("this plan is not the campaign's last one, so that no round can follow it")
        reports = zip(campaign.plans, await totals(store, campaign), strict=True)
        if not any(number for earlier, number in reports if earlier.round == last.round):
            raise CampaignError("nobody has answered in this round, so that another one would ask the same")
        start = partial(campaigns.start_round, campaign_id=campaign_id, plan=refreshed(campaign.plans))
        plan = await and_rewrite(store, start)
    if plan.learned is not None:
        raise CampaignError("another phase follows this plan in the same round; start a round after the last phase")
    return plan


async def close(store: Store, campaign_id: str) -> StoredCampaign:
    """Take no more reports."""
    return await and_rewrite(store, partial(campaigns.close, campaign_id=campaign_id))


async def delete(store: Store, campaign_id: str, title: str) -> None:
    """Delete a closed campaign; its title confirms that it is the one that was meant."""
    await _confirm(store, campaign_id, title)
    await and_rewrite(store, partial(campaigns.delete, campaign_id=campaign_id))


async def delete_reports(store: Store, campaign_id: str, title: str) -> None:
    """Delete the reports of a closed campaign and keep its totals; its title confirms that it is the one."""
    await _confirm(store, campaign_id, title)
    await and_rewrite(store, partial(campaigns.delete_reports, campaign_id=campaign_id))


async def and_rewrite(store: Store, work: Work[T]) -> T:
    """Do something that ends a phase or deletes, count all reports, and rewrite tokens and reports in key order."""

    async def and_note_it(session: Session) -> T:
        result = await work(session)
        await campaigns.change_setting(session, _REWRITE, secrets.token_hex())
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
        due = await store.read(partial(campaigns.setting, name=_REWRITE))
        if due is not None:
            await fold_all(store)
            await store.rewrite()
            await store.write(partial(campaigns.end_setting, name=_REWRITE, value=due))


async def _confirm(store: Store, campaign_id: str, title: str) -> None:
    if (await find(store, campaign_id)).title != title:
        raise CampaignError("the title does not match the campaign's, so that nothing was deleted; give it exactly")


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


async def view(store: Store, campaign: StoredCampaign) -> CampaignView:
    """A campaign with the numbers of its reports."""
    first, reports = campaign.plans[0], await totals(store, campaign)
    return CampaignView(
        id=campaign.id,
        title=campaign.title,
        state=campaign.state,
        mechanism=first.name,
        epsilon=first.epsilon,
        answers=first.answers,
        options=campaign.options,
        phases=[
            PhaseView(plan.phase, plan.round, plan.digest, number)
            for plan, number in zip(campaign.plans, reports, strict=True)
        ],
    )


async def view_all(store: Store) -> list[CampaignView]:
    """All campaigns, the newest first."""
    return [await view(store, campaign) for campaign in await store.read(campaigns.every)]


MOST_TOKENS = 1_000_000
ADMIN_SETTING = "admin_token"
"""The setting that holds the hash of the administrator's token."""
_BYTES = 16


async def new_admin_token(store: Store) -> str:
    """A new administrator's token, to be shown once; the one before is worth nothing from now on."""
    token = secrets.token_urlsafe(32)
    await store.write(partial(campaigns.change_setting, name=ADMIN_SETTING, value=hashed(token).hex()))
    return token


async def first_admin_token(store: Store) -> str | None:
    """The administrator's token if the store has none yet."""
    token = secrets.token_urlsafe(32)
    is_new = await store.write(partial(campaigns.first_setting, name=ADMIN_SETTING, value=hashed(token).hex()))
    return token if is_new else None


async def is_admin(store: Store, token: str) -> bool:
    """Whether this is the administrator's token."""
    expected = await store.read(partial(campaigns.setting, name=ADMIN_SETTING))
    return expected is not None and hmac.compare_digest(hashed(token).hex(), expected)


async def issue(store: Store, campaign_id: str, number: int) -> list[str]:
    """New participation tokens for a campaign, in random order of their phases."""
    if not 1 <= number <= MOST_TOKENS:
        raise CampaignError(f"the number of tokens must be between 1 and {MOST_TOKENS:,}")
    tokens = [secrets.token_hex(_BYTES) for _ in range(number)]
    await store.write(partial(campaigns.add_tokens, campaign_id=campaign_id, hashes=map(hashed, tokens)))
    return tokens


def hashed(token: str) -> bytes:
    """What a store keeps of a token."""
    return hashlib.sha256(token.encode()).digest()


def is_early(campaign: StoredCampaign, token: str) -> bool:
    """Whether a token is for the first phase of a round, and not for a later one.

    A hash under the campaign's id decides it and never the order of arrival, so that those who are early and those who
    are late are in all phases alike.
    """
    if not campaign.plans[0].learns:
        return True
    drawn = hmac.digest(bytes.fromhex(campaign.id), token.encode(), "sha256")
    return int.from_bytes(drawn[:8], "big") < campaign.options.share * 2**64


def plan_of(campaign: StoredCampaign, token: str) -> Plan | None:
    """The plan of the last round that a token is for; None if there is none yet."""
    this_round = [plan for plan in campaign.plans if plan.round == campaign.plans[-1].round]
    if is_early(campaign, token):
        return this_round[0]
    return this_round[-1] if len(this_round) > 1 else None
