"""Lines in order, however many there are: sorted runs in temporary files, merged.

Reports to one plan begin alike up to their random id, so that their lines in order are the reports in the order of
their ids. That order says nothing about the rows that the reports came from.
"""

import heapq
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from typing import IO

from privtally.errors import DocumentError


def in_order(lines: Iterable[bytes], lines_a_run: int = 1 << 19, most_runs: int = 128) -> Iterator[bytes]:
    """The lines in ascending order; all are read before the first one comes.

    At most `lines_a_run` lines are in memory and `most_runs` temporary files open at once. The files stand where
    TMPDIR says and have no name, so that nothing is left of them.
    """
    rest = iter(lines)
    with ExitStack() as files:
        runs: list[IO[bytes]] = []
        while len(run := sorted(islice(rest, lines_a_run))) == lines_a_run:  # more lines may follow
            runs.append(files.enter_context(_stored(run)))
            if len(runs) == most_runs:
                merged = _stored(heapq.merge(*runs))
                files.close()
                runs = [files.enter_context(merged)]
        yield from heapq.merge(run, *runs)


def after_the_last(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The same lines, of which the first comes after all are read."""
    with _stored(lines) as file:
        yield from file


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
