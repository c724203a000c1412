"""How one word decides a code: the line of words is cut into pieces, and the piece that holds the word decides."""

from dataclasses import dataclass

from privtally.exact.arrays import Integers
from privtally.exact.source import WORD


@dataclass(frozen=True, eq=False)
class Pieces:
    """A channel as pieces of the line of words.

    The code is `first` plus the number of the piece that holds the word; where a channel `turns`, the given code is
    added and the sum taken round the circle of `codes` codes. A word at or above `bound` is drawn again.
    """

    codes: int
    first: int = 0
    turns: bool = False
    drawn: bool = True
    """Whether a word is drawn at all: with one piece there is nothing to decide."""
    number: int = 1
    """How many pieces there are."""
    length: int = 0
    """How many words each piece has, the last one whatever is left; 0 where `ends` says it."""
    bound: int = WORD
    ends: Integers | None = None
    """For each given code, or in one row for all, where each piece but the last ends, in units of 2^32 words."""
