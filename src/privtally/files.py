"""Files: read with a clear refusal, written whole or not at all."""

import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from privtally.documents.counts import Counts, load_counts
from privtally.documents.estimate import Estimate, load_estimate
from privtally.documents.plan import Plan, load_plan
from privtally.documents.report import Report, load_report
from privtally.errors import DocumentError, PrivtallyError, ReportError
from privtally.exact import wire
from privtally.schema import Schema

Advance = Callable[[int], None]
"""Hears how much of a long piece of work is done."""


def silently(done: int) -> None:  # nobody listens
    """Tell nobody."""


def read_bytes(path: Path) -> bytes:
    """A file's content, refused if there is none."""
    with open_binary(path) as file:
        data = file.read()
    if not data.strip():
        raise DocumentError(f"{path} is empty")
    return data


@contextmanager
def open_binary(path: Path) -> Iterator[BinaryIO]:
    """A file open for reading."""
    try:
        file = path.open("rb")
    except OSError as fault:
        raise DocumentError(f"cannot read {path}: {fault.strerror}") from None
    with file:
        yield file


@contextmanager
def write_whole(path: Path) -> Iterator[BinaryIO]:
    """A file open for writing that takes its name only once everything is in it and on disk."""
    draft = _draft_of(path)
    try:
        file = draft.open("xb")
    except OSError as fault:
        raise DocumentError(f"cannot write {path}: {fault.strerror}") from None
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as fault:
        raise DocumentError(f"cannot write {path}: {fault.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def write_whole_directory(path: Path) -> Iterator[Path]:
    """A directory to fill that takes its name only once everything is in it."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise DocumentError(f"{path} exists and is not an empty directory; name a new one")
    draft = _draft_of(path)
    try:
        draft.mkdir()
        yield draft
        draft.replace(path)
    except OSError as fault:
        raise DocumentError(f"cannot write {path}: {fault.strerror}") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _draft_of(path: Path) -> Path:
    """A hidden name beside the path, for what is not finished."""
    if not path.name or path.name == "..":
        raise DocumentError(f"cannot write {str(path)!r}: give the output a name")
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.draft")


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    with write_whole(path) as file:
        file.write(data)


def read_schema(path: Path) -> Schema:
    """A schema from a .toml or .json file."""
    data = read_bytes(path)
    with naming(path):
        if path.suffix == ".toml":
            return Schema.from_toml(_text(data))
        if path.suffix == ".json":
            return Schema.from_json(data)
        raise DocumentError("a schema file must end in .toml or .json")


def read_plan(path: Path) -> Plan:
    """A plan from its file."""
    data = read_bytes(path)
    with naming(path):
        return load_plan(data)


def read_counts(path: Path, plan: Plan) -> Counts:
    """Counts of the given plan from their file."""
    data = read_bytes(path)
    with naming(path):
        return load_counts(data, plan)


def read_document(path: Path) -> Plan | Counts | Estimate:
    """A plan, counts or an estimate, whichever the file says it is."""
    data = read_bytes(path)
    with naming(path):
        kind = wire.decode_object(data, DocumentError, "the file").get("format")
        match kind:
            case "privtally.plan/1":
                return load_plan(data)
            case "privtally.counts/1":
                return load_counts(data)
            case "privtally.estimate/1":
                return load_estimate(data)
        raise DocumentError("the file is neither a plan, nor counts, nor an estimate of a format known here")


class ReportFiles:
    """The reports of NDJSON files, one by one; `place` says where the last one stood."""

    def __init__(self, paths: Sequence[Path], advance: Advance = silently) -> None:
        self.place = ""
        self._paths = paths
        self._advance = advance

    def __iter__(self) -> Iterator[Report]:
        done = 0
        for path in self._paths:
            with open_binary(path) as file:
                empty = True
                for number, line in enumerate(file, start=1):
                    self.place = f"{path}, line {number}"
                    if line.strip():
                        empty = False
                        yield load_report(line)
                    if number % 10_000 == 0:
                        self._advance(done + file.tell())
                if empty:
                    self.place = str(path)
                    raise ReportError("the file has no reports in it")
                done += file.tell()


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put the file's name in front of what is refused inside."""
    try:
        yield
    except PrivtallyError as fault:
        raise type(fault)(f"{path}: {fault}") from None


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise DocumentError("the file is not UTF-8 text") from None
