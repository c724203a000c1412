"""A part's draw in compiled code, where numba is installed: the same words in the same order give the same reports.

The plain path in `part` says what is drawn; this one draws it in a few passes over the records. It serves parts whose
channels each take one word or none, and at most 128 codes. Other parts, and the rare chunk in which a word must be
drawn again, take the plain path.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from privtally.exact.arrays import Codes
from privtally.exact.source import Source, Taken, Words
from privtally.mechanisms.filling import Uniform
from privtally.mechanisms.fills import Places
from privtally.mechanisms.part import Part
from privtally.mechanisms.pieces import Pieces

MOST_CODES = 128
"""Up to so many codes, the sum of two of them and a step fits a byte."""

RULE = np.dtype(
    [
        *((name, np.uint64) for name in ("length", "last", "start")),
        *((name, np.uint32) for name in ("column", "place", "number", "rows")),
        *((name, np.uint8) for name in ("codes", "first", "turns", "drawn")),
    ],
)
"""One channel of one branch, as the compiled code reads it: `Pieces`, its attribute, and where its ends are listed."""


def kernel() -> ModuleType | None:
    """The compiled functions, or None where numba is missing or told not to compile (NUMBA_DISABLE_JIT)."""
    if find_spec("numba") is None:
        return None
    import numba

    if vars(numba.config)["DISABLE_JIT"]:
        return None
    from privtally.mechanisms import kernel as functions

    return functions


@dataclass(frozen=True, eq=False)
class FusedPart:
    """A part with a rule for each of its branches and attributes, the branch's pivots first."""

    part: Part
    functions: ModuleType
    rules: NDArray[np.void]
    ends: Words

    def draw(self, codes: Codes, room: Codes, source: Source) -> None:
        """The same as `Part.draw`."""
        raw = codes
        if codes.dtype != np.uint8:  # of a wide table each part converts its own columns only
            raw = np.empty_like(codes, dtype=np.uint8)
            for own in self.part.attributes:
                raw[own] = codes[own]
        drawn = room if room.dtype == np.uint8 else np.empty(room.shape, dtype=np.uint8)
        words = self._draw(raw, drawn, source)
        if words is not None:
            self.part.draw(codes, room, Taken(words, source))
        elif drawn is not room:
            for own in self.part.attributes:
                room[own] = drawn[own]

    def _draw(self, codes: Codes, room: Codes, source: Source) -> Words | None:
        """Draw, or give back the words that were taken because one of them must be drawn again."""
        functions, counts, even = self.functions, self._words, Uniform(len(self.rules)).pieces
        length, last = np.uint64(even.length), np.uint64(even.bound - 1)
        people = codes.shape[1]
        drawing = self.rules, self.ends, self.part.pivots
        if len(self.rules) == 1:
            words = source.words(people * int(counts[0]))
            done = functions.draw_all(codes, room, words, self.rules[0], self.ends)
        elif (counts == counts[0]).all():
            words = source.words(people * (1 + int(counts[0])))
            done = functions.draw_at_once(codes, room, words, length, last, *drawing)
        else:
            chosen, taking = np.empty(people, dtype=np.uint32), np.zeros(len(counts), dtype=np.int64)
            words = source.words(people)
            done = functions.choose(words, length, last, chosen, taking)
            if done:
                more = source.words(int(taking @ counts))
                done = functions.draw_branches(codes, room, chosen, taking, more, *drawing)
                words = words if done else np.concatenate([words, more])
        return None if done else words

    @cached_property
    def _words(self) -> NDArray[np.int64]:
        """How many words each branch takes a person, the choice of the branch aside."""
        return np.asarray(self.rules["drawn"].sum(axis=1), dtype=np.int64)


def fuse(part: Part) -> FusedPart | None:
    """The part in compiled code; None where that cannot be."""
    functions = kernel()
    slots = [(own, pieces) for branch in part.branches for own, pieces in _slots(part, branch)]
    if functions is None or any(pieces is None or pieces.codes > MOST_CODES for _, pieces in slots):
        return None
    rules, ends = np.zeros(len(slots), dtype=RULE), [np.zeros(0, dtype=np.int64)]
    start = 0
    for rule, (own, pieces) in zip(rules, slots, strict=True):
        assert pieces is not None
        for name in ("codes", "first", "turns", "drawn", "number", "length"):
            rule[name] = getattr(pieces, name)
        rule["last"] = pieces.bound - 1
        rule["place"], rule["column"] = own, part.attributes[own]
        if pieces.ends is not None:
            rule["start"], rule["rows"] = start, len(pieces.ends)
            ends.append(pieces.ends.ravel())
            start += pieces.ends.size
    shape = (len(part.branches), len(part.attributes))
    return FusedPart(part, functions, rules.reshape(shape), np.concatenate(ends).astype(np.uint64))


def _slots(part: Part, branch: Places) -> Iterator[tuple[int, Pieces | None]]:
    """The attributes in the order in which a branch draws them, and how a word decides each."""
    for own in branch:
        yield own, part.asked[own].pieces
    for own in part.others(branch):
        answers = part.answers[own]
        silence = Pieces(answers, first=answers, drawn=False)
        yield own, silence if part.silent else part.filling(branch, own).pieces
