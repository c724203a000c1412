"""Surveys: campaigns as they are stored, with their titles, options and plans."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from privtally.collector.estimate import History
from privtally.collector.tally import nothing
from privtally.documents.campaign import Campaign, State
from privtally.documents.plan import Plan, load_plan
from privtally.errors import CampaignError, UnknownCampaignError
from privtally.exact import wire
from privtally.store.options import Options
from privtally.store.session import Session
from privtally.store.tallies import fold, reports_of

_SELECT = "SELECT number, title, options, closed FROM campaigns"
_BATCH = 10_000
"""How many rows a statement inserts: PostgreSQL's client gives each statement a limited time."""


@dataclass(frozen=True)
class Survey:
    """A campaign with what surrounds it; `plan_numbers` are the plans' keys in the database."""

    number: int
    title: str
    options: Options
    campaign: Campaign
    plan_numbers: tuple[int, ...]

    @property
    def id(self) -> str:
        return self.campaign.plans[0].digest

    @property
    def plans(self) -> tuple[Plan, ...]:
        return self.campaign.plans

    def after(self, digest: str) -> Plan | None:
        """The plan that follows the one with this digest, if there is one."""
        places = [place for place, plan in enumerate(self.plans[:-1], start=1) if plan.digest == digest]
        return self.plans[places[0]] if places else None


async def create(session: Session, title: str, plan: Plan, options: Options) -> Survey:
    """Store a campaign that is open from now on."""
    campaign = Campaign.draft(plan).open()
    ((number,),) = await session.fetch(
        "INSERT INTO campaigns (id, title, options, needs_token) VALUES ($1, $2, $3, $4) RETURNING number",
        plan.digest,
        title,
        msgspec.json.encode(options),
        int(options.tokens),
    )
    return Survey(number, title, options, campaign, (await _insert_plan(session, number, plan),))


async def find(session: Session, campaign: str) -> Survey:
    """The campaign with an id; refused if there is none."""
    wire.check_digest(campaign, "a campaign's id", UnknownCampaignError)
    found = await _surveys(session, f"{_SELECT} WHERE id = $1", campaign)
    if not found:
        raise UnknownCampaignError("there is no campaign with this id; check the link")
    return found[0]


async def find_by_prefix(session: Session, start: str) -> Survey:
    """The campaign whose id begins so; refused unless there is exactly one."""
    if not start:
        raise UnknownCampaignError("the campaign's id is empty; give at least the beginning of one")
    ids = [own for (own,) in await session.fetch("SELECT id FROM campaigns") if own.startswith(start)]
    if not ids:
        raise UnknownCampaignError(f"no campaign has an id that begins with '{start}'; privtally campaign list has all")
    if len(ids) > 1:
        raise UnknownCampaignError(f"{len(ids)} campaigns have an id that begins with '{start}'; give more of it")
    return await find(session, ids[0])


async def every(session: Session) -> list[Survey]:
    """All campaigns, the newest first."""
    return await _surveys(session, f"{_SELECT} ORDER BY number DESC")


async def publish(session: Session, campaign: str, plan: Plan, history: History) -> Plan:
    """Open the phase after the one that a plan was last learned from; the plan that is there already wins.

    Reports keep coming while a plan is learned, so the counts that it rests on are stored with it.
    """
    survey = await _locked(session, campaign)
    if plan.phase <= len(survey.plans):
        return survey.plans[plan.phase - 1]
    followed = survey.campaign.close().follow(plan)
    number = await _insert_plan(session, survey.number, plan)
    numbers = {own.digest: own_number for own, own_number in zip(survey.plans, survey.plan_numbers, strict=True)}
    await session.execute_many(
        "INSERT INTO learned VALUES ($1, $2, $3)",
        [(number, numbers[source.digest], counts.dump()) for source, counts in history],
    )
    return followed.plans[-1]


