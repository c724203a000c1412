"""Channels: the law of an output code given an input code, in integer weights.

An asked channel sees an answer; the others fill attributes that are not asked, from private codes.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np

from privtally.errors import PlanError
from privtally.exact.randomness import WORD, Source, words_below
from privtally.exact.rational import PROBABILITY_UNIT, at_most_exp, floor_of, whole_parts
from privtally.exact.types import Codes, Distribution, Integers
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


@dataclass(frozen=True)
class Asked(ABC):
    """A channel that sees the record: a set of output codes belongs to each of its `inputs`.

    A code of the input's set has the weight `same`, every other code the weight `other`; the weights of all codes have
    the same `total` for every input. A set has `inside` codes, and the sets of two inputs share `meet` of them. Its
    `scale` is λ where the share of reports with a code of an input's set is λ times the input's frequency plus a
    constant.
    """

    inputs: int
    same: int
    other: int

    def __post_init__(self) -> None:
        fit = 2 <= self.inputs <= self.outputs and min(self.same, self.other) >= 0 and 0 < self.total < WORD
        if not fit:
            raise PlanError(
                f"weights {self.same} and {self.other} do not fit {self.inputs} labels and {self.outputs} codes in a "
                "64-bit word"
            )

    @property
    @abstractmethod
    def outputs(self) -> int: ...

    @property
    @abstractmethod
    def inside(self) -> int: ...

    @property
    @abstractmethod
    def meet(self) -> int: ...

    @property
    def total(self) -> int:
        return self.inside * self.same + (self.outputs - self.inside) * self.other

    @property
    def scale(self) -> Fraction:
        return Fraction((self.inside - self.meet) * (self.same - self.other), self.total)

    @property
    def ratio(self) -> Fraction:
        """The largest likelihood ratio between two inputs (e to the realised budget)."""
        return Fraction(self.same, self.other)

    @abstractmethod
    def holders(self, output: int) -> Sequence[int]:
        """The inputs to whose set an output code belongs."""

    def holder_counts(self) -> Integers:
        """For each output code, to how many inputs' sets it belongs."""
        return np.rint(self.spread(np.ones(self.inputs))).astype(np.int64)

    @abstractmethod
    def support(self, reported: Distribution) -> Distribution:
        """For each input the sum over its set of what is reported of each output code (along the last axis)."""

    @abstractmethod
    def members(self) -> Integers:
        """The matrix (input, output code) with a 1 where the code belongs to the input's set."""

    @abstractmethod
    def spread(self, labels: Distribution) -> Distribution:
        """For each output code the sum over the inputs whose sets hold it (along the last axis)."""

    @abstractmethod
    def represent(self, given: Codes, source: Source) -> Codes:
        """A code of each input's set, every one with the same probability: the input itself where that is its set."""

    @abstractmethod
    def probability(self, given: int, output: int) -> Fraction: ...

    def push(self, distribution: Distribution) -> Distribution:
        mass = distribution.sum(axis=-1, keepdims=True)
        pushed: Distribution = (self.spread(distribution) * (self.same - self.other) + mass * self.other) / self.total
        return pushed

    @abstractmethod
    def draw(self, given: Codes, source: Source) -> Codes: ...


def largest_and_smallest(channel: Asked, output: int) -> tuple[int, int]:
    """Two different inputs: one under which the output is most probable, and one under which it is least probable."""
    holders = channel.holders(output)
    inside = holders[0] if holders else 0
    others = (code for code in range(channel.inputs) if code != inside and code not in holders)
    return inside, next(others, (inside + 1) % channel.inputs)


