"""Words at the edges of a mechanism's pieces, where a draw that is off by one shows."""

from collections.abc import Iterator, Sequence

import numpy as np

from privtally.exact.source import WORD, Words
from privtally.lab.seed import seeded
from privtally.mechanisms import Mechanism
from privtally.mechanisms.filling import Uniform
from privtally.mechanisms.pieces import Pieces


class AtEdges:
    """A source of which every second word, on average, is one of the given ones."""

    def __init__(self, edges: Sequence[int], seed: int = 1) -> None:
        self._edges = np.array(edges, dtype=np.uint64)
        self._streams = seeded(2 * seed), seeded(2 * seed + 1)

    def words(self, count: int) -> Words:
        words, chosen = (stream.words(count) for stream in self._streams)
        edges = self._edges[chosen % np.uint64(len(self._edges))]
        return np.where(chosen >> np.uint64(63), edges, words)


def edges_of(mechanism: Mechanism, *, rejected: bool) -> list[int]:
    """Where pieces end and the next ones begin, among words that every channel takes or among all words."""
    pieces = [own for own in _pieces(mechanism) if own is not None]
    ends = [0, WORD, *(end for own in pieces for end in (*_ends(own), own.bound))]
    least = WORD if rejected else min(own.bound for own in pieces)
    return sorted({word for end in ends for word in (end - 1, end) if 0 <= word < least})


def _pieces(mechanism: Mechanism) -> Iterator[Pieces | None]:
    for part in mechanism.parts:
        yield Uniform(len(part.branches)).pieces
        for branch in part.branches:
            yield from (part.asked[own].pieces for own in branch)
            yield from (part.filling(branch, other).pieces for other in part.others(branch))


def _ends(own: Pieces) -> list[int]:
    if own.ends is not None:
        return [int(end) << 32 for end in own.ends.ravel()]
    return [number * own.length for number in range(1, own.number)]
