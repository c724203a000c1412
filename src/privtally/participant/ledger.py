"""The participant's own record of what was answered: a file that lets one campaign be answered once.

A report is written to the ledger, and is on disk, before anybody sees it. A crash between writing and sending therefore
costs nothing: asking again gives the same report, to be sent again. It never gives a second one, whatever the answers
are by then. The ledger holds private reports only.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from privtally.documents.plan import Plan
from privtally.documents.report import Report
from privtally.errors import DocumentError, LedgerError
from privtally.exact import wire
from privtally.files import naming, open_binary, write_bytes


class _Ledger(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="format", tag="privtally.ledger/1"):
    answered: dict[str, Report]


def once(ledger: Path, plan: Plan, make: Callable[[], Report]) -> Report:
    """The participant's one report to a campaign: made now, or the same one again if it was made before."""
    with _locked(ledger):
        answered = _read(ledger)
        campaign = plan.campaign_id
        known = answered.get(campaign)
        if known is None:
            report = make()
            _write(ledger, {**answered, campaign: report})
            return report
    if known.plan != plan.digest:
        raise LedgerError("you have answered another phase of this campaign; a second answer would double the budget")
    return known


def _read(path: Path) -> dict[str, Report]:
    if not path.exists():
        return {}
    with open_binary(path) as file, naming(path):
        return wire.decode(file.read(), _Ledger, LedgerError, "the ledger").answered


def _write(path: Path, answered: dict[str, Report]) -> None:
    write_bytes(path, msgspec.json.format(msgspec.json.encode(_Ledger(answered)), indent=1) + b"\n")
    # The name is on disk only once its directory is.
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process at a time; the lock goes with the process, however that ends."""
    import fcntl  # not on every system, and needed for ledgers alone

    try:
        lock = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as fault:
        raise DocumentError(f"cannot write {path}: {fault.strerror}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
