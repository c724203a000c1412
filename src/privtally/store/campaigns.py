"""Campaigns as they are stored: their options, plans, reports, counts, tokens and settings, and a check of all that."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import msgspec
import numpy as np

from privtally.collector.tally import count, count_times, nothing
from privtally.documents.campaign import Campaign, History, Learning, State
from privtally.documents.counts import Counts, load_counts
from privtally.documents.plan import Plan, load_plan
from privtally.documents.report import ID_BYTES, Reports
from privtally.errors import CampaignError, UnknownCampaignError
from privtally.exact import canonical
from privtally.exact.types import Codes
from privtally.store.session import Session, Store, Work

MOST_ABOUT = 1_000


class Options(Learning, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What an operator decides beside the first plan: with what later phases are learned, and what participants see.

    In a campaign with tokens `phase1_share` is the share of those for the first phase of a round.
    """

    published: bool = False
    """Whether anybody may see the estimates."""
    tokens: bool = False
    """Whether a report needs a participation token."""
    about: str = ""
    """Who asks, and why: what participants read below the title."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.about) > MOST_ABOUT or not canonical.is_printable(self.about):
            raise CampaignError(f"'about' must be printable text of at most {MOST_ABOUT:,} characters")


def pack(plan: Plan, codes: Sequence[int]) -> bytes:
    """The codes of one report in bytes: little-endian integers, as small as hold every code of the plan."""
    return np.array(codes, dtype=_type(plan)).tobytes()


def unpack(plan: Plan, packed: Sequence[bytes]) -> Codes:
    """An array (report, attribute) from packed codes."""
    codes: Codes = np.frombuffer(b"".join(packed), dtype=_type(plan)).reshape(len(packed), plan.mechanism.width)
    return codes


def _type(plan: Plan) -> np.dtype[np.unsignedinteger]:
    return np.min_scalar_type(max(plan.mechanism.outputs) - 1).newbyteorder("<")


PAGE = 2_000


Rows = list[tuple[Any, ...]]
Read = Callable[[Work[Rows]], Awaitable[Rows]]
"""How a page is read: `store.read` for a transaction a page, so that nobody waits for a reader, or all in one."""


async def pages(read: Read, number: int, plan: Plan) -> AsyncIterator[Reports]:
    """All reports to a plan with this key, in the order of their ids, which says nothing about that of arrival."""
    last = b""
    while rows := await read(partial(_page, number=number, after=last)):
        ids, packed = [report_id for report_id, _ in rows], [codes for _, codes in rows]
        names = np.frombuffer(b"".join(ids), dtype=np.uint8).reshape(len(ids), ID_BYTES)
        yield Reports(plan, names, unpack(plan, packed))
        last = ids[-1]


async def _page(session: Session, number: int, after: bytes) -> Rows:
    sql = "SELECT id, codes FROM reports WHERE plan = $1 AND id > $2 ORDER BY id LIMIT $3"
    return await session.fetch(sql, number, after, PAGE)


FOLD_AFTER = 1 << 16
"""How many reports may arrive before they are counted."""


async def counts_of(session: Session, number: int, plan: Plan) -> Counts:
    """The counts of all reports stored to a plan with this key."""
    ((document,),) = await session.fetch("SELECT counts FROM plans WHERE number = $1", number)
    rows = await session.fetch("SELECT codes, times FROM uncounted WHERE plan = $1", number)
    return _sum(plan, document, rows)


async def reports_of(session: Session, number: int) -> int:
    """How many reports are stored to a plan with this key."""
    ((counted,),) = await session.fetch("SELECT counted FROM plans WHERE number = $1", number)
    ((others,),) = await session.fetch("SELECT coalesce(sum(times), 0) FROM uncounted WHERE plan = $1", number)
    return int(counted + others)


async def fold(session: Session, number: int, plan: Plan) -> None:
    """Count what is not counted yet."""
    held = await session.fetch(f"SELECT counts FROM plans WHERE number = $1{session.for_update}", number)  # noqa: S608  # own names
    rows = await session.fetch("DELETE FROM uncounted WHERE plan = $1 RETURNING codes, times", number)
    if rows:
        counts = _sum(plan, held[0][0], rows)
        statement = "UPDATE plans SET counts = $2, counted = $3 WHERE number = $1"
        await session.fetch(statement, number, counts.dump(), counts.reports)


def _sum(plan: Plan, document: bytes, rows: list[tuple[bytes, int]]) -> Counts:
    counts = load_counts(document, plan)
    if not rows:
        return counts
    times = np.array([number for _, number in rows], dtype=np.int64)
    return counts + count_times(plan, unpack(plan, [codes for codes, _ in rows]), times)


_SELECT = "SELECT number, title, options, closed FROM campaigns"
MOST_PLANS = 512
"""How many plans are kept in memory."""
_BATCH = 10_000
"""How many rows a statement inserts: PostgreSQL's client gives each statement a limited time."""


