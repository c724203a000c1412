"""How often the tests of reliability do what they do: a little in `make test`, in full in `make reliability`."""

import os

FULL = bool(os.environ.get("PRIVTALLY_RELIABILITY"))


def scaled(small: int, full: int) -> int:
    return full if FULL else small
