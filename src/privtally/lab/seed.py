"""Repeatable randomness, for experiments only."""

import hashlib

from privtally.exact.source import Stream


def seeded(seed: int) -> Stream:
    """A stream that the seed determines. Never give it to a participant: whoever knows the seed can undo a report."""
    return Stream(hashlib.sha256(f"privtally lab seed {seed}".encode()).digest())
