"""How often the tests of reliability do what they do: a little in `make test`, in full in `make reliability`."""

import os
from typing import TypeVar

T = TypeVar("T")

FULL = bool(os.environ.get("PRIVTALLY_RELIABILITY"))


def scaled(small: T, full: T) -> T:
    return full if FULL else small
