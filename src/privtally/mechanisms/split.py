"""SPL: every attribute through randomized response with an equal share of the budget."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

from privtally.exact.source import Source
from privtally.mechanisms.base import Law, chunks
from privtally.mechanisms.channel import Distribution, Keep, randomized_response
from privtally.schema import Codes


@dataclass(frozen=True)
class Split:
    """SPL. Its budget composes: the shares of all attributes add up to epsilon."""

    channels: tuple[Keep, ...]

    @classmethod
    def of(cls, sizes: Sequence[int], epsilon: Fraction) -> "Split":
        """SPL on domains of the given sizes."""
        return cls(tuple(randomized_response(epsilon / len(sizes), size) for size in sizes))

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(channel.size for channel in self.channels)

    @property
    def outputs(self) -> tuple[int, ...]:
        return self.sizes

    @property
    def ratio(self) -> Fraction:
        return prod((channel.ratio for channel in self.channels), start=Fraction(1))

    def law(self, record: Sequence[int]) -> Law:
        return {
            report: prod(
                (channel.probability(x, y) for channel, x, y in zip(self.channels, record, report, strict=True)),
                start=Fraction(1),
            )
            for report in product(*map(range, self.outputs))
        }

    def expect(self, marginals: Sequence[Distribution]) -> list[Distribution]:
        return [channel.push(marginal) for channel, marginal in zip(self.channels, marginals, strict=True)]

    def privatise(self, codes: Codes, source: Source) -> Codes:
        out, pieces = chunks(codes, self.outputs)
        for given, room in pieces:
            for attribute, channel in enumerate(self.channels):
                room[:, attribute] = channel.draw(given[:, attribute], source)
        return out
