"""Counts that go on: what was counted is remembered in a directory, and only new files are read.

    state.json      the plan, every file that was counted, and the sums; it is replaced once everything else is there
    counts-N.json   the counts after run N (only where ids are not compared; otherwise they follow from the journal)
    ids/…           the journal of ids (see `state_ids`)
    lock            held while a run is at work

The result equals a tally of all files at once. A counted file must stay as it was: it is known by its path, size and
time of change, and if only the time differs, by its SHA-256. A file that was changed and kept both is not noticed.
"""

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb
import msgspec
from filelock import FileLock, Timeout

from privtally.collector.tally import Tallied, nothing
from privtally.documents.counts import load_counts
from privtally.documents.plan import Plan
from privtally.errors import DocumentError
from privtally.exact import wire
from privtally.files import MOST_TABLE_BYTES, STANDARD, Advance, read, silently, unreadable, unwritable, write_bytes
from privtally.names import SetAside
from privtally.tables.database import engine
from privtally.tables.paths import every_file, is_plain
from privtally.tables.report_files import count_files, refuse_nothing
from privtally.tables.report_input import DuckReports
from privtally.tables.state_ids import Journal, Seen

_AGAIN = "begin again with a new state directory"


class CountedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file as it was when it was counted."""

    path: str
    size: int
    changed: str
    """The time of its last change in nanoseconds: an integer that JSON's numbers do not hold."""
    sha256: str


class State(msgspec.Struct, forbid_unknown_fields=True, tag_field="format", tag="privtally.state/1"):
    """What is known of the files that were counted."""

    plan: str
    ids_compared: bool
    runs: int = 0
    files: list[CountedFile] = []
    journal: list[str] = []
    sound: int = 0
    conflicting: int = 0
    wrong_plan: int = 0
    invalid: int = 0


class Continued(msgspec.Struct):
    """What a tally with a state gave."""

    result: Tallied
    counted_before: int
    """How many files were not read again."""
    read_now: int


def tally_on(
    plan: Plan, paths: Sequence[Path], directory: Path, *, trust_ids: bool = False, advance: Advance = silently
) -> Continued:
    """Count the files that are new to a state, and give the counts of all that it knows."""
    found = every_file(paths)
    _check_inputs(found, directory)
    with _locked(directory):
        state = _load(directory, plan, trust_ids=trust_ids)
        state.files = [_unchanged(file) for file in state.files]
        known = {file.path for file in state.files}
        new = [path for path in found if str(path.resolve()) not in known]
        counted = [_described(path) for path in new]
        step = _trusting if trust_ids else _comparing
        before = len(state.files)
        result = step(plan, directory, state, new, advance)
        for path, file in zip(new, counted, strict=True):
            if _described(path, file.sha256) != file:
                raise DocumentError(f"{path} was changed while it was read; tally it again once it is complete")
        refuse_nothing(plan, result)
        state.files += counted
        state.runs += 1
        write_bytes(directory / "state.json", wire.canonical(msgspec.to_builtins(state)) + b"\n")
        _clean(directory, state)
    return Continued(result, before, len(new))


def _comparing(plan: Plan, directory: Path, state: State, new: Sequence[Path], advance: Advance) -> Tallied:
    """The tally of all reports, each id once."""
    seen = Seen(state.sound, state.conflicting, state.wrong_plan, state.invalid)
    with engine() as connection:
        try:
            journal = Journal(connection, plan, [directory / "ids" / name for name in state.journal])
            if new:
                reports = DuckReports(connection, plan, new, advance=advance)
                journal.add(reports, directory / "ids", state.runs, seen)
            counts = journal.counts() if journal.files or journal.added else nothing(plan)
        except duckdb.Error:
            raise DocumentError(f"the state in {directory} cannot be read or written; {_AGAIN}") from None
    state.journal += [path.name for path in journal.added]
    state.sound, state.conflicting = seen.sound, seen.conflicting
    state.wrong_plan, state.invalid = seen.wrong_plan, seen.invalid
    return Tallied(counts, seen.sound - seen.conflicting - counts.reports, _aside(state))


