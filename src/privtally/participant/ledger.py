"""The participant's own record of what was answered: a file that lets every plan be answered once.

A report is written to the ledger, and is on disk, before anybody sees it. A crash between writing and sending therefore
costs nothing: asking again gives the same report, to be sent again. It never gives a second one, whatever the answers
are by then. The ledger holds private reports only.
"""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from math import isnan
from pathlib import Path
from typing import NamedTuple

import msgspec
from filelock import FileLock

from privtally.documents.plan import Plan
from privtally.documents.report import Report
from privtally.errors import DocumentError, LedgerError
from privtally.exact import canonical
from privtally.files import MOST_BYTES, is_stream, naming, open_binary, replacing, unwritable


class SameSurveyWarning(UserWarning):
    """A participant answers another campaign with questions that were answered before: the budgets add up."""


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The reports to one campaign, and what its first answer agreed to."""

    schema: str
    epsilon: float
    answers: int
    reports: tuple[Report, ...]
    rounds: dict[str, int] = {}
    """The rounds of the plans that were answered, by the plans' digests."""
    settled: tuple[str, ...] = ()
    """The ids of the reports for which the collector has answered."""


_NO_ENTRY = _Entry("", 0.0, 1, ())


class _Ledger(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="format", tag="privtally.ledger/1"):
    """Entries by their campaign's id, and a digest of all of them: one damaged digit shows."""

    answered: dict[str, _Entry]
    digest: str

    def __post_init__(self) -> None:
        if self.digest != canonical.digest(msgspec.to_builtins(self.answered)):
            raise LedgerError("the ledger is damaged: its content does not match its digest; restore it from a copy")


class GivenAway(NamedTuple):
    """What the reports in a ledger give away together: budgets add up over campaigns."""

    epsilon: Decimal
    reports: int


def given_away(ledger: Path) -> GivenAway:
    """What a device has given away so far, over all campaigns that it has answered."""
    return _sum_of(_entries(ledger))


def reports_to(ledger: Path, campaign: str) -> tuple[Report, ...]:
    """All reports to a campaign so far."""
    return _entries(ledger).get(campaign, _NO_ENTRY).reports


def answer_once(ledger: str | Path, plan: Plan, make: Callable[[], Report], device_cap: float | None = None) -> Report:
    """The participant's report to a plan: made now, or the same one again if it was made before.

    A campaign is answered as often as its first plan says and no more, and once a round. With a `device_cap` no report
    is made that would bring the budgets of all reports in the ledger, over all campaigns, above it.
    """
    path = Path(ledger)
    if "\0" in str(path) or is_stream(path):
        raise LedgerError("a ledger must be a file that keeps what is written, not a device, a pipe or standard output")
    with _locked(path):
        answered = _read(path)
        asked = _Entry(canonical.digest(msgspec.to_builtins(plan.schema)), plan.epsilon, plan.answers, ())
        entry = answered.get(plan.campaign_id, asked)
        known = next((report for report in entry.reports if report.plan == plan.digest), None)
        if known is not None:
            return known
        _check(plan, asked, answered)
        if device_cap is not None:
            _check_device(plan, answered, device_cap)
        report = make()
        rounds = {**entry.rounds, plan.digest: plan.round}
        more = msgspec.structs.replace(entry, reports=(*entry.reports, report), rounds=rounds)
        _write(path, {**answered, plan.campaign_id: more})
        return report


def report_to_send(ledger: Path, campaign: str) -> Report | None:
    """The report to send before another is drawn: one that may not have arrived, or the last that is allowed."""
    entry = _entries(ledger).get(campaign, _NO_ENTRY)
    unsettled = (report for report in entry.reports if report.id not in entry.settled)
    return next(unsettled, entry.reports[-1] if len(entry.reports) >= entry.answers else None)


def report_of_round(ledger: Path, plan: Plan) -> Report | None:
    """The report to the round of a plan, of whichever phase, if there is one."""
    entry = _entries(ledger).get(plan.campaign_id, _NO_ENTRY)
    return next((report for report in entry.reports if entry.rounds.get(report.plan) == plan.round), None)


