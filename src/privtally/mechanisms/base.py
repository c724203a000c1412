"""What every mechanism is: a law, a linear operator and a sampler, all from the same integer weights."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np

from privtally.exact.source import Source
from privtally.mechanisms.channel import Distribution, Keep
from privtally.schema import Codes, code_type

Law = dict[tuple[int, ...], Fraction]
"""The exact probability of every report that can occur."""

CHUNK = 1 << 16
"""How many records are privatised at once: few enough to stay in the processor's cache."""


class Mechanism(Protocol):
    """record -> private codes."""

    @property
    def channels(self) -> tuple[Keep, ...]:
        """The randomized response that each attribute goes through if it is answered itself."""
        ...

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of codes that each attribute of a record has."""
        ...

    @property
    def outputs(self) -> tuple[int, ...]:
        """The number of codes that each attribute of a report has."""
        ...

    @property
    def ratio(self) -> Fraction:
        """A bound on the likelihood ratio of any report between any two records: e to the realised epsilon."""
        ...

    def law(self, record: Sequence[int]) -> Law:
        """The exact law of the report given a record; its size is the product of the outputs."""
        ...

    def expect(self, marginals: Sequence[Distribution]) -> list[Distribution]:
        """The linear operator: the reported marginals from the true ones (exact if they are Fractions)."""
        ...

    def privatise(self, codes: Codes, source: Source) -> Codes:
        """One report for each record, record by record independent."""
        ...


def chunks(codes: Codes, outputs: Sequence[int]) -> tuple[Codes, Iterator[tuple[Codes, Codes]]]:
    """Room for the reports of all records, and pairs (records, room for their reports) to fill it piece by piece."""
    out = np.empty(codes.shape, dtype=code_type(outputs))
    starts = range(0, len(codes), CHUNK)
    return out, ((codes[start : start + CHUNK], out[start : start + CHUNK]) for start in starts)


def operator_matrix(mechanism: Mechanism) -> Distribution:
    """The operator as a matrix: reported marginals = true marginals @ matrix, attributes laid end to end."""
    bounds = np.cumsum(mechanism.sizes)[:-1]
    return np.hstack(mechanism.expect(np.split(np.eye(sum(mechanism.sizes)), bounds, axis=1)))
