"""How much tests do: a little in `make test`; more repetitions and cases where PRIVTALLY_RELIABILITY is set."""

import os
from typing import TypeVar

T = TypeVar("T")

FULL = bool(os.environ.get("PRIVTALLY_RELIABILITY"))


def scaled(small: T, full: T) -> T:
    return full if FULL else small
