"""Files: read with a clear refusal, written whole or not at all."""

import csv
import io
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from privtally.documents.counts import Counts, load_counts
from privtally.documents.estimate import Estimate, load_estimate
from privtally.documents.plan import Plan, Priors, load_plan
from privtally.documents.report import load_report
from privtally.errors import DocumentError, PrivtallyError
from privtally.exact import canonical
from privtally.schema import Schema

T = TypeVar("T")

Advance = Callable[[int], None]
"""Hears how much of a long piece of work is done."""

STANDARD = Path("-")
"""The path that means standard input where a file is read, and standard output where one is written."""

MOST_BYTES, MOST_TABLE_BYTES = 1 << 26, 1 << 30
"""The largest schema, plan, certificate or ledger that is read, and the largest counts or estimate."""

_SIGNATURES = {
    b"PAR1": "a Parquet file; if it is data, let its name end in .parquet",
    b"ARROW1": "an Arrow file; export it as Parquet or text first",
    b"\x1f\x8b": "compressed by gzip; if it is data, let its name end in .csv.gz or .ndjson.gz",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; decompress it first: zstd -d FILE",
    b"PK\x03\x04": "a ZIP archive or a spreadsheet; unpack it, or export it as CSV first",
    b"\xff\xfe": "UTF-16 text; save it as UTF-8 first",
    b"\xfe\xff": "UTF-16 text; save it as UTF-8 first",
}
"""How files of other kinds begin, and what to do about them."""

_LOADERS: dict[Any, Callable[[bytes], Plan | Counts | Estimate]] = {
    "privtally.plan/1": load_plan,
    "privtally.counts/1": load_counts,
    "privtally.estimate/1": load_estimate,
}
_NO_DOCUMENT = "the file is neither a plan, nor counts, nor an estimate of a format known here"


