"""The points and hyperplanes of projective spaces over fields of prime order.

A point is a vector whose first non-zero coordinate is 1. Points are numbered by the place of that coordinate, the first
place first, and then by the coordinates behind it, read as a number to the base q.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privtally.exact.arrays import Floats, Integers

MOST_VECTORS = 1 << 26
"""The Fourier transform that counts sets takes an array with q^t cells; more do not fit in memory."""


@dataclass(frozen=True)
class Geometry:
    """The projective space of vectors with `dimension` coordinates over the field of the prime `order`."""

    order: int
    dimension: int

    @property
    def points(self) -> int:
        """How many points there are."""
        return int(self.order**self.dimension - 1) // (self.order - 1)

    @property
    def plane(self) -> int:
        """How many points a hyperplane has."""
        return int(self.order ** (self.dimension - 1) - 1) // (self.order - 1)

    @property
    def meet(self) -> int:
        """How many points two hyperplanes share."""
        return int(self.order ** (self.dimension - 2) - 1) // (self.order - 1)

    @cached_property
    def starts(self) -> Integers:
        """The number of the first point whose first non-zero coordinate stands at each place."""
        widths = [self.order**place for place in range(self.dimension - 1, -1, -1)]
        return np.cumsum([0, *widths[:-1]], dtype=np.int64)

    def vectors(self, numbers: Integers) -> Integers:
        """The vectors of points (point, coordinate)."""
        first = np.searchsorted(self.starts, numbers, side="right") - 1
        rest = numbers - self.starts[first]
        found = np.zeros((len(numbers), self.dimension), dtype=np.int64)
        for place in range(self.dimension - 1, -1, -1):
            found[:, place] = np.where(place > first, rest % self.order, place == first)
            rest = np.where(place > first, rest // self.order, rest)
        return found

    def numbers(self, vectors: Integers) -> Integers:
        """The points of vectors, none of which is zero."""
        rows = np.arange(len(vectors))
        first = np.argmax(vectors != 0, axis=1)
        scaled = vectors * self._inverses[vectors[rows, first]][:, None] % self.order
        found = np.zeros(len(vectors), dtype=np.int64)
        for place in range(self.dimension):
            found = np.where(place > first, found * self.order + scaled[:, place], found)
        return np.asarray(found + self.starts[first])

    def plane_sums(self, weights: Floats) -> Floats:
        """For every point the sum of the weights on its hyperplane, by Fourier transform over (Z_q)^t.

        The weights are placed on all multiples of their points, which are zero on the hyperplane together; the sum over
        ⟨x, y⟩ = 0 is (1/q) Σ over λ of the transform at λx.
        """
        shape = (self.order,) * self.dimension
        vectors = self.vectors(np.arange(self.points))
        placed = np.zeros(shape)
        placed[tuple(vectors.T)] = weights
        transform = np.fft.fftn(placed).real
        total = np.full(self.points, weights.sum())
        for factor in range(1, self.order):
            total += transform[tuple((factor * vectors % self.order).T)]
        sums: Floats = total / self.order
        return sums

    @cached_property
    def _inverses(self) -> Integers:
        return np.array([0, *(pow(value, -1, self.order) for value in range(1, self.order))], dtype=np.int64)


def is_geometry(order: int, dimension: int) -> bool:
    """Whether the order is a prime and the space is one that is used here."""
    prime = order >= 2 and all(order % factor for factor in range(2, min(order, 4096)) if factor**2 <= order)
    return prime and 3 <= dimension <= 26 and order**dimension <= MOST_VECTORS
