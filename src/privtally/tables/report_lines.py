"""Reports in files, one JSON object a line."""

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from privtally.documents.report import Report, load_report
from privtally.errors import ReportError
from privtally.files import Advance, open_binary, position, silently

MOST_LINE_BYTES = 1 << 24
"""No report is longer; a file without line ends is refused instead of read to its end."""


@dataclass
class ReportFiles:
    """The reports of NDJSON files, one by one; `place` says where the last one stood."""

    paths: Sequence[Path]
    advance: Advance = silently
    place: str = ""

    def __iter__(self) -> Iterator[Report]:
        done = 0
        for path in self.paths:
            with open_binary(path) as file:
                empty = True
                for number, line in enumerate(iter(lambda: file.readline(MOST_LINE_BYTES), b""), start=1):
                    self.place = f"{path}, line {number}"
                    if len(line) == MOST_LINE_BYTES:
                        raise ReportError(f"the line is longer than {MOST_LINE_BYTES >> 20} MiB; this is no report")
                    if line.strip():
                        empty = False
                        yield load_report(line.removeprefix(codecs.BOM_UTF8) if number == 1 else line)
                    if number % 10_000 == 0:
                        self.advance(done + position(file))
                if empty:
                    self.place = str(path)
                    raise ReportError("the file has no reports in it")
                done += position(file)
