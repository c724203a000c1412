"""Channels that fill attributes which are not asked: from private codes to codes."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from privtally.errors import PlanError
from privtally.exact.arrays import Codes, Distribution, Integers
from privtally.exact.probability import PROBABILITY_UNIT, whole_parts
from privtally.exact.source import WORD, Source, words_below
from privtally.mechanisms.channel import Asked, Channel, Keep
from privtally.schema import code_type


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