def _trusting(plan: Plan, directory: Path, state: State, new: Sequence[Path], advance: Advance) -> Tallied:
    """The tally of all reports, whose ids are not compared."""
    counts = nothing(plan)
    if state.runs:
        path = directory / f"counts-{state.runs - 1}.json"
        counts = read(path, lambda data: load_counts(data, plan), MOST_TABLE_BYTES)
    if new:
        more = count_files(plan, new, trust_ids=True, advance=advance)
        counts += more.counts
        state.wrong_plan += more.set_aside.get("wrong_plan", 0)
        state.invalid += more.set_aside.get("invalid_report", 0)
    write_bytes(directory / f"counts-{state.runs}.json", counts.dump())
    return Tallied(counts, 0, _aside(state))


def _aside(state: State) -> dict[SetAside, int]:
    many: dict[SetAside, int] = {
        "wrong_plan": state.wrong_plan,
        "invalid_report": state.invalid,
        "id_conflict": state.conflicting,
    }
    return {reason: number for reason, number in many.items() if number}


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    try:
        (directory / "ids").mkdir(parents=True, exist_ok=True)
        with FileLock(directory / "lock", timeout=0):
            yield
    except Timeout:
        raise DocumentError(f"the state in {directory} is in use by another run; wait for its end") from None
    except OSError as fault:
        raise DocumentError(unwritable(directory, fault)) from None


def _load(directory: Path, plan: Plan, *, trust_ids: bool) -> State:
    path = directory / "state.json"
    if not path.exists():
        return State(plan.digest, not trust_ids)
    state = read(path, lambda data: wire.decode(data, State, DocumentError, "the state"), MOST_TABLE_BYTES)
    if state.plan != plan.digest:
        raise DocumentError(
            f"the state in {directory} belongs to plan {state.plan[:12]}…, not {plan.digest[:12]}…; "
            "keep a state directory for each plan"
        )
    if state.ids_compared == trust_ids:
        said = "did not compare" if trust_ids is False else "compared"
        raise DocumentError(
            f"the state in {directory} {said} ids so far; go on {'without' if trust_ids else 'with'} --trust-ids, "
            f"or {_AGAIN}"
        )
    missing = [name for name in state.journal if not (directory / "ids" / name).is_file()]
    if missing:
        raise DocumentError(f"the state in {directory} has lost a part of its journal; {_AGAIN}")
    return state


def refuse_inside(directory: Path, named: Sequence[Path]) -> None:
    """Refuse a state inside a directory of reports, whose files would be taken for reports the next time."""
    if any(path.is_dir() and path.resolve() in [directory.resolve(), *directory.resolve().parents] for path in named):
        raise DocumentError(f"the state directory {directory} lies inside the reports; name another place for it")


def _check_inputs(paths: Sequence[Path], directory: Path) -> None:
    """Refuse what cannot be looked at again, and the state itself."""
    own = directory.resolve()
    for path in paths:
        if own in path.resolve().parents:
            raise DocumentError(f"the state directory {directory} lies inside the reports; name another place for it")
        if path == STANDARD or (path.exists() and not is_plain(path)):
            raise DocumentError(f"{path} is not a plain file, which a state needs to know it again")


def _unchanged(file: CountedFile) -> CountedFile:
    """A counted file as it is now, refused if it is not what was counted."""
    path = Path(file.path)
    if not path.is_file():
        raise DocumentError(f"{path} was counted and is no longer there; put it back, or {_AGAIN}")
    now = _described(path, file.sha256)
    if now.size == file.size and now.changed != file.changed:
        now = _described(path)
    if (now.size, now.sha256) != (file.size, file.sha256):
        raise DocumentError(f"{path} was changed after it was counted; {_AGAIN}")
    return now


def _described(path: Path, sha256: str | None = None) -> CountedFile:
    """A file as it is now; its content is read unless its digest is given."""
    try:
        about = path.stat()
        if sha256 is None:
            with path.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as fault:
        raise DocumentError(unreadable(path, fault)) from None
    return CountedFile(str(path.resolve()), about.st_size, str(about.st_mtime_ns), sha256)


def _clean(directory: Path, state: State) -> None:
    """Take away what runs that did not end, and the one before this, left behind."""
    for path in (directory / "ids").iterdir():
        if path.name not in state.journal:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in directory.glob("counts-*.json"):
        if state.ids_compared or path.name != f"counts-{state.runs - 1}.json":
            path.unlink()