async def start_round(session: Session, campaign: str, plan: Plan) -> Plan:
    """Open another round with its first plan, also after the campaign was closed; the plan that is there already wins.

    Earlier phases take reports again, so a closed campaign must still have their ids: only these stop repeats.
    """
    survey = await _locked(session, campaign)
    if plan.phase <= len(survey.plans):
        return survey.plans[plan.phase - 1]
    closed = survey.campaign
    if closed.state is State.OPEN:
        closed = closed.close()
    elif not await has_its_reports(session, survey):
        raise CampaignError("the reports of this campaign were deleted, so that no round can follow; start a new one")
    followed = closed.follow(plan)
    await _insert_plan(session, survey.number, plan)
    await session.fetch("UPDATE campaigns SET closed = 0 WHERE number = $1", survey.number)
    return followed.plans[-1]


async def close(session: Session, campaign: str) -> Survey:
    """Take no more reports; closing again changes nothing."""
    survey = await _locked(session, campaign)
    await session.fetch("UPDATE campaigns SET closed = 1 WHERE number = $1", survey.number)
    return await find(session, campaign)


async def delete(session: Session, campaign: str) -> None:
    """Delete a closed campaign with everything that belongs to it."""
    survey = await _locked(session, campaign)
    if survey.campaign.state is not State.CLOSED:
        raise CampaignError("only a closed campaign can be deleted; close it first")
    for table in ("reports", "uncounted", "learned"):
        await session.execute_many(f"DELETE FROM {table} WHERE plan = $1", [(own,) for own in survey.plan_numbers])  # noqa: S608  # own names
    for table, column in (("tokens", "campaign"), ("plans", "campaign"), ("campaigns", "number")):
        await session.fetch(f"DELETE FROM {table} WHERE {column} = $1", survey.number)  # noqa: S608  # own names


async def delete_reports(session: Session, campaign: str) -> None:
    """Delete the reports of a closed campaign, whose ids no longer need to stop repeats, and keep their counts."""
    survey = await _locked(session, campaign)
    if survey.campaign.state is not State.CLOSED:
        raise CampaignError("reports can be deleted once the campaign is closed: until then their ids stop repeats")
    for number, plan in numbered(survey):
        await fold(session, number, plan)
        await session.fetch("DELETE FROM reports WHERE plan = $1", number)


async def add_tokens(session: Session, campaign: str, hashes: Iterable[bytes]) -> None:
    """Let these tokens, known by their hashes alone, be spent on one report each."""
    survey = await _locked(session, campaign)
    if not survey.options.tokens or survey.campaign.state is State.CLOSED:
        raise CampaignError(
            "tokens are for open campaigns that were created with them; create the campaign with --tokens"
        )
    rows = [(survey.number, own) for own in sorted(hashes)]
    for start in range(0, len(rows), _BATCH):
        batch = rows[start : start + _BATCH]
        await session.execute_many("INSERT INTO tokens (campaign, hash) VALUES ($1, $2)", batch)


async def has_invitations(session: Session) -> bool:
    """Whether there is a campaign with tokens; a closed one may have been open yesterday, and may be opened again."""
    return bool(await session.fetch("SELECT 1 FROM campaigns WHERE needs_token = 1 LIMIT 1"))


async def is_spent(session: Session, survey: Survey, token: bytes) -> bool | None:
    """Whether the token with this hash was spent; None if it was never issued."""
    sql = "SELECT spent FROM tokens WHERE campaign = $1 AND hash = $2"
    found = await session.fetch(sql, survey.number, token)
    return bool(found[0][0]) if found else None


async def count_tokens(session: Session, survey: Survey) -> tuple[int, int]:
    """How many tokens were issued for a campaign, and how many of them were spent."""
    counting = "SELECT count(*), coalesce(sum(spent), 0) FROM tokens WHERE campaign = $1"
    ((issued, spent),) = await session.fetch(counting, survey.number)
    return int(issued), int(spent)


