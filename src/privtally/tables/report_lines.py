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
from privtally.tables.csv_engine import MOST_LINE_BYTES
from privtally.tables.temporary import temporary_room

_LEAST, _MOST = -1, 1 << 32
"""Codes beyond are written as these, which no plan has either."""


def canonical_copy(lines: Iterable[bytes], output: IO[bytes]) -> None:
    """Write the reports of a file, each as `Report.dump` does; a line that holds none becomes `invalid`."""
    with temporary_room():
        for number, line in enumerate(lines, start=1):
            if line.strip():
                output.write(_canonical(line.removeprefix(codecs.BOM_UTF8) if number == 1 else line) + b"\n")
        output.flush()


def plain_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, a pipe or standard input."""
    with open_binary(path) as file:
        yield from _lines(file, path)


def gzip_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file that is compressed by gzip."""
    try:
        with gzip.open(path, "rb") as file:
            yield from _lines(io.BufferedReader(file), path)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise DocumentError(f"{path} cannot be read as lines of JSON compressed by gzip; is it cut short?") from None
    except OSError as fault:
        raise DocumentError(unreadable(path, fault)) from None


def _lines(file: IO[bytes], path: Path) -> Iterator[bytes]:
    for number, line in enumerate(iter(lambda: file.readline(MOST_LINE_BYTES), b""), start=1):
        if len(line) == MOST_LINE_BYTES:
            most = MOST_LINE_BYTES >> 20
            raise ReportError(f"{path}, line {number}: the line is longer than {most} MiB; this is no report")
        yield line


def _canonical(line: bytes) -> bytes:
    try:
        report = load_report(line)
    except ReportError:
        return b"invalid"
    codes = tuple(None if code is None else min(max(code, _LEAST), _MOST) for code in report.codes)
    return msgspec.structs.replace(report, codes=codes).dump()