def settle(ledger: Path, campaign: str, report: Report) -> None:
    """Note that the collector has answered for a report."""
    with _locked(ledger):
        answered = _read(ledger)
        entry = answered[campaign]
        if report.id not in entry.settled:
            settled = msgspec.structs.replace(entry, settled=(*entry.settled, report.id))
            _write(ledger, {**answered, campaign: settled})


def _entries(ledger: Path) -> dict[str, _Entry]:
    """What a ledger holds, by campaign; a ledger that is not there is not made."""
    if not ledger.exists():
        return {}
    with _locked(ledger):
        return _read(ledger)


def _check(plan: Plan, asked: _Entry, answered: dict[str, _Entry]) -> None:
    """Refuse an answer that the campaign's first plan does not allow; warn of the same survey under another name."""
    entry = answered.get(plan.campaign_id)
    if entry is None:
        if any(other.schema == asked.schema for other in answered.values()):
            warning = "you have answered another campaign with the same questions; both budgets add up"
            warnings.warn(warning, SameSurveyWarning, stacklevel=2)
        return
    if msgspec.structs.replace(entry, reports=(), rounds={}, settled=()) != asked:
        raise LedgerError(
            "the plan differs from the campaign that you answered in its questions, budget or answers; do not answer it"
        )
    if len(entry.reports) >= entry.answers:
        raise LedgerError(
            f"you have answered this campaign {len(entry.reports)} times, as often as its first plan allows; "
            "one more answer would exceed the budget"
        )
    if plan.round in entry.rounds.values():
        raise LedgerError("you have answered another phase of this round; a round is answered once")


def _check_device(plan: Plan, answered: dict[str, _Entry], cap: float) -> None:
    """Refuse an answer that would bring what the device gives away above its owner's cap."""
    spent = _sum_of(answered)
    if isnan(cap) or spent.epsilon + _decimal(plan.epsilon) > _decimal(cap):
        raise LedgerError(
            f"this device has given away ε = {spent.epsilon:f} in {spent.reports} reports so far; "
            f"{plan.epsilon:g} more would exceed its cap of {cap:g} over all campaigns"
        )


def _sum_of(answered: dict[str, _Entry]) -> GivenAway:
    spent = sum((len(entry.reports) * _decimal(entry.epsilon) for entry in answered.values()), Decimal(0))
    return GivenAway(spent, sum(len(entry.reports) for entry in answered.values()))


def _decimal(epsilon: float) -> Decimal:
    """A budget as people write it, so that three times 0.1 is 0.3."""
    return Decimal(repr(float(epsilon)))


def _read(path: Path) -> dict[str, _Entry]:
    if not path.exists():
        return {}
    with open_binary(path) as file, naming(path):
        return canonical.decode(file.read(MOST_BYTES), _Ledger, LedgerError, "the ledger").answered


def _write(path: Path, answered: dict[str, _Entry]) -> None:
    ledger = _Ledger(answered, canonical.digest(msgspec.to_builtins(answered)))
    try:
        with replacing(path, 0o600) as draft:  # which surveys somebody answered is nobody else's business
            draft.write_bytes(msgspec.json.format(msgspec.json.encode(ledger), indent=1) + b"\n")
    except OSError as fault:
        raise DocumentError(unwritable(path, fault)) from None
    if os.name == "posix":  # where a name is on disk only once its directory is
        directory = os.open(path.resolve().parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process at a time; the lock goes with the process, however that ends."""
    target = path.resolve()
    if not target.parent.is_dir():
        raise DocumentError(f"cannot write {path}: there is no directory {target.parent}")
    lock = FileLock(target.with_name(f".{target.name}.lock"), mode=0o600)
    try:
        held = lock.acquire()
    except OSError as fault:
        raise DocumentError(unwritable(path, fault)) from None
    with held:
        yield
