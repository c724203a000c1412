"""New files that only their owner may read: copies of a store, lists of tokens."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from privtally.errors import DocumentError
from privtally.files import check_name, draft_of, unwritable


@contextmanager
def new_private_file(path: Path) -> Iterator[Path]:
    """An empty draft that takes its name once it is whole and on disk; a file that is there already is refused."""
    check_name(path)
    draft = draft_of(path)
    try:
        if path.exists():
            raise DocumentError(f"{path} is there already and stays as it is; name a new file")
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield draft
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as fault:
        raise DocumentError(unwritable(path, fault)) from None
    finally:
        draft.unlink(missing_ok=True)