@dataclass(frozen=True, kw_only=True)
class StoredCampaign(Campaign):
    """A campaign with its key, title and options; `plan_numbers` are the plans' keys in the database."""

    number: int
    title: str
    options: Options
    plan_numbers: tuple[int, ...]

    @property
    def id(self) -> str:
        return self.plans[0].digest

    def after(self, digest: str) -> Plan | None:
        """The plan that follows the one with this digest, if there is one."""
        places = [place for place, plan in enumerate(self.plans[:-1], start=1) if plan.digest == digest]
        return self.plans[places[0]] if places else None


async def create(session: Session, title: str, plan: Plan, options: Options) -> StoredCampaign:
    """Store a campaign that is open from now on."""
    ((number,),) = await session.fetch(
        "INSERT INTO campaigns (id, title, options, needs_token) VALUES ($1, $2, $3, $4) RETURNING number",
        plan.digest,
        title,
        msgspec.json.encode(options),
        int(options.tokens),
    )
    await _insert_plan(session, number, plan)
    return await find(session, plan.digest)


async def find(session: Session, campaign_id: str, lock: str = "") -> StoredCampaign:
    """The campaign with an id, held against changes if a lock of the session is named; refused if there is none."""
    canonical.check_digest(campaign_id, "a campaign's id", UnknownCampaignError)
    campaigns = await _campaigns(session, f"{_SELECT} WHERE id = $1{lock}", campaign_id)
    if not campaigns:
        raise UnknownCampaignError("there is no campaign with this id; check the link")
    return campaigns[0]


async def find_by_prefix(session: Session, start: str) -> StoredCampaign:
    """The campaign whose id begins so; refused unless there is exactly one."""
    if not start:
        raise UnknownCampaignError("the campaign's id is empty; give at least the beginning of one")
    campaigns = await _campaigns(session, f"{_SELECT} WHERE substr(id, 1, length($1)) = $1", start)
    if not campaigns:
        raise UnknownCampaignError(f"no campaign has an id that begins with '{start}'; privtally campaign list has all")
    if len(campaigns) > 1:
        raise UnknownCampaignError(f"{len(campaigns)} campaigns have an id that begins with '{start}'; give more of it")
    return campaigns[0]


async def every(session: Session) -> list[StoredCampaign]:
    """All campaigns, the newest first."""
    return await _campaigns(session, f"{_SELECT} ORDER BY number DESC")


async def publish(session: Session, campaign_id: str, plan: Plan, history: History) -> Plan:
    """Open the phase after the one that a plan was last learned from; the plan that is there already wins.

    Reports keep coming while a plan is learned, so the counts that it rests on are stored with it.
    """
    campaign = await find(session, campaign_id, session.for_update)
    if plan.phase <= len(campaign.plans):
        return campaign.plans[plan.phase - 1]
    followed = campaign.close().follow(plan)
    number = await _insert_plan(session, campaign.number, plan)
    numbers = {source.digest: key for key, source in numbered(campaign)}
    await session.execute_many(
        "INSERT INTO learned VALUES ($1, $2, $3)",
        [(number, numbers[source.digest], counts.dump()) for source, counts in history],
    )
    return followed.plans[-1]


async def start_round(session: Session, campaign_id: str, plan: Plan) -> Plan:
    """Open another round with its first plan, also after the campaign was closed; the plan that is there already wins.

    Earlier phases take reports again, so a closed campaign must still have their ids: only these stop repeats.
    """
    campaign = await find(session, campaign_id, session.for_update)
    if plan.phase <= len(campaign.plans):
        return campaign.plans[plan.phase - 1]
    if campaign.state is State.CLOSED and not await has_its_reports(session, campaign):
        raise CampaignError("the reports of this campaign were deleted, so that no round can follow; start a new one")
    followed = (campaign if campaign.state is State.CLOSED else campaign.close()).follow(plan)
    await _insert_plan(session, campaign.number, plan)
    await session.fetch("UPDATE campaigns SET closed = 0 WHERE number = $1", campaign.number)
    return followed.plans[-1]


async def close(session: Session, campaign_id: str) -> StoredCampaign:
    """Take no more reports; closing again changes nothing."""
    campaign = await find(session, campaign_id, session.for_update)
    await session.fetch("UPDATE campaigns SET closed = 1 WHERE number = $1", campaign.number)
    return await find(session, campaign_id)


async def delete(session: Session, campaign_id: str) -> None:
    """Delete a closed campaign with everything that belongs to it."""
    campaign = await find(session, campaign_id, session.for_update)
    if campaign.state is not State.CLOSED:
        raise CampaignError("only a closed campaign can be deleted; close it first")
    for table in ("reports", "uncounted", "learned"):
        await session.execute_many(f"DELETE FROM {table} WHERE plan = $1", [(key,) for key in campaign.plan_numbers])  # noqa: S608  # own names
    for table, column in (("tokens", "campaign"), ("plans", "campaign"), ("campaigns", "number")):
        await session.fetch(f"DELETE FROM {table} WHERE {column} = $1", campaign.number)  # noqa: S608  # own names


