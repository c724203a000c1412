"""Lines in order, however many there are: sorted runs in temporary files, merged.

Reports to one plan begin alike up to their random id, so that their lines in order are the reports in the order of
their ids. That order says nothing about the rows that the reports came from.
"""

import heapq
import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import IO

from privtally.errors import DocumentError

LINES_A_RUN = 1 << 18
"""How many lines are in memory at once."""
MOST_RUNS = 128
"""How many temporary files are open at once; that many runs are merged into one."""


def in_order(lines: Iterable[bytes], lines_a_run: int = LINES_A_RUN, most_runs: int = MOST_RUNS) -> Iterator[bytes]:
    """The lines in ascending order, with bounded memory; all are read before the first one comes.

    The temporary files stand where TMPDIR says and have no name, so that nothing is left of them.
    """
    rest = iter(lines)
    runs: list[IO[bytes]] = []
    try:
        while len(run := sorted(islice(rest, lines_a_run))) == lines_a_run:  # more lines may follow
            runs.append(_stored(run))
            if len(runs) == most_runs:
                merged = _stored(heapq.merge(*runs))
                _close(runs)
                runs = [merged]
        yield from heapq.merge(run, *runs)
    finally:
        _close(runs)


def _stored(run: Iterable[bytes]) -> IO[bytes]:
    """A temporary file of the lines, at its beginning."""
    try:
        file = tempfile.TemporaryFile()  # noqa: SIM115  # it is closed once it is merged
        file.writelines(run)
        file.seek(0)
    except OSError as fault:
        raise DocumentError(
            f"cannot write temporary files in {tempfile.gettempdir()}: {fault.strerror}; name another place in TMPDIR"
        ) from None
    return file


def _close(runs: Iterable[IO[bytes]]) -> None:
    for run in runs:
        run.close()
