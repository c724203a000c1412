"""Temporary files: what is said when there is no room for them."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from privtally.errors import DocumentError


@contextmanager
def temporary_room() -> Iterator[None]:
    """Refuse in one sentence when a temporary file cannot be written."""
    try:
        yield
    except OSError as fault:
        where = tempfile.gettempdir()
        raise DocumentError(
            f"cannot write temporary files in {where}: {fault.strerror}; name another place in TMPDIR"
        ) from None