def silently(_: object) -> None:
    """Tell nobody."""


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """A file's content, refused if there is none or more than `most` bytes of it."""
    with open_binary(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise DocumentError(f"{path} is larger than {most >> 20:,} MiB, too large for a document of its kind")
    if not data.strip():
        raise DocumentError(f"{path} is empty")
    return data


@contextmanager
def open_binary(path: Path) -> Iterator[BinaryIO]:
    """A file, device or pipe open for reading, or standard input for `-`; refused if it is not text."""
    with ExitStack() as stack:
        try:
            file = stack.enter_context(os.fdopen(os.dup(0), "rb") if path == STANDARD else path.open("rb"))
            start = file.peek(16)
        except OSError as fault:
            raise DocumentError(unreadable(path, fault)) from None
        for signature, kind in _SIGNATURES.items():
            if start.startswith(signature):
                raise DocumentError(f"{path} seems to be {kind}")
        yield file


def missing(path: Path) -> str:
    """That a file is not there, and what to do."""
    return f"cannot read {path}: there is no such file; check its name and its directory"


def unreadable(path: Path, fault: OSError) -> str:
    """Why a file cannot be read, and what to do."""
    if isinstance(fault, FileNotFoundError):
        return missing(path)
    if isinstance(fault, IsADirectoryError):
        return f"cannot read {path}: it is a directory; name a file"
    return f"cannot read {path}: {fault.strerror}"


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Refuse in one sentence what cannot be written."""
    try:
        yield
    except BrokenPipeError:  # whoever read stopped reading
        raise
    except OSError as fault:
        raise DocumentError(unwritable(path, fault)) from None


def unwritable(path: Path, fault: OSError) -> str:
    """Why a file cannot be written, and what to do."""
    if isinstance(fault, FileNotFoundError):
        return f"cannot write {path}: there is no directory {path.parent}; make it first"
    return f"cannot write {path}: {fault.strerror}"


def refuse_spreadsheet(path: Path) -> None:
    """Refuse a file of a spreadsheet program, and say how to export it."""
    if path.suffix.lower() in (".xlsx", ".xls", ".ods"):
        raise DocumentError(
            f"{path} is a spreadsheet; export the sheet as {path.with_suffix('.csv').name} (in Excel and LibreOffice: "
            "File, Save As, CSV UTF-8) and name that file"
        )


def position(file: BinaryIO) -> int:
    """How far a file has been read, for a progress bar; 0 for a pipe, which cannot say."""
    return file.tell() if file.seekable() else 0


@contextmanager
def write_whole(path: Path) -> Iterator[BinaryIO]:
    """A file open for writing that takes its name only once everything is in it and on disk.

    Links are followed and an existing file keeps its mode. Devices, pipes and standard output (also as `-`) cannot take
    a name, so they are written as they are.
    """
    descriptor = standard_descriptor(path)
    with writing(path), ExitStack() as stack:
        if descriptor is not None:
            yield stack.enter_context(os.fdopen(os.dup(descriptor), "wb"))
        elif is_stream(path):
            yield stack.enter_context(path.open("wb"))
        else:
            yield stack.enter_context(stack.enter_context(replacing(path)).open("wb"))


def is_stream(path: Path) -> bool:
    """Whether a path is written as it is and never replaced: a character device, a pipe or standard output."""
    mode = 0
    with suppress(OSError):  # there is no such file
        mode = path.stat().st_mode
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode) or standard_descriptor(path) is not None


def standard_descriptor(path: Path) -> int | None:
    """1 or 2 where the path means standard output or standard error."""
    if path == STANDARD:
        return 1
    for descriptor in (1, 2):
        with suppress(OSError):  # there is no such file, or the stream is closed
            if os.path.samestat(path.stat(), os.fstat(descriptor)):
                return descriptor
    return None


@contextmanager
def replacing(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """An empty draft beside the plain file that a path leads to, there already or not, whose place it takes.

    A new file has this mode, less what the process masks.
    """
    check_name(path)
    try:
        target = path.resolve()
    except RuntimeError:
        raise DocumentError(f"cannot write {path}: its links lead in a circle") from None
    if target.exists() and not target.is_file():
        raise DocumentError(f"cannot write {path}: it is a directory or a device; give the output another name")
    draft = draft_of(target)
    try:
        draft.touch(0o600 if target.exists() else mode, exist_ok=False)
        yield draft
        with suppress(FileNotFoundError):
            draft.chmod(stat.S_IMODE(target.stat().st_mode))
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def new_private_file(path: Path) -> Iterator[Path]:
    """An empty draft of a file that only its owner may read; a file that is there already is refused."""
    if path.exists():
        raise DocumentError(f"{path} is there already and stays as it is; name a new file")
    with writing(path), replacing(path, 0o600) as draft:
        yield draft


def check_output(output: Path | None, inputs: Iterable[Path]) -> None:
    """Refuse an output that is one of the inputs, under whatever name."""
    if output is None or is_stream(output):
        return
    for path in inputs:
        with suppress(OSError):  # one of them is not there
            status = os.fstat(0) if path == STANDARD else path.stat()
            if stat.S_ISREG(status.st_mode) and os.path.samestat(status, output.stat()):
                raise DocumentError(f"{output} is an input as well; give the output another name")


def check_new(output: Path, *, force: bool) -> None:
    """Refuse to replace what cannot be made again, unless that is forced."""
    if output.is_file() and not is_stream(output) and not force:
        raise DocumentError(f"{output} is there already and stays as it is; name a new file, or say --force")


@contextmanager
def write_whole_directory(path: Path) -> Iterator[Path]:
    """A directory to fill that takes its name only once everything is in it."""
    check_name(path)
    draft = draft_of(path)
    with writing(path):
        try:
            if path.exists() and (not path.is_dir() or any(path.iterdir())):
                raise DocumentError(f"{path} exists and is not an empty directory; name a new one")
            draft.mkdir()
            yield draft
            draft.replace(path)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def check_name(path: Path) -> None:
    """Refuse a path that cannot be the name of a new file."""
    if path.name in ("", "..") or path == STANDARD:
        raise DocumentError(f"cannot write {str(path)!r}: give the output a name")


def draft_of(path: Path) -> Path:
    """A hidden name beside the path, for what is not finished."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.draft")


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    with write_whole(path) as file:
        file.write(data)


def read(path: Path, load: Callable[[bytes], T], most: int = MOST_BYTES) -> T:
    """What `load` makes of a file's content; a refusal names the file."""
    data = read_bytes(path, most)
    with naming(path):
        return load(data)


def read_schema(path: str | Path) -> Schema:
    """A schema from a .toml or .json file."""
    path = Path(path)
    loaders = {".toml": Schema.from_toml, ".json": Schema.from_json}
    if path.suffix.lower() not in loaders and not path.is_dir():
        raise DocumentError(f"{path}: a schema file must end in .toml or .json")
    return read(path, loaders.get(path.suffix.lower(), Schema.from_toml))


