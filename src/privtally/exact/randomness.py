"""Where randomness comes from, and exact draws from it. No float takes part."""

import os
import secrets
from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from privtally.errors import SourceError

Words = NDArray[np.uint64]

WORD = 1 << 64
"""How many different words there are."""


class Source(Protocol):
    """A supply of independent words, each uniform over 0 … 2^64 − 1."""

    def words(self, count: int) -> Words:
        """The next `count` words, in an array that the caller may overwrite."""
        ...


class SystemSource:
    """The operating system's generator: for one report at a time."""

    def words(self, count: int) -> Words:
        return np.frombuffer(bytearray(secrets.token_bytes(8 * count)), dtype="<u8").astype(np.uint64, copy=False)


class Stream:
    """AES-256 in counter mode under one key: for many reports at once. A key is used for one stream only.

    A stream gives words to the process that made it only: a fork would repeat them, and the difference of two reports
    from the same words is the difference of the answers.
    """

    _ZEROS = bytes(1 << 19)

    def __init__(self, key: bytes) -> None:
        self._process = os.getpid()
        self._encryptor = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()

    @classmethod
    def from_system(cls) -> "Stream":
        """A stream under a fresh key from the operating system."""
        return cls(secrets.token_bytes(32))

    def words(self, count: int) -> Words:
        if os.getpid() != self._process:
            raise SourceError("a stream of randomness was made in another process; make a stream in each process")
        out = np.empty(count, dtype="<u8")
        room = out.data.cast("B")
        for start in range(0, len(room), len(self._ZEROS)):
            piece = room[start : start + len(self._ZEROS)]
            self._encryptor.update_into(memoryview(self._ZEROS)[: len(piece)], piece)
        return out.astype(np.uint64, copy=False)


def words_below(source: Source, bound: int, count: int) -> Words:
    """`count` words, each uniform over 0 … bound − 1: words at or above the bound are drawn again."""
    if not 0 < bound <= WORD:
        raise ValueError(f"the bound must be between 1 and 2^64, got {bound}")
    words = source.words(count)
    if bound == WORD or words.max(initial=0) < bound:
        return words
    rejected = np.flatnonzero(words >= np.uint64(bound))
    while rejected.size:
        words[rejected] = source.words(rejected.size)
        rejected = rejected[words[rejected] >= np.uint64(bound)]
    return words


def rounded(numbers: Sequence[int | Fraction], source: Source) -> list[int]:
    """Each number rounded at random to one of the two integers around it, so that its mean is the number exactly.

    The chance of the upper one is a binary fraction, perhaps without an end; a word is 64 digits of a uniform one. It
    is below or above unless all digits agree, and then the next word decides.
    """
    words = source.words(len(numbers)).tolist()
    return [_rounded(number, word, source) for number, word in zip(numbers, words, strict=True)]


def _rounded(number: int | Fraction, word: int, source: Source) -> int:
    below, rest = divmod(number.numerator, number.denominator)
    digits, rest = divmod(rest * WORD, number.denominator)
    while word == digits and rest:
        digits, rest = divmod(rest * WORD, number.denominator)
        (word,) = source.words(1).tolist()
    return below + (word < digits)
