"""What Corr-RR reports tell if copies run one way: within a small group each attribute copies the next and differs from
the one before, or the other way round, and everything else is filled evenly.

Whether two values of a group agree then says which of the two was probably private. Unlike one copy probability for all
pairs, which buys what attributes share with what tells them apart, this can gain in every direction at once.

At uniform answers all that matters of a group's values is which of them agree, so that sums over all reports become
sums over the ways to agree in one group and the number of other groups of each kind.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import factorial, perm, prod

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Directed:
    """What one report tells for each of several pairs of probabilities, at uniform answers and a private value kept
    with certainty, and how often the best guess of the pivot is right.

    `groups` are the information matrices of the first group and the next and so on, attribute by attribute; groups tell
    nothing about each other.
    """

    groups: tuple[Floats, ...]
    pivot_guess: Floats


def members(attributes: int, most: int) -> list[int]:
    """The sizes of groups, the last of which may be smaller."""
    return [min(most, attributes - start) for start in range(0, attributes, most)]


def copy_matrix(ahead: float, back: float, even: float, attributes: int, most: int) -> Floats:
    """copy_probability[pivot][other]: `ahead` to the next in the group, `back` to the one before, `even` elsewhere."""
    matrix = np.full((attributes, attributes), even)
    start = 0
    for many in members(attributes, most):
        for own, other, towards in _links(many):
            matrix[start + own, start + other] = ahead if towards else back
        start += many
    np.fill_diagonal(matrix, 1.0)
    return matrix


def told_one_way(ahead: Floats, back: Floats, attributes: int, size: int, most: int, *, whole: bool = True) -> Directed:
    """What reports tell, whole or attribute by attribute, with groups of at most three."""
    sizes = members(attributes, most)
    kinds = {many: _Kind.of(ahead, back, many, size) for many in set(sizes)}
    guess = np.zeros(len(ahead))
    for chance, _, largest in _sums(kinds, sizes):
        guess += chance * largest / attributes
    tell = {}
    for many, kind in kinds.items():
        if whole:
            rest = list(sizes)
            rest.remove(many)
            tell[many] = _whole(kind, list(_sums(kinds, rest)), attributes, size)
        else:
            tell[many] = _one_way(ahead, back, many, attributes, size)
    return Directed(tuple(tell[many] for many in sizes), guess)


def _links(many: int) -> Iterator[tuple[int, int, bool]]:
    """Ordered pairs of a group of at most three, and whether the second comes next: the last is before the first."""
    for own in range(many):
        for other in range(many):
            if own != other:
                yield own, other, own < other if many == 2 else (other - own) % many == 1


@dataclass(frozen=True)
class _Kind:
    """The ways in which the values of a group can agree.

    `chance[way]` if values are uniform, how many besides the first are `different[way]`, which are the `same[way]`, and
    how much more probable the way is, if a member is the pivot, than with even fills: `likely[choice, way, member]`.
    """

    chance: Floats
    different: NDArray[np.int64]
    same: NDArray[np.bool_]
    likely: Floats

    @classmethod
    def of(cls, ahead: Floats, back: Floats, many: int, size: int) -> "_Kind":
        ways = [way for way in _agreements(many) if max(way) < size]
        chance = np.array([perm(size, max(way) + 1) / size**many for way in ways])
        codes = np.array(ways)
        same = codes[:, :, None] == codes[:, None, :]
        likely = np.ones((len(ahead), len(ways), many))
        for own, other, towards in _links(many):
            copy = (ahead if towards else back)[:, None]
            likely[:, :, own] *= size * np.where(same[:, own, other], copy, (1 - copy) / (size - 1))
        return cls(chance, codes.max(axis=1), same, likely)


def _agreements(many: int) -> Iterator[tuple[int, ...]]:
    """The ways to agree: each member has a value that an earlier one has, or the next new one."""
    if many == 0:
        yield ()
        return
    for rest in _agreements(many - 1):
        for value in range(max(rest, default=-1) + 2):
            yield (*rest, value)


def _sums(kinds: dict[int, _Kind], sizes: list[int]) -> Iterator[tuple[float, Floats, Floats]]:
    """Over all that groups of these sizes can show: how probable with even fills, and for each choice the sum and the
    largest of `likely` over all their members.
    """
    if not sizes:
        yield 1.0, np.zeros(1), np.zeros(1)
        return
    many = sizes[-1]
    kind, times = kinds[many], sizes.count(many)
    # As many different values mean the same ways to agree, turned round.
    chances = np.bincount(kind.different, kind.chance)
    first = [int(np.argmax(kind.different == each)) for each in range(len(chances))]
    total, largest = kind.likely[:, first].sum(axis=2), kind.likely[:, first].max(axis=2)
    for others_chance, others_total, others_largest in _sums(kinds, [each for each in sizes if each != many]):
        for seen in _shared_out(times, len(chances)):
            ways = factorial(times) // prod(map(factorial, seen))
            chance = ways * float(np.prod(chances ** np.array(seen)))
            most = np.maximum(np.where(np.array(seen) > 0, largest, 0).max(axis=1), others_largest)
            yield chance * others_chance, total @ np.array(seen, dtype=float) + others_total, most


def _shared_out(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Every way to write a number as a sum of so many numbers from 0 up."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _shared_out(total - first, parts - 1):
            yield (first, *rest)


def _whole(kind: _Kind, others: list[tuple[float, Floats, Floats]], attributes: int, size: int) -> Floats:
    """The information of whole reports on one group, the others showing this."""
    total = kind.likely.sum(axis=2)
    inverse = np.zeros_like(total)
    for chance, beside, _ in others:
        all_of_it = total + np.reshape(beside, (-1, 1))
        inverse += chance * np.divide(1.0, all_of_it, out=np.zeros_like(all_of_it), where=all_of_it > 0)
    weights = kind.chance * inverse * size**2 / attributes
    agree = (kind.same - 1 / size) / (size - 1)
    told: Floats = np.einsum("cw,cwi,cwj,wij->cij", weights, kind.likely, kind.likely, agree, optimize=True)
    return told


def _one_way(ahead: Floats, back: Floats, many: int, attributes: int, size: int) -> Floats:
    """The information of the attributes of one group one by one."""
    through = np.zeros((len(ahead), many, many))
    for own, other, towards in _links(many):
        through[:, own, other] = (size * (ahead if towards else back) - 1) / (size - 1)
    through += np.eye(many)
    # A report's values hang together through each pivot; a pivot in another group leaves them independent.
    spread = (through.transpose(0, 2, 1) @ through) / attributes
    spread[:, range(many), range(many)] = 1.0
    solved = np.linalg.solve(spread, through.transpose(0, 2, 1))
    return np.asarray(size / attributes**2 * through @ solved)
