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
from filelock import FileLock

from privtally.documents.plan import Plan
from privtally.documents.report import Report
from privtally.errors import DocumentError, LedgerError
from privtally.exact import wire
from privtally.files import MOST_BYTES, naming, open_binary, write_bytes


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An answer under the name of its campaign, which its key in the ledger repeats: one damaged digit shows."""

    campaign: str
    report: Report


class _Ledger(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="format", tag="privtally.ledger/1"):
    answered: dict[str, _Entry]

    def __post_init__(self) -> None:
        if any(key != entry.campaign for key, entry in self.answered.items()):
            raise LedgerError("an entry names another campaign than its key does; restore the ledger from a copy")


def once(ledger: str | Path, plan: Plan, make: Callable[[], Report]) -> Report:
    """The participant's one report to a campaign: made now, or the same one again if it was made before."""
    path = Path(ledger)
    with _locked(path):
        answered = _read(path)
        campaign = campaign_of(plan)
        known = answered.get(campaign)
        if known is None:
            if any(entry.report.plan == plan.digest for entry in answered.values()):
                raise LedgerError(f"{path}: this plan is answered under another campaign; restore the ledger")
            entry = _Entry(campaign, make())
            _write(path, {**answered, campaign: entry})
            return entry.report
    if known.report.plan != plan.digest:
        raise LedgerError("you have answered another phase of this campaign; a second answer would double the budget")
    return known.report


def campaign_of(plan: Plan) -> str:
    """What names a campaign: the digest of its first plan."""
    return plan.digest if plan.learned is None else plan.learned.plan


def _read(path: Path) -> dict[str, _Entry]:
    if not path.exists():
        return {}
    with open_binary(path) as file, naming(path):
        return wire.decode(file.read(MOST_BYTES), _Ledger, LedgerError, "the ledger").answered


def _write(path: Path, answered: dict[str, _Entry]) -> None:
    write_bytes(path, msgspec.json.format(msgspec.json.encode(_Ledger(answered)), indent=1) + b"\n")
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
        raise DocumentError(f"cannot write {path}: {fault.strerror}") from None
    with held:
        yield