class Keep(Asked):
    """Keeps a code with weight `same`, replaces it by each of the others with weight `other`."""

    @property
    def outputs(self) -> int:
        return self.inputs

    @property
    def inside(self) -> int:
        return 1

    @property
    def meet(self) -> int:
        return 0

    def holders(self, output: int) -> Sequence[int]:
        return (output,)

    def support(self, reported: Distribution) -> Distribution:
        return reported

    def members(self) -> Integers:
        return np.eye(self.inputs, dtype=np.int64)

    def spread(self, labels: Distribution) -> Distribution:
        return labels

    def represent(self, given: Codes, source: Source) -> Codes:  # others need it
        return given

    def probability(self, given: int, output: int) -> Fraction:
        return Fraction(self.same if given == output else self.other, self.total)

    def draw(self, given: Codes, source: Source) -> Codes:
        # The line of words 0 … total − 1 is cut into size − 1 pieces of `other` words, one for each step to another
        # code, and a last piece of `same` words: the full circle back to the code itself. Keeping and replacing take
        # the same steps.
        small = code_type((self.inputs,))
        if not self.other:
            return given.astype(small)
        words = words_below(source, self.total * self._fit, len(given))
        words //= np.uint64(self.other * self._fit)
        steps = words.astype(code_type((self.total // self.other + 1,)))
        np.minimum(steps, np.full_like(steps, self.inputs - 1), out=steps)  # with a number NumPy takes much longer
        moved: Codes = np.add(given, steps, dtype=code_type((2 * self.inputs,)), casting="unsafe")
        moved += moved.dtype.type(1)
        np.minimum(moved, moved - moved.dtype.type(self.inputs), out=moved)  # what is below 0 wraps to above every code
        return moved.astype(small, copy=False)

    @property
    def _fit(self) -> int:
        """How often the line of words 0 … total − 1 fits below 2^64, so that each piece is a 64-bit integer too."""
        return (WORD - 1) // self.total


def weights(epsilon: Fraction, inside: int, outside: int) -> tuple[int, int]:
    """The weights of codes in a set and outside it, so many of each, with budget at most, and nearly, epsilon.

    They are other = floor(2^64 / (inside · e^ε + outside)) and same = floor(e^ε · other), taken exactly, so that
    same/other ≤ e^ε is a fact about integers, and anybody who computes them finds the same ones.
    """
    other = floor_of(lambda power: WORD / (inside * power + outside), epsilon)
    same = floor_of(lambda power: power * other, epsilon)
    if not other or at_most_exp(Fraction(same, other), epsilon * LEAST_REALISED):
        raise PlanError(
            f"64-bit weights cannot realise a budget of {float(epsilon):g} on {inside + outside} answers; choose "
            "another epsilon"
        )
    return same, other


@lru_cache(maxsize=1024)
def randomized_response(epsilon: Fraction, size: int) -> Keep:
    """Generalized randomized response on `size` codes with budget at most, and nearly, epsilon."""
    return Keep(size, *weights(epsilon, 1, size - 1))


@dataclass(frozen=True)
class Uniform:
    """Every code with the same probability, whatever the input."""

    outputs: int

    @property
    def scale(self) -> Fraction:
        return Fraction(0)

    def probability(self, given: int, output: int) -> Fraction:
        return Fraction(1, self.outputs)

    def push(self, distribution: Distribution) -> Distribution:
        pushed: Distribution = np.repeat(distribution.sum(axis=-1, keepdims=True), self.outputs, axis=-1) / self.outputs
        return pushed

    def draw(self, given: Codes, source: Source) -> Codes:
        if self.outputs == 1:
            return np.zeros(len(given), dtype=np.uint8)
        piece = WORD // self.outputs
        codes = words_below(source, piece * self.outputs, len(given))
        codes //= np.uint64(piece)
        return codes.astype(code_type((self.outputs,)))


@dataclass(frozen=True, eq=False)
class Rows:
    """A row of weights for each input, each row with the total `PROBABILITY_UNIT`; a single row serves every input."""

    weights: Integers

    def __post_init__(self) -> None:
        if self.weights.ndim != 2 or (self.weights < 0).any() or (self.weights.sum(axis=1) != PROBABILITY_UNIT).any():
            raise PlanError("each row of probabilities must sum to exactly 1")

    @property
    def outputs(self) -> int:
        return int(self.weights.shape[1])

    @property
    def scale(self) -> Fraction | None:
        return Fraction(0) if len(self.weights) == 1 else None

    def probability(self, given: int, output: int) -> Fraction:
        row = self.weights[given if len(self.weights) > 1 else 0]
        return Fraction(int(row[output]), PROBABILITY_UNIT)

    def push(self, distribution: Distribution) -> Distribution:
        if len(self.weights) == 1:
            distribution = distribution.sum(axis=-1, keepdims=True)
        weights = self.weights.astype(object if distribution.dtype == object else float)
        pushed: Distribution = (distribution @ weights) / PROBABILITY_UNIT
        return pushed

    def draw(self, given: Codes, source: Source) -> Codes:
        # The upper half of a word is uniform over the unit. All rows lie end to end on one line of integers, so that
        # one search finds the cell; `Rows` has at most 2^31 rows.
        points = (source.words(len(given)) >> np.uint64(32)).astype(np.int64)
        if len(self.weights) == 1:
            return np.searchsorted(self._edges, points, side="right").astype(code_type((self.outputs,)))
        rows = given.astype(np.int64)
        cells = np.searchsorted(self._edges, points + rows * PROBABILITY_UNIT, side="right")
        return (cells - rows * self.outputs).astype(code_type((self.outputs,)))

    @cached_property
    def _edges(self) -> Integers:
        """Where each cell ends on the line."""
        return np.cumsum(self.weights.ravel())


@dataclass(frozen=True, eq=False)
class InSet:
    """A label from one channel, then a code of the label's set in another channel, each with equal chance."""

    labels: Channel
    asked: Asked

    @property
    def outputs(self) -> int:
        return self.asked.outputs

    @property
    def scale(self) -> Fraction | None:
        return Fraction(0) if self.labels.scale == 0 else None

    def probability(self, given: int, output: int) -> Fraction:
        chances = (self.labels.probability(given, label) for label in self.asked.holders(output))
        return sum(chances, start=Fraction(0)) / self.asked.inside

    def push(self, distribution: Distribution) -> Distribution:
        pushed: Distribution = self.asked.spread(self.labels.push(distribution)) / self.asked.inside
        return pushed

    def draw(self, given: Codes, source: Source) -> Codes:
        return self.asked.represent(self.labels.draw(given, source), source)


def as_codes(labels: Channel, asked: Asked) -> Channel:
    """A channel to labels as one to the codes of an asked channel."""
    return labels if asked.inside == 1 else InSet(labels, asked)


def copying(probability: float, size: int) -> Keep:
    """Copies the input with the given probability, else takes one of the remaining codes, each alike."""
    copies = whole_parts(probability)
    return Keep(size, copies * (size - 1), PROBABILITY_UNIT - copies)


def conditional(rows: Sequence[Sequence[float]]) -> Rows:
    """Draws from the row of the input, or from the only row whatever the input."""
    parts = np.asarray(rows, dtype=float) * PROBABILITY_UNIT
    if not ((parts >= 0) & (parts <= PROBABILITY_UNIT) & (parts == np.rint(parts))).all():
        raise PlanError("probabilities must be whole multiples of 2^-32 between 0 and 1")
    return Rows(parts.astype(np.int64))
