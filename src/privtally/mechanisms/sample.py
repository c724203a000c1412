"""SMP: one random attribute through randomized response with the whole budget; the report says which."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from privtally.exact.source import Source
from privtally.mechanisms.base import Law, chunks
from privtally.mechanisms.channel import Distribution, Keep, Uniform, randomized_response
from privtally.schema import Codes


@dataclass(frozen=True)
class Sample:
    """SMP. An attribute that is not answered has the code after its last label: "not asked"."""

    channels: tuple[Keep, ...]

    @classmethod
    def of(cls, sizes: Sequence[int], epsilon: Fraction) -> "Sample":
        """SMP on domains of the given sizes."""
        return cls(tuple(randomized_response(epsilon, size) for size in sizes))

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(channel.size for channel in self.channels)

    @property
    def outputs(self) -> tuple[int, ...]:
        return tuple(size + 1 for size in self.sizes)

    @property
    def ratio(self) -> Fraction:
        return max(channel.ratio for channel in self.channels)

    def law(self, record: Sequence[int]) -> Law:
        share = Fraction(1, len(self.channels))
        law: Law = {}
        for pivot, channel in enumerate(self.channels):
            for code in range(channel.size):
                report = (*self.sizes[:pivot], code, *self.sizes[pivot + 1 :])
                law[report] = share * channel.probability(record[pivot], code)
        return law

    def expect(self, marginals: Sequence[Distribution]) -> list[Distribution]:
        attributes = len(self.channels)
        reported = []
        for channel, marginal in zip(self.channels, marginals, strict=True):
            answered = channel.push(marginal) / attributes
            silent = marginal.sum(axis=-1, keepdims=True) * (attributes - 1) / attributes
            reported.append(np.concatenate([answered, silent], axis=-1))
        return reported

    def privatise(self, codes: Codes, source: Source) -> Codes:
        out, pieces = chunks(codes, self.outputs)
        for given, room in pieces:
            room[:] = self.sizes
            pivots = Uniform(len(self.channels)).draw(given[:, 0], source)
            for pivot, channel in enumerate(self.channels):
                people = np.flatnonzero(pivots == pivot)
                if not people.size:
                    continue
                room[people, pivot] = channel.draw(given[people, pivot], source)
        return out
