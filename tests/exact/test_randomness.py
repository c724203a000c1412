import json
import os
import subprocess
import sys

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from privtally.exact.randomness import WORD, Stream, SystemSource, words_below
from privtally.lab.population import seeded
from tests.support import Scripted


def test_a_stream_is_aes_256_in_counter_mode() -> None:
    key = bytes(range(32))
    block = Cipher(algorithms.AES256(key), modes.ECB()).encryptor()
    expected = b"".join(block.update(counter.to_bytes(16, "big")) for counter in range(4))
    assert Stream(key).words(8).astype("<u8").tobytes() == expected


def test_a_stream_goes_on_where_it_stopped() -> None:
    one, two = seeded(3), seeded(3)
    parts = np.concatenate([one.words(count) for count in (1, 2, 70_000, 5, 0, 100_000)])
    assert np.array_equal(parts, two.words(len(parts)))


def test_streams_from_the_system_differ() -> None:
    assert not np.array_equal(Stream.from_system().words(4), Stream.from_system().words(4))
    assert not np.array_equal(SystemSource().words(4), SystemSource().words(4))
    assert not np.array_equal(seeded(1).words(4), seeded(2).words(4))


FORKED = """
import json, os, sys
from privtally.errors import PrivtallyError
from privtally.exact.randomness import Stream, SystemSource

source = {"stream": Stream.from_system, "system": SystemSource}[sys.argv[1]]()
source.words(4)
child = os.fork()
try:
    found = source.words(4).tolist()
except PrivtallyError as refusal:
    found = str(refusal)
if child:
    os.waitpid(child, 0)
print(json.dumps(found))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize(("source", "refused"), [("stream", True), ("system", False)])
def test_two_processes_never_draw_the_same_words(source: str, refused: bool) -> None:
    """In a program of its own: this one may have threads, which a fork does not take along."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED, source],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        check=True,
    )
    child, parent = map(json.loads, done.stdout.splitlines())
    assert len(parent) == 4
    assert child != parent
    assert ("in each process" in child) == refused


@pytest.mark.parametrize("source", [SystemSource(), Stream.from_system()])
def test_words_may_be_overwritten(source: SystemSource | Stream) -> None:
    words = source.words(3)
    words[:] = 0
    assert words.dtype == np.uint64
    assert words.tolist() == [0, 0, 0]


def test_words_at_or_above_the_bound_are_drawn_again() -> None:
    assert words_below(Scripted([5, 10, 9, 11, 12, 3, 4]), 10, 3).tolist() == [5, 3, 9]
    assert words_below(Scripted([WORD - 1]), WORD, 1).tolist() == [WORD - 1]


@pytest.mark.parametrize("bound", [0, -1, WORD + 1])
def test_a_bound_must_fit_a_word(bound: int) -> None:
    with pytest.raises(ValueError, match="between 1 and"):
        words_below(Scripted([1]), bound, 1)
