"""RS+FD, RS+RFD, Corr-RR and Cond-RR: one random pivot through randomized response with the whole budget, the other
attributes drawn *from the private pivot*.

The four differ in their fills only, and a fill never sees the record: whatever it does is post-processing, and one
proof of privacy serves all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np

from privtally.exact.source import Source
from privtally.mechanisms.base import Law, chunks
from privtally.mechanisms.channel import (
    Channel,
    Distribution,
    Keep,
    Uniform,
    conditional,
    constant,
    copying,
    randomized_response,
)
from privtally.schema import Codes

Fills = tuple[tuple[Channel, ...], ...]
"""fills[pivot][other]: the channel from the pivot's private code to the other attribute's code; the diagonal is not
used."""


@dataclass(frozen=True)
class Pivot:
    """One random attribute with the whole budget; `fills[pivot][other]` draws the others from its private code."""

    channels: tuple[Keep, ...]
    fills: Fills

    @classmethod
    def of(cls, sizes: Sequence[int], epsilon: Fraction, fills: Fills) -> "Pivot":
        """The pivot mechanism on domains of the given sizes."""
        return cls(tuple(randomized_response(epsilon, size) for size in sizes), fills)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(channel.size for channel in self.channels)

    @property
    def outputs(self) -> tuple[int, ...]:
        return self.sizes

    @property
    def ratio(self) -> Fraction:
        return max(channel.ratio for channel in self.channels)

    def others(self, pivot: int) -> list[int]:
        """Every attribute but the pivot."""
        return [attribute for attribute in range(len(self.channels)) if attribute != pivot]

    def law(self, record: Sequence[int]) -> Law:
        return {report: self._probability(record, report) for report in product(*map(range, self.outputs))}

    def rest_probability(self, pivot: int, report: Sequence[int]) -> Fraction:
        """The probability that the fills give the rest of a report, given the pivot and its private code."""
        fills = (self.fills[pivot][other].probability(report[pivot], report[other]) for other in self.others(pivot))
        return prod(fills, start=Fraction(1))

    def _probability(self, record: Sequence[int], report: Sequence[int]) -> Fraction:
        by_pivot = (
            channel.probability(record[pivot], report[pivot]) * self.rest_probability(pivot, report)
            for pivot, channel in enumerate(self.channels)
        )
        return sum(by_pivot, start=Fraction(0)) / len(self.channels)

    def expect(self, marginals: Sequence[Distribution]) -> list[Distribution]:
        private = [channel.push(marginal) for channel, marginal in zip(self.channels, marginals, strict=True)]
        return [
            sum((self.fills[pivot][own].push(private[pivot]) for pivot in self.others(own)), start=private[own])
            / len(private)
            for own in range(len(private))
        ]

    def scales(self) -> Distribution | None:
        """Λ with reported_j = Σ_s Λ[j, s] · true_s + a constant, where every fill has that form; else None."""
        attributes = range(len(self.channels))
        factors = [
            [Fraction(1) if own == pivot else self.fills[pivot][own].scale for pivot in attributes]
            for own in attributes
        ]
        if any(factor is None for row in factors for factor in row):
            return None
        shares = [channel.scale / len(self.channels) for channel in self.channels]
        scales: Distribution = np.array(factors, dtype=float) * np.array(shares, dtype=float)
        return scales

    def privatise(self, codes: Codes, source: Source) -> Codes:
        out, pieces = chunks(codes, self.outputs)
        for given, room in pieces:
            pivots = Uniform(len(self.channels)).draw(given[:, 0], source)
            for pivot, channel in enumerate(self.channels):
                people = np.flatnonzero(pivots == pivot)
                if not people.size:
                    continue
                private = channel.draw(given[people, pivot], source)
                room[people, pivot] = private
                for other in self.others(pivot):
                    room[people, other] = self.fills[pivot][other].draw(private, source)
        return out


def uniform_fills(sizes: Sequence[int]) -> Fills:
    """RS+FD: every other code alike."""
    row = tuple(Uniform(size) for size in sizes)
    return tuple(row for _ in sizes)


def prior_fills(priors: Sequence[Sequence[float]]) -> Fills:
    """RS+RFD: every other code from its attribute's prior."""
    row = tuple(constant(prior) for prior in priors)
    return tuple(row for _ in priors)


def copy_fills(sizes: Sequence[int], copy_probability: Sequence[Sequence[float]]) -> Fills:
    """Corr-RR: every other attribute copies the pivot, else takes one of the remaining labels; sizes are equal."""
    return tuple(
        tuple(copying(probability, size) for probability, size in zip(row, sizes, strict=True))
        for row in copy_probability
    )


Table = tuple[tuple[float, ...], ...]


def table_fills(tables: Sequence[Sequence[Table | None]]) -> Fills:
    """Cond-RR: every other code from the table's row for the pivot's private code; None stands on the diagonal."""
    return tuple(tuple(Uniform(1) if table is None else conditional(table) for table in row) for row in tables)
