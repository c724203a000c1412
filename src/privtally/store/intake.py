"""Intake: what becomes of each report; those that wait go into one transaction, and are acknowledged once on disk."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple

from privtally.documents.report import Refusal
from privtally.errors import UnavailableError
from privtally.store.campaigns import FOLD_AFTER, every, fold, numbered
from privtally.store.session import Key, Session, Store, StoredReport, log_defect

Outcome = Literal["accepted", "repeated"] | Refusal


class Arrival(NamedTuple):
    """A valid report on its way into the store, with the hash of its token if it has one."""

    campaign: int
    report: StoredReport
    token: bytes | None = None
    refusal_if_new: Refusal | None = None
    """Why it is refused unless it was stored before."""

    @property
    def key(self) -> Key:
        return self.report.plan, self.report.id

    @property
    def token_key(self) -> Key:
        return self.campaign, self.token or b""


class RacedError(Exception):
    """Another process stored one of these reports in the meantime; doing all of it again is safe."""


class _Known(NamedTuple):
    closed: bool
    needs_token: bool


async def accept(session: Session, arrivals: Sequence[Arrival]) -> list[Outcome]:
    """What became of each report, in their order, whether they come in one group or one after the other.

    A report that was stored before is a success in every phase and before any other check: who repeats a report because
    the reply was lost must not be made to answer again.
    """
    campaigns = await _campaigns(session, {arrival.campaign for arrival in arrivals})
    tokens = {arrival.token_key for arrival in arrivals if campaigns[arrival.campaign].needs_token and arrival.token}
    # Tokens are held before reports are looked up: whoever spent one meanwhile has stored its report by then.
    spent = await session.hold_tokens(sorted(tokens)) if tokens else {}
    known = await session.known_reports(sorted({arrival.key for arrival in arrivals}))
    outcomes: list[Outcome] = []
    paid, new = [], []
    for arrival in arrivals:
        campaign = campaigns[arrival.campaign]
        outcome = _outcome(arrival, campaign, known, spent)
        outcomes.append(outcome)
        if outcome == "accepted":
            known[arrival.key] = arrival.report.codes
            new.append(arrival.report)
            if campaign.needs_token:
                spent[arrival.token_key] = True
                paid.append(arrival.token_key)
    if paid:
        await session.spend_tokens(sorted(paid))
    if new and await session.insert_reports(sorted(new)) != len(new):
        raise RacedError
    return outcomes


def _outcome(arrival: Arrival, campaign: _Known, known: Mapping[Key, bytes], spent: Mapping[Key, bool]) -> Outcome:
    """What becomes of a report, given the codes of the known reports and whether each issued token was spent."""
    if arrival.key in known:
        return "repeated" if known[arrival.key] == arrival.report.codes else "id_conflict"
    if campaign.closed:
        return "phase_closed"
    if arrival.refusal_if_new is not None:
        return arrival.refusal_if_new
    if campaign.needs_token:
        if arrival.token_key not in spent:
            return "token_missing"
        if spent[arrival.token_key]:
            return "token_spent"
    return "accepted"


async def _campaigns(session: Session, numbers: set[int]) -> dict[int, _Known]:
    """Which campaigns take reports; held until the transaction ends, so that none of them closes in between."""
    sql = f"SELECT closed, needs_token FROM campaigns WHERE number = $1{session.for_share}"  # noqa: S608  # own names
    rows_by_number = {number: await session.fetch(sql, number) for number in sorted(numbers)}
    gone = _Known(closed=True, needs_token=False)
    return {number: _Known(*map(bool, rows[0])) if rows else gone for number, rows in rows_by_number.items()}


async def fold_all(store: Store) -> None:
    """Count the reports of all plans that are not counted yet, those of earlier processes as well."""
    for campaign in await store.read(every):
        for number, plan in numbered(campaign):
            await store.write(partial(fold, number=number, plan=plan))


MOST_IN_GROUP = 20_000
MOST_WAITING = 100_000
"""How many reports may wait; more are refused for now."""
_MOST_RACES = 10


class Intake:
    """Groups of reports for one store. Nothing is acknowledged unless its whole group is on disk."""

    def __init__(self, store: Store, most_waiting: int = MOST_WAITING) -> None:
        self._store, self._most_waiting = store, most_waiting
        self._queue: asyncio.Queue[tuple[Sequence[Arrival], asyncio.Future[list[Outcome]]]] = asyncio.Queue()
        self._uncounted = 0
        self._ended = False
        self.waiting = 0

    async def accept(self, arrivals: Sequence[Arrival]) -> list[Outcome]:
        """What became of each report; refused for now where too many wait or the store fails."""
        self.check()
        if not arrivals:
            return []
        if self.waiting + len(arrivals) > self._most_waiting:
            raise UnavailableError("too many reports are waiting; nothing was stored, try again in a moment")
        done: asyncio.Future[list[Outcome]] = asyncio.get_running_loop().create_future()
        self.waiting += len(arrivals)
        self._queue.put_nowait((arrivals, done))
        return await done

    def check(self) -> None:
        """Refuse for now if nothing stores reports any more."""
        if self._ended:
            raise UnavailableError("the intake of reports has ended; start the service again")

    async def run(self) -> None:
        """Store group after group, until cancelled."""
        try:
            while True:
                await self._store_next()
                if self._uncounted >= FOLD_AFTER:
                    self._uncounted = 0
                    await self._count()
        finally:
            self._ended = True

    async def _store_next(self) -> None:
        """Wait for reports, and store all that wait, up to a limit."""
        group = [await self._queue.get()]
        arrivals = [*group[0][0]]
        while len(arrivals) < MOST_IN_GROUP and not self._queue.empty():
            group.append(self._queue.get_nowait())
            arrivals += group[-1][0]
        try:
            outcomes = iter(await self._stored(arrivals))
        except Exception as fault:  # noqa: BLE001  # whoever waits must hear of it, whatever it is
            for _, done in group:
                if not done.cancelled():
                    done.set_exception(fault)
        else:
            self._uncounted += len(arrivals)
            for batch, done in group:
                result = [next(outcomes) for _ in batch]
                if not done.cancelled():
                    done.set_result(result)
        self.waiting -= len(arrivals)

    async def _count(self) -> None:
        """Count what was stored; where that fails, it can wait, and reports are stored as before."""
        try:
            await fold_all(self._store)
        except UnavailableError:
            pass
        except Exception as fault:  # noqa: BLE001  # reports must be stored, whatever it is
            log_defect(fault)

    async def _stored(self, arrivals: Sequence[Arrival]) -> list[Outcome]:
        for _ in range(_MOST_RACES):
            try:
                return await self._store.write(partial(accept, arrivals=arrivals))
            except RacedError:
                continue
        raise UnavailableError("other processes keep storing the same reports; try again in a moment")
