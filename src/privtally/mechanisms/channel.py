"""Channels: the law of an output code given an input code, in integer weights.

A channel knows its exact probabilities, pushes distributions through itself and draws from itself, all from the same
integers. Draws compare words with integers; no float takes part.

    Keep     the input's own code with one weight, every other code with another (randomized response, copying)
    Uniform  every code alike, whatever the input
    Rows     a row of weights for each input, or one row for all (conditional tables, priors)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from privtally.errors import PlanError
from privtally.exact.exponential import at_most_exp, floor_of
from privtally.exact.probability import PROBABILITY_UNIT, whole_parts
from privtally.exact.source import WORD, Source, words_below
from privtally.schema import Codes, code_type

LEAST_REALISED = Fraction(9_999, 10_000)
"""The least share of a promised budget that integer weights must realise."""

Distribution = NDArray[Any]
"""Probabilities as floats, or as Fractions in an object array: channels push either, the latter exactly."""


class Channel(Protocol):
    """The law of an output code given an input code."""

    @property
    def outputs(self) -> int:
        """The number of output codes."""
        ...

    @property
    def scale(self) -> Fraction | None:
        """λ where the channel is λ·identity plus a constant, whatever its input; None where it is not of that form."""
        ...

    def probability(self, given: int, output: int) -> Fraction:
        """The exact probability of an output code given an input code."""
        ...

    def push(self, distribution: Distribution) -> Distribution:
        """The distribution of the output when the input has the given one (along the last axis)."""
        ...

    def draw(self, given: Codes, source: Source) -> Codes:
        """One output code for each input code."""
        ...


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
    def ratio(self) -> Fraction:
        """The largest likelihood ratio between two inputs (e to the realised budget)."""
        return Fraction(max(self.same, self.other), min(self.same, self.other))

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
        if not self.other:
            return given.astype(self._circle.dtype)
        fit = (WORD - 1) // self.total  # below 2^64, so that each piece is a 64-bit integer too
        steps = words_below(source, self.total * fit, len(given))
        steps //= np.uint64(self.other * fit)
        np.minimum(steps, np.uint64(self.size - 1), out=steps)
        kept_or_replaced: Codes = self._circle.take(given + steps.astype(code_type((2 * self.size,))), mode="clip")
        return kept_or_replaced

    @cached_property
    def _circle(self) -> Codes:
        """The code that each `given + steps` stands for: step 0 leads to the next one, the last step back home."""
        codes = np.roll(np.arange(self.size, dtype=code_type((self.size,))), -1)
        return np.concatenate([codes, codes])


@dataclass(frozen=True)
class Uniform:
    """Every code with the same probability, whatever the input."""

    size: int

    @property
    def outputs(self) -> int:
        return self.size

    @property
    def scale(self) -> Fraction:
        return Fraction(0)

    def probability(self, given: int, output: int) -> Fraction:
        return Fraction(1, self.size)

    def push(self, distribution: Distribution) -> Distribution:
        pushed: Distribution = np.repeat(distribution.sum(axis=-1, keepdims=True), self.size, axis=-1) / self.size
        return pushed

    def draw(self, given: Codes, source: Source) -> Codes:
        if self.size == 1:
            return np.zeros(len(given), dtype=np.uint8)
        piece = WORD // self.size
        codes = words_below(source, piece * self.size, len(given))
        codes //= np.uint64(piece)
        return codes.astype(code_type((self.size,)))


@dataclass(frozen=True, eq=False)
class Rows:
    """A row of weights for each input, each row with the total `PROBABILITY_UNIT`; a single row serves every input."""

    weights: NDArray[np.int64]

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
        exact = distribution.dtype == object
        weights = self.weights.astype(object) if exact else self.weights.astype(float)
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
    def _edges(self) -> NDArray[np.int64]:
        """Where each cell ends on the line."""
        return np.cumsum(self.weights.ravel())


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
            f"64-bit weights cannot realise a budget of {float(epsilon):g} on {size} labels; choose another epsilon"
        )
    return Keep(size, same, other)


def copying(probability: float, size: int) -> Keep:
    """Copies the input with the given probability, else takes one of the remaining codes, each alike."""
    copies = whole_parts(probability)
    return Keep(size, copies * (size - 1), PROBABILITY_UNIT - copies)


def constant(row: Sequence[float]) -> Rows:
    """Draws from one distribution whatever the input."""
    return conditional([row])


def conditional(rows: Sequence[Sequence[float]]) -> Rows:
    """Draws from the row of the input."""
    parts = np.asarray(rows, dtype=float) * PROBABILITY_UNIT
    if not ((parts >= 0) & (parts <= PROBABILITY_UNIT) & (parts == np.rint(parts))).all():
        raise PlanError("probabilities must be whole multiples of 2^-32 between 0 and 1")
    return Rows(parts.astype(np.int64))
