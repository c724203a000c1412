"""Reports in files, one JSON object a line, read with care: whatever is a report is written again as we write it."""

import codecs
import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import msgspec

from privtally.documents.report import load_report
from privtally.errors import DocumentError, ReportError
from privtally.files import open_binary, unreadable
from privtally.tables.temporary import temporary_room

_LEAST, _MOST = -1, 1 << 32
"""Codes beyond are written as these, which no plan has either."""

_MOST_PASSED_BYTES = 1 << 30
"""How much of one line is passed over before the file is refused: a device may never end."""

Lines = Iterable[bytes | None]
"""The lines of a file; None stands for a line that is too long to be kept."""


def canonical_copy(lines: Lines, output: IO[bytes]) -> None:
    """Write the reports of a file, each as `Report.dump` does; a line that holds none becomes `invalid`."""
    with temporary_room():
        for number, line in enumerate(lines, start=1):
            if line is None:
                output.write(b"invalid\n")
            elif line.strip():
                output.write(_canonical(line.removeprefix(codecs.BOM_UTF8) if number == 1 else line) + b"\n")
        output.flush()


def plain_lines(path: Path, most: int) -> Iterator[bytes | None]:
    """The lines of a file, a pipe or standard input; a line may have `most` bytes."""
    with open_binary(path) as file:
        yield from _lines(file, path, most)


def gzip_lines(path: Path, most: int) -> Iterator[bytes | None]:
    """The lines of a file that is compressed by gzip."""
    try:
        with gzip.open(path, "rb") as file:
            yield from _lines(io.BufferedReader(file), path, most)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise DocumentError(f"{path} cannot be read as lines of JSON compressed by gzip; is it cut short?") from None
    except OSError as fault:
        raise DocumentError(unreadable(path, fault)) from None


def _lines(file: IO[bytes], path: Path, most: int) -> Iterator[bytes | None]:
    for number, line in enumerate(iter(lambda: file.readline(most), b""), start=1):
        piece, passed = line, len(line)
        while len(piece) == most and not piece.endswith(b"\n"):
            piece = file.readline(most)
            passed += len(piece)
            if passed > _MOST_PASSED_BYTES:
                long = f"the line is longer than {_MOST_PASSED_BYTES >> 20:,} MiB"
                raise ReportError(f"{path}, line {number}: {long}; this is no file of reports")
        yield line if passed <= most else None


def _canonical(line: bytes) -> bytes:
    try:
        report = load_report(line)
    except ReportError:
        return b"invalid"
    codes = tuple(None if code is None else min(max(code, _LEAST), _MOST) for code in report.codes)
    return msgspec.structs.replace(report, codes=codes).dump()
