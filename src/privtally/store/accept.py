"""Accepting reports: each counts once, a repeated one is a success, and every refusal has a name."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from privtally.store.session import Key, Session, StoredReport

Refusal = Literal["wrong_plan", "phase_closed", "invalid_report", "id_conflict", "token_spent", "token_missing"]
Outcome = Literal["accepted", "repeated"] | Refusal


class Arrival(NamedTuple):
    """A valid report on its way into the store, with the hash of its token if it has one."""

    campaign: int
    report: StoredReport
    token: bytes | None = None
    refusal: Refusal | None = None
    """Why it is refused unless it was stored before."""


class RacedError(Exception):
    """Another process stored one of these reports in the meantime; doing all of it again is safe."""


class _Known(NamedTuple):
    closed: bool
    needs_token: bool


async def accept(session: Session, arrivals: Sequence[Arrival]) -> list[Outcome]:
    """What became of each report, in their order.

    A report that was stored before is a success in every phase and before any other check: who repeats a report because
    the reply was lost must not be made to answer again.
    """
    campaigns = await _campaigns(session, {arrival.campaign for arrival in arrivals})
    outcomes: list[Outcome] = ["accepted"] * len(arrivals)
    waiting = list(range(len(arrivals)))
    while waiting:  # one round, unless an id or a token stands there twice
        now, waiting = _apart(arrivals, waiting)
        await _round(session, campaigns, arrivals, now, outcomes)
    return outcomes


async def _campaigns(session: Session, numbers: set[int]) -> dict[int, _Known]:
    """Which campaigns take reports; held until the transaction ends, so that none of them closes in between."""
    sql = f"SELECT closed, needs_token FROM campaigns WHERE number = $1{session.for_share}"  # noqa: S608  # own names
    found = {number: await session.fetch(sql, number) for number in sorted(numbers)}
    gone = _Known(closed=True, needs_token=False)
    return {number: _Known(*map(bool, rows[0])) if rows else gone for number, rows in found.items()}


def _apart(arrivals: Sequence[Arrival], waiting: Sequence[int]) -> tuple[list[int], list[int]]:
    """Those that share neither an id nor a token with an earlier one, and the rest."""
    seen: set[tuple[int, bytes | None]] = set()
    now: list[int] = []
    later: list[int] = []
    for place in waiting:
        arrival = arrivals[place]
        keys = {(arrival.report.plan, arrival.report.id)}
        tokens = {(-arrival.campaign, arrival.token)} if arrival.token is not None else set()
        (later if (keys | tokens) & seen else now).append(place)
        seen |= keys | tokens
    return now, later


async def _round(
    session: Session,
    campaigns: dict[int, _Known],
    arrivals: Sequence[Arrival],
    places: Sequence[int],
    outcomes: list[Outcome],
) -> None:
    keys = [_key(arrivals[place]) for place in places]
    known = await session.known_reports(sorted(keys))
    candidates = []
    for place, key in zip(places, keys, strict=True):
        arrival, campaign = arrivals[place], campaigns[arrivals[place].campaign]
        if key in known:
            outcomes[place] = "repeated" if known[key] == arrival.report.codes else "id_conflict"
        elif campaign.closed:
            outcomes[place] = "phase_closed"
        elif arrival.refusal is not None:
            outcomes[place] = arrival.refusal
        elif campaign.needs_token and arrival.token is None:
            outcomes[place] = "token_missing"
        else:
            candidates.append(place)
    for place, refusal in (await _unpaid(session, campaigns, arrivals, candidates)).items():
        outcomes[place] = refusal
    accepted = sorted(arrivals[place].report for place in candidates if outcomes[place] == "accepted")
    if await session.insert_reports(accepted) != len(accepted):
        raise RacedError


async def _unpaid(
    session: Session, campaigns: dict[int, _Known], arrivals: Sequence[Arrival], places: Sequence[int]
) -> dict[int, Refusal]:
    """Spend the tokens of reports, and say which of them could not be."""
    tokens = {
        place: (arrivals[place].campaign, token)
        for place in places
        if campaigns[arrivals[place].campaign].needs_token and (token := arrivals[place].token) is not None
    }
    if not tokens:
        return {}
    spent = await session.spend_tokens(sorted(tokens.values()))
    refused: dict[int, Refusal] = {}
    for place, key in tokens.items():
        if key not in spent:
            issued = await session.fetch("SELECT 1 FROM tokens WHERE campaign = $1 AND hash = $2", *key)
            refused[place] = "token_spent" if issued else "token_missing"
    return refused


def _key(arrival: Arrival) -> Key:
    return arrival.report.plan, arrival.report.id