async def delete_reports(session: Session, campaign_id: str) -> None:
    """Delete the reports of a closed campaign, whose ids no longer need to stop repeats, and keep their counts."""
    campaign = await find(session, campaign_id, session.for_update)
    if campaign.state is not State.CLOSED:
        raise CampaignError("reports can be deleted once the campaign is closed: until then their ids stop repeats")
    for number, plan in numbered(campaign):
        await fold(session, number, plan)
        await session.fetch("DELETE FROM reports WHERE plan = $1", number)


async def add_tokens(session: Session, campaign_id: str, hashes: Iterable[bytes]) -> None:
    """Let these tokens, known by their hashes alone, be spent on one report each."""
    campaign = await find(session, campaign_id, session.for_update)
    if not campaign.options.tokens or campaign.state is State.CLOSED:
        raise CampaignError(
            "tokens are for open campaigns that were created with them; create the campaign with --tokens"
        )
    rows = [(campaign.number, token) for token in sorted(hashes)]
    for start in range(0, len(rows), _BATCH):
        batch = rows[start : start + _BATCH]
        await session.execute_many("INSERT INTO tokens (campaign, hash) VALUES ($1, $2)", batch)


async def has_invitations(session: Session) -> bool:
    """Whether there is a campaign with tokens; a closed one may have been open yesterday, and may be opened again."""
    return bool(await session.fetch("SELECT 1 FROM campaigns WHERE needs_token = 1 LIMIT 1"))


async def is_spent(session: Session, campaign: StoredCampaign, token: bytes) -> bool | None:
    """Whether the token with this hash was spent; None if it was never issued."""
    sql = "SELECT spent FROM tokens WHERE campaign = $1 AND hash = $2"
    rows = await session.fetch(sql, campaign.number, token)
    return bool(rows[0][0]) if rows else None


async def count_tokens(session: Session, campaign: StoredCampaign) -> tuple[int, int]:
    """How many tokens were issued for a campaign, and how many of them were spent."""
    counting = "SELECT count(*), coalesce(sum(spent), 0) FROM tokens WHERE campaign = $1"
    ((issued, spent),) = await session.fetch(counting, campaign.number)
    return int(issued), int(spent)


async def setting(session: Session, name: str) -> str | None:
    """A setting of the whole store."""
    rows = await session.fetch("SELECT value FROM settings WHERE name = $1", name)
    return rows[0][0] if rows else None


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


async def has_its_reports(session: Session, campaign: StoredCampaign) -> bool:
    """Whether no reports were deleted: every plan with counts has stored reports."""
    for number in campaign.plan_numbers:
        stored = await session.fetch("SELECT 1 FROM reports WHERE plan = $1 LIMIT 1", number)
        if not stored and await reports_of(session, number):
            return False
    return True


async def _campaigns(session: Session, sql: str, *parameters: str) -> list[StoredCampaign]:
    campaigns = []
    for number, title, options, closed in await session.fetch(sql, *parameters):
        rows = await session.fetch("SELECT number, document FROM plans WHERE campaign = $1 ORDER BY phase", number)
        campaigns.append(
            StoredCampaign(
                tuple(_plan(document) for _, document in rows),
                State.CLOSED if closed else State.OPEN,
                number=number,
                title=title,
                options=msgspec.json.decode(options, type=Options),
                plan_numbers=tuple(key for key, _ in rows),
            )
        )
    return campaigns


_plan = lru_cache(MOST_PLANS)(load_plan)
"""A plan never changes: its document is read, and laid out to be sent, once."""


async def _insert_plan(session: Session, campaign_number: int, plan: Plan) -> int:
    ((number,),) = await session.fetch(
        "INSERT INTO plans (campaign, phase, digest, document, counts, counted)"
        " VALUES ($1, $2, $3, $4, $5, 0) RETURNING number",
        campaign_number,
        plan.phase,
        plan.digest,
        plan.dump(),
        nothing(plan).dump(),
    )
    return int(number)


def numbered(campaign: StoredCampaign) -> Sequence[tuple[int, Plan]]:
    """The plans of a campaign with their keys in the database."""
    return list(zip(campaign.plan_numbers, campaign.plans, strict=True))


class Checked(msgspec.Struct, frozen=True):
    """What was found; no fault means that all of it agrees."""

    campaigns: int
    reports: int
    faults: list[str]


async def check(store: Store) -> Checked:
    """Count everything anew, in one state of the store, whatever arrives in the meantime."""
    state = await store.integrity()
    checked = await store.read(_counted_anew)
    return checked if state == "ok" else Checked(checked.campaigns, checked.reports, [state, *checked.faults])


async def _counted_anew(session: Session) -> Checked:
    async def here(work: Work[Rows]) -> Rows:
        return await work(session)

    campaigns = await every(session)
    reports, faults = 0, []
    for campaign in campaigns:
        for number, plan in numbered(campaign):
            anew = nothing(plan)
            async for page in pages(here, number, plan):
                anew += count(plan, page.codes)
            deleted = campaign.state is State.CLOSED and not anew.reports
            if not deleted and await counts_of(session, number, plan) != anew:
                faults.append(f"the counts of phase {plan.phase} of campaign {campaign.id[:12]}… are not its reports'")
            reports += anew.reports
    return Checked(len(campaigns), reports, faults)
