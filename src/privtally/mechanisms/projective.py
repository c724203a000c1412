"""Randomized response for large domains: codes are points of a projective space, and a label's set is a hyperplane.

Feldman, Nelson, Nguyen and Talwar, "Private frequency estimation via projective geometry" (ICML 2022). The codes are
the K = (q^t − 1)/(q − 1) points of the projective space of vectors with t coordinates over the field of a prime q.
Label x has the point with its own number, and its set are the c = (q^(t−1) − 1)/(q − 1) points y with ⟨x, y⟩ = 0 mod q.
Any two sets share (q^(t−2) − 1)/(q − 1) points, so that the number of reports in a label's set is linear in its
frequency, as with randomized response, which is the case of sets with one code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import exp

import msgspec
import numpy as np

from privtally.errors import PlanError
from privtally.exact.randomness import WORD, Source, words_below
from privtally.exact.types import Codes, Distribution, Floats, Integers
from privtally.mechanisms.channels import Asked, Uniform, weights
from privtally.schema import code_type

MOST_VECTORS = 1 << 26
"""The Fourier transform that counts sets takes an array with q^t cells; more do not fit in memory."""


class Geometry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="pg", dict=True):
    """The projective space of vectors with `dimension` coordinates over the field of the prime `order`: what a plan
    states of randomized response for many labels.
    """

    order: int
    dimension: int

    def channel(self, budget: Fraction, size: int) -> "Projective":
        """The channel with this budget on this many labels."""
        if not is_geometry(self.order, self.dimension):
            raise PlanError(f"there is no geometry of {self.dimension} coordinates over {self.order} elements")
        return projective_response(budget, size, self)

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


MOST_CELLS = 1 << 22
"""Up to so many pairs of a label and a code sums are taken one by one, which leaves what is zero exactly zero."""

CLOSE = 1.05
"""Of geometries whose variance is within this factor of the least one, the one with the fewest codes is taken."""


@dataclass(frozen=True)
class Projective(Asked):
    """A code of the label's hyperplane with weight `same`, every other code with weight `other`."""

    geometry: Geometry

    @property
    def outputs(self) -> int:
        return self.geometry.points

    @property
    def inside(self) -> int:
        return self.geometry.plane

    @property
    def meet(self) -> int:
        return self.geometry.meet

    def holders(self, output: int) -> Sequence[int]:
        (vector,) = self.geometry.vectors(np.array([output]))
        found: list[int] = np.flatnonzero(self._vectors @ vector % self.geometry.order == 0).tolist()
        return found

    def support(self, reported: Distribution) -> Distribution:
        if reported.ndim == 1 and reported.dtype != object:
            return self.geometry.plane_sums(reported)[: self.inputs]
        summed: Distribution = reported @ self._members.T.astype(reported.dtype)
        return summed

    def members(self) -> Integers:
        return self._members

    def spread(self, labels: Distribution) -> Distribution:
        if labels.ndim == 1 and self.inputs * self.outputs > MOST_CELLS:
            return self.geometry.plane_sums(np.pad(labels, (0, self.outputs - self.inputs)))
        summed: Distribution = labels @ self._members.astype(labels.dtype)
        return summed

    def represent(self, given: Codes, source: Source) -> Codes:
        places = Uniform(self.inside).draw(given, source).astype(np.int64)
        nowhere = np.zeros(len(given), dtype=np.bool_)
        return self._codes(given.astype(np.int64), places, nowhere).astype(code_type((self.outputs,)))

    def probability(self, given: int, output: int) -> Fraction:
        label, point = self.geometry.vectors(np.array([given, output]))
        return Fraction(self.same if label @ point % self.geometry.order == 0 else self.other, self.total)

    def draw(self, given: Codes, source: Source) -> Codes:
        # The line of words is cut into a piece of `same` words for each code of the hyperplane, then pieces of `other`
        # words for the codes outside it.
        fit = (WORD - 1) // self.total
        words = words_below(source, self.total * fit, len(given))
        end = self.same * self.inside * fit
        outside = words >= np.uint64(end)
        places = words // np.uint64(self.same * fit)
        places[outside] = (words[outside] - np.uint64(end)) // np.uint64(self.other * fit)
        return self._codes(given.astype(np.int64), places.astype(np.int64), outside).astype(code_type((self.outputs,)))

    def _codes(self, given: Integers, places: Integers, outside: Distribution) -> Integers:
        """The code at each place among those of the label's hyperplane, or among those outside it.

        All coordinates but one are free: the one where the label's vector has its first non-zero coordinate, a 1, is
        solved for. Inside, the free ones run through the points of the hyperplane; outside, through all vectors, the
        product with the label being 1.
        """
        order, dimension = self.geometry.order, self.geometry.dimension
        label = self._vectors[given]
        free = np.zeros((len(given), dimension - 1), dtype=np.int64)
        free[~outside] = Geometry(order, dimension - 1).vectors(places[~outside])
        rest = places[outside]
        for place in range(dimension - 2, -1, -1):
            free[outside, place] = rest % order
            rest //= order
        solved = np.argmax(label != 0, axis=1)
        behind = np.arange(dimension - 1) >= solved[:, None]
        vectors = np.zeros((len(given), dimension), dtype=np.int64)
        vectors[:, :-1] = np.where(behind, 0, free)
        vectors[:, 1:] += np.where(behind, free, 0)
        product = (label * vectors).sum(axis=1)
        vectors[np.arange(len(given)), solved] = (outside - product) % order
        return self.geometry.numbers(vectors)

    @cached_property
    def _vectors(self) -> Integers:
        return self.geometry.vectors(np.arange(self.inputs))

    @cached_property
    def _members(self) -> Integers:
        points = self.geometry.vectors(np.arange(self.outputs))
        return np.asarray(self._vectors @ points.T % self.geometry.order == 0, dtype=np.int64)


@lru_cache(maxsize=256)
def projective_response(epsilon: Fraction, size: int, geometry: Geometry) -> Projective:
    """The channel on so many labels with budget at most, and nearly, epsilon."""
    return Projective(size, *weights(epsilon, geometry.plane, geometry.points - geometry.plane), geometry)


ORDERS = tuple(order for order in range(2, 407) if is_geometry(order, 3))
"""The primes whose spaces are used; the cube of a larger one exceeds the limit."""


@lru_cache(maxsize=1 << 14)
def best_geometry(epsilon: float, size: int) -> Geometry | None:
    """The geometry whose estimates vary least at uniform answers; None where randomized response varies less."""
    power = exp(epsilon)
    found = []
    for order in ORDERS:
        dimension = 3
        while (order**dimension - 1) // (order - 1) < size:
            dimension += 1
        if order**dimension <= MOST_VECTORS:
            geometry = Geometry(order, dimension)
            found.append((even_variance(power, geometry.points, geometry.plane, geometry.meet, size), geometry))
    least = min((variance for variance, _ in found), default=float("inf"))
    if not least < even_variance(power, size, 1, 0, size):
        return None
    return min((geometry for variance, geometry in found if variance <= CLOSE * least), key=lambda one: one.points)


def even_variance(power: float, codes: int, inside: int, meet: int, size: int) -> float:
    """The variance of one frequency from one report at uniform answers, e^ε being `power`."""
    total = inside * power + codes - inside
    own = inside * power / total
    other = (meet * power + inside - meet) / total
    seen = own / size + other * (1 - 1 / size)
    return seen * (1 - seen) / (own - other) ** 2
