"""Reports in files, one JSON object a line, read with care: whatever is a report is written again as we write it."""

import codecs
import gzip
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, BinaryIO

from privtally.documents.report import load_report
from privtally.errors import DocumentError, ReportError
from privtally.files import open_binary
from privtally.tables.paths import Packing

MOST_LINE_BYTES = 1 << 24
"""No report is longer; a file without line ends is refused instead of read to its end."""


def canonical_copy(path: Path, packing: Packing, output: IO[bytes]) -> None:
    """Write the reports of a file, each as `Report.dump` does; a line that holds none becomes `invalid`."""
    if packing == "zstd":
        raise DocumentError(f"{path} has lines that are not written as usual; decompress it, then they can be read")
    with ExitStack() as stack:
        file: BinaryIO
        if packing == "gzip":
            file = stack.enter_context(gzip.open(path, "rb"))  # type: ignore[assignment]  # it reads as one
        else:
            file = stack.enter_context(open_binary(path))
        try:
            output.writelines(line + b"\n" for line in _canonical(file, path))
        except (EOFError, gzip.BadGzipFile):
            raise DocumentError(
                f"{path} cannot be read as lines of JSON compressed by gzip; is it cut short?"
            ) from None


def _canonical(file: BinaryIO, path: Path) -> Iterator[bytes]:
    for number, line in enumerate(iter(lambda: file.readline(MOST_LINE_BYTES), b""), start=1):
        if len(line) == MOST_LINE_BYTES:
            most = MOST_LINE_BYTES >> 20
            raise ReportError(f"{path}, line {number}: the line is longer than {most} MiB; this is no report")
        if line.strip():
            try:
                yield load_report(line.removeprefix(codecs.BOM_UTF8) if number == 1 else line).dump()
            except ReportError:
                yield b"invalid"
