"""Channels: the law of an output code given an input code, in integer weights.

A channel knows its exact probabilities, pushes distributions through itself and draws from itself, all from the same
integers. Draws compare words with integers; no float takes part. Input and output alphabets may differ. Channels that
never see a record are in `filling`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

import numpy as np

from privtally.errors import PlanError
from privtally.exact.arrays import Codes, Distribution, Integers
from privtally.exact.exponential import at_most_exp, floor_of
from privtally.exact.source import WORD, Source, words_below
from privtally.schema import code_type

LEAST_REALISED = Fraction(9_999, 10_000)
"""The least share of a promised budget that integer weights must realise."""


class Channel(Protocol):
    """The law of one of `outputs` codes given an input code."""

    @property
    def outputs(self) -> int: ...

    @property
    def scale(self) -> Fraction | None:
        """λ where the channel is λ·identity plus a constant, whatever its input; None where it is not of that form."""

    def probability(self, given: int, output: int) -> Fraction:
        """The exact probability of an output code given an input code."""

    def push(self, distribution: Distribution) -> Distribution:
        """The distribution of the output when the input has the given one (along the last axis)."""

    def draw(self, given: Codes, source: Source) -> Codes:
        """One output code for each input code."""


class Asked(Channel, Protocol):
    """A channel that sees the record: a set of output codes belongs to each of its `inputs`.

    A code of the input's set has the weight `same`, every other code the weight `other`; the weights of all codes have
    the same `total` for every input. A set has `inside` codes, and the sets of two inputs share `meet` of them. Its
    `scale` is λ where the share of reports with a code of an input's set is λ times the input's frequency plus a
    constant.
    """

    def __hash__(self) -> int: ...

    @property
    def inputs(self) -> int: ...

    @property
    def same(self) -> int: ...

    @property
    def other(self) -> int: ...

    @property
    def total(self) -> int: ...

    @property
    def inside(self) -> int: ...

    @property
    def meet(self) -> int: ...

    @property
    def ratio(self) -> Fraction:
        """The largest likelihood ratio between two inputs (e to the realised budget)."""

    def holders(self, output: int) -> Sequence[int]:
        """The inputs to whose set an output code belongs."""

    def holder_counts(self) -> Integers:
        """For each output code, to how many inputs' sets it belongs."""

    def support(self, reported: Distribution) -> Distribution:
        """For each input the sum over its set of what is reported of each output code (along the last axis)."""

    def members(self) -> Integers:
        """The matrix (input, output code) with a 1 where the code belongs to the input's set."""

    def spread(self, labels: Distribution) -> Distribution:
        """For each output code the sum over the inputs whose sets hold it (along the last axis)."""

    def represent(self, given: Codes, source: Source) -> Codes:
        """A code of each input's set, every one with the same probability: the input itself where that is its set."""


def largest_and_smallest(channel: Asked, output: int) -> tuple[int, int]:
    """Two different inputs: one under which the output is most probable, and one under which it is least probable."""
    holders = channel.holders(output)
    inside = holders[0] if holders else 0
    others = (code for code in range(channel.inputs) if code != inside and code not in holders)
    return inside, next(others, (inside + 1) % channel.inputs)


@dataclass(frozen=True)
class Keep:
    """Keeps a code with weight `same`, replaces it by each of the others with weight `other`."""

    size: int
    same: int
    other: int

    def __post_init__(self) -> None:
        if self.size < 2 or min(self.same, self.other) < 0 or not 0 < self.total < WORD:
            raise PlanError(f"weights {self.same} and {self.other} on {self.size} codes do not fit a 64-bit word")

    @property
    def total(self) -> int:
        return self.same + (self.size - 1) * self.other

    @property
    def outputs(self) -> int:
        return self.size

    @property
    def scale(self) -> Fraction:
        return Fraction(self.same - self.other, self.total)

    @property
    def inputs(self) -> int:
        return self.size

    @property
    def ratio(self) -> Fraction:
        return Fraction(self.same, self.other)

    @property
    def inside(self) -> int:
        return 1

    @property
    def meet(self) -> int:
        return 0

    def holders(self, output: int) -> Sequence[int]:
        return (output,)

    def holder_counts(self) -> Integers:
        return np.ones(self.size, dtype=np.int64)

    def support(self, reported: Distribution) -> Distribution:
        return reported

    def members(self) -> Integers:
        return np.eye(self.size, dtype=np.int64)

    def spread(self, labels: Distribution) -> Distribution:
        return labels

    def represent(self, given: Codes, source: Source) -> Codes:  # noqa: ARG002  # others need it
        return given

    def probability(self, given: int, output: int) -> Fraction:
        return Fraction(self.same if given == output else self.other, self.total)

    def push(self, distribution: Distribution) -> Distribution:
        mass = distribution.sum(axis=-1, keepdims=True)
        pushed: Distribution = (distribution * (self.same - self.other) + mass * self.other) / self.total
        return pushed

    def draw(self, given: Codes, source: Source) -> Codes:
        # The line of words 0 … total − 1 is cut into size − 1 pieces of `other` words, one for each step to another
        # code, and a last piece of `same` words: the full circle back to the code itself. Keeping and replacing take
        # the same steps.
        small = code_type((self.size,))
        if not self.other:
            return given.astype(small)
        words = words_below(source, self.total * self._fit, len(given))
        words //= np.uint64(self.other * self._fit)
        steps = words.astype(code_type((self.total // self.other + 1,)))
        np.minimum(steps, np.full_like(steps, self.size - 1), out=steps)  # with a number NumPy takes much longer
        moved: Codes = np.add(given, steps, dtype=code_type((2 * self.size,)), casting="unsafe")
        moved += moved.dtype.type(1)
        np.minimum(moved, moved - moved.dtype.type(self.size), out=moved)  # what is below 0 wraps to above every code
        return moved.astype(small, copy=False)

    @property
    def _fit(self) -> int:
        """How often the line of words 0 … total − 1 fits below 2^64, so that each piece is a 64-bit integer too."""
        return (WORD - 1) // self.total


@lru_cache(maxsize=1024)
def randomized_response(epsilon: Fraction, size: int) -> Keep:
    """Generalized randomized response on `size` codes with budget at most, and nearly, epsilon.

    The weights are other = floor(2^64 / (e^ε + size − 1)) and same = floor(e^ε · other), taken exactly, so that
    same/other ≤ e^ε is a fact about integers, and anybody who computes them finds the same ones.
    """
    other = floor_of(lambda power: WORD / (power + size - 1), epsilon)
    same = floor_of(lambda power: power * other, epsilon)
    if not other or at_most_exp(Fraction(same, other), epsilon * LEAST_REALISED):
        raise PlanError(
            f"64-bit weights cannot realise a budget of {float(epsilon):g} on {size} answers; choose another epsilon"
        )
    return Keep(size, same, other)