async def setting(session: Session, name: str) -> str | None:
    """A setting of the whole store."""
    found = await session.fetch("SELECT value FROM settings WHERE name = $1", name)
    return found[0][0] if found else None


async def change_setting(session: Session, name: str, value: str) -> None:
    """Set a setting of the whole store."""
    await session.fetch(
        "INSERT INTO settings VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value", name, value
    )


async def first_setting(session: Session, name: str, value: str) -> bool:
    """Set a setting unless it is there already; whether it was set."""
    sql = "INSERT INTO settings VALUES ($1, $2) ON CONFLICT (name) DO NOTHING RETURNING name"
    return bool(await session.fetch(sql, name, value))


async def end_setting(session: Session, name: str, value: str) -> None:
    """Remove a setting if it still has this value."""
    await session.fetch("DELETE FROM settings WHERE name = $1 AND value = $2", name, value)


async def _locked(session: Session, campaign: str) -> Survey:
    await session.fetch(f"SELECT 1 FROM campaigns WHERE id = $1{session.for_update}", campaign)  # noqa: S608  # own names
    return await find(session, campaign)


async def has_its_reports(session: Session, survey: Survey) -> bool:
    """Whether no reports were deleted: every plan with counts has stored reports."""
    for number in survey.plan_numbers:
        stored = await session.fetch("SELECT 1 FROM reports WHERE plan = $1 LIMIT 1", number)
        if not stored and await reports_of(session, number):
            return False
    return True


async def _surveys(session: Session, sql: str, *parameters: str) -> list[Survey]:
    surveys = []
    for number, title, options, closed in await session.fetch(sql, *parameters):
        rows = await session.fetch("SELECT number, digest FROM plans WHERE campaign = $1 ORDER BY phase", number)
        state = State.CLOSED if closed else State.OPEN
        campaign = Campaign(tuple([await _plan(session, own, digest) for own, digest in rows]), state)
        decoded = msgspec.json.decode(options, type=Options)
        surveys.append(Survey(number, title, decoded, campaign, tuple(own for own, _ in rows)))
    return surveys


async def _plan(session: Session, number: int, digest: str) -> Plan:
    """A plan, which never changes: its document is read, and laid out to be sent, once."""
    plan = _KEPT.find(digest)
    if plan is None:
        ((document,),) = await session.fetch("SELECT document FROM plans WHERE number = $1", number)
        plan = load_plan(document)
        _KEPT.keep(plan)
    return plan


@dataclass
class KeptPlans:
    """The plans that were asked for last, as many as fit with their documents into so many bytes."""

    most: int
    _plans: dict[str, Plan] = field(default_factory=dict)
    """By digest, the one asked for last at the end."""
    _bytes: int = 0

    def find(self, digest: str) -> Plan | None:
        """The plan with this digest, if it is kept."""
        plan = self._plans.pop(digest, None)
        if plan is not None:
            self._plans[digest] = plan
        return plan

    def keep(self, plan: Plan) -> None:
        """Keep a plan that was not found, and forget others that have no room beside it."""
        if plan.digest not in self._plans:
            self._plans[plan.digest] = plan
            self._bytes += len(plan.dump())
        while self._bytes > self.most:
            first = next(iter(self._plans))
            self._bytes -= len(self._plans.pop(first).dump())


_KEPT = KeptPlans(1 << 25)


async def _insert_plan(session: Session, campaign: int, plan: Plan) -> int:
    ((number,),) = await session.fetch(
        "INSERT INTO plans (campaign, phase, digest, document, counts, counted)"
        " VALUES ($1, $2, $3, $4, $5, 0) RETURNING number",
        campaign,
        plan.phase,
        plan.digest,
        plan.dump(),
        nothing(plan).dump(),
    )
    return int(number)


def numbered(survey: Survey) -> Sequence[tuple[int, Plan]]:
    """The plans of a survey with their keys in the database."""
    return list(zip(survey.plan_numbers, survey.plans, strict=True))