def read_plan(path: Path) -> Plan:
    """A plan from its file."""
    return read(path, load_plan)


def read_history(paths: Sequence[Path]) -> list[tuple[Plan, Counts]]:
    """Phases from the files of their plans and counts, which take turns."""
    history: list[tuple[Plan, Counts]] = []
    for path, counts in zip(paths[::2], paths[1::2], strict=True):
        plan = read_plan(path)
        history.append((plan, read(counts, partial(load_counts, plan=plan), MOST_TABLE_BYTES)))
    return history


def read_job(directory: Path) -> list[Path]:
    """The files of plans and counts, which take turns, in a directory that `privtally run -o` wrote."""
    plans = sorted(directory.glob("plan-*.json"), key=lambda path: (len(path.name), path.name))
    if not plans:
        raise DocumentError(
            f"{directory} has no plan-1.json and counts-1.json; name the directory that privtally run -o wrote"
        )
    return [path for plan in plans for path in (plan, plan.with_name(plan.name.replace("plan-", "counts-")))]


def read_priors(path: Path) -> Priors:
    """Public shares from a table with the columns attribute, label and share, or from an estimate."""

    def load(data: bytes) -> Priors:
        if not _is_table(data):
            return load_estimate(data)
        text = canonical.refusing(lambda: canonical.as_text(data), str, DocumentError, "the table of priors")
        try:
            columns, *rows = csv.reader(io.StringIO(text))
        except csv.Error:
            raise DocumentError("the table of priors is not well-formed; are its quotes closed?") from None
        if lacking := [name for name in ("attribute", "label", "share") if name not in columns]:
            raise DocumentError(f"there is no column '{lacking[0]}'; priors have the columns attribute, label, share")
        found: dict[str, dict[str, float]] = {}
        for number, row in enumerate(filter(None, rows), start=1):
            cells = dict(zip(columns, map(canonical.normal, row), strict=False))
            try:
                attribute, label, share = cells["attribute"], cells["label"], float(cells["share"])
            except (KeyError, ValueError):
                raise DocumentError(f"row {number} must have an attribute, a label and a share from 0 to 1") from None
            if label in found.setdefault(attribute, {}):
                raise DocumentError(f"row {number} gives the share of an answer a second time; give each once")
            found[attribute][label] = share
        return found

    return read(path, load, MOST_TABLE_BYTES)


def read_document(path: Path) -> Plan | Counts | Estimate:
    """A plan, counts or an estimate, whichever the file says it is."""

    def load(data: bytes) -> Plan | Counts | Estimate:
        try:
            form = canonical.decode_object(data, DocumentError, "the file").get("format")
        except DocumentError:
            if _is_table(data):
                raise DocumentError(_NO_DOCUMENT) from None
            raise
        if form not in _LOADERS:
            raise DocumentError(_NO_DOCUMENT)
        return _LOADERS[form](data)

    return read(path, load, MOST_TABLE_BYTES)


def load(path: str | Path) -> Any:
    """The document in a file, whichever it is: a schema, a plan, a report, counts, an estimate, a certificate as plain
    values, or a list of the reports that an .ndjson file has one a line.
    """
    path = Path(path)
    if path.suffix.lower() == ".toml":
        return read_schema(path)
    if path.suffix.lower() == ".ndjson":
        return read(path, lambda data: [load_report(line) for line in data.splitlines()], MOST_TABLE_BYTES)
    document = read(path, partial(canonical.decode_object, error=DocumentError, what="the file"), MOST_TABLE_BYTES)
    match document.get("format"):
        case None:
            return read_schema(path)
        case "privtally.report/1":
            return read(path, lambda data: load_report(data.strip()))
        case "privtally.certificate/1":
            return document
    return read_document(path)


def _is_table(data: bytes) -> bool:
    """Whether what is no JSON object has a row in each line: anything that begins otherwise, or an object a line."""
    first, _, rest = data.removeprefix(b"\xef\xbb\xbf").strip().partition(b"\n")
    return not first.startswith(b"{") or (bool(rest) and first.rstrip().endswith(b"}"))


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put the file's name in front of what is refused inside."""
    try:
        yield
    except PrivtallyError as fault:
        raise type(fault)(f"{path}: {fault}") from None
