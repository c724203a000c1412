"""Accepting reports: each counts once, a repeated one is a success, and every refusal has a name."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from privtally.store.session import Key, Session, StoredReport

Refusal = Literal["wrong_plan", "phase_closed", "invalid_report", "id_conflict", "token_spent", "token_missing"]
Outcome = Literal["accepted", "repeated"] | Refusal


class Arrival(NamedTuple):
    """A valid report on its way into the store, with the hash of its token if it has one."""

    campaign: int
    report: StoredReport
    token: bytes | None = None
    refusal_if_new: Refusal | None = None
    """Why it is refused unless it was stored before."""


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
    tokens = {_token(arrival) for arrival in arrivals if campaigns[arrival.campaign].needs_token and arrival.token}
    # Tokens are held before reports are looked up: whoever spent one meanwhile has stored its report by then.
    spent = await session.hold_tokens(sorted(tokens)) if tokens else {}
    known = await session.known_reports(sorted({_key(arrival) for arrival in arrivals}))
    outcomes: list[Outcome] = []
    paid, new = [], []
    for arrival in arrivals:
        campaign = campaigns[arrival.campaign]
        outcome = _outcome(arrival, campaign, known, spent)
        outcomes.append(outcome)
        if outcome == "accepted":
            known[_key(arrival)] = arrival.report.codes
            new.append(arrival.report)
            if campaign.needs_token:
                spent[_token(arrival)] = True
                paid.append(_token(arrival))
    if paid:
        await session.spend_tokens(sorted(paid))
    if new and await session.insert_reports(sorted(new)) != len(new):
        raise RacedError
    return outcomes


def _outcome(arrival: Arrival, campaign: _Known, known: Mapping[Key, bytes], spent: Mapping[Key, bool]) -> Outcome:
    """What becomes of a report, given the codes of the known reports and whether each issued token was spent."""
    if _key(arrival) in known:
        return "repeated" if known[_key(arrival)] == arrival.report.codes else "id_conflict"
    if campaign.closed:
        return "phase_closed"
    if arrival.refusal_if_new is not None:
        return arrival.refusal_if_new
    if campaign.needs_token:
        if _token(arrival) not in spent:
            return "token_missing"
        if spent[_token(arrival)]:
            return "token_spent"
    return "accepted"


async def _campaigns(session: Session, numbers: set[int]) -> dict[int, _Known]:
    """Which campaigns take reports; held until the transaction ends, so that none of them closes in between."""
    sql = f"SELECT closed, needs_token FROM campaigns WHERE number = $1{session.for_share}"  # noqa: S608  # own names
    found = {number: await session.fetch(sql, number) for number in sorted(numbers)}
    gone = _Known(closed=True, needs_token=False)
    return {number: _Known(*map(bool, rows[0])) if rows else gone for number, rows in found.items()}


def _key(arrival: Arrival) -> Key:
    return arrival.report.plan, arrival.report.id


def _token(arrival: Arrival) -> Key:
    return arrival.campaign, arrival.token or b""
