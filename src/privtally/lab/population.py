"""Populations: the paper's SynA and SynB with every choice explicit, and tables of real records.

A population is a tensor with one axis for each attribute: the probability of every record (a law), or how many people
have it (a table). Nothing here grows with the number of people.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from privtally.errors import CampaignError
from privtally.schema import Records

Floats = NDArray[np.float64]
Tensor = NDArray[np.int64]

MAX_CELLS = 1 << 20
"""The largest number of different records that a population may have."""

First = Literal["falling", "uniform"]
Uncopied = Literal["domain", "others", "same", "reversed"]
Parent = Literal["attribute", "user"]


@dataclass(frozen=True)
class Synthetic:
    """The paper's synthetic populations (its Section 4.2.3), with what its text leaves open as choices.

    `first`: X1 is distributed as k, k − 1, … 1 ("falling": 0.4, 0.3, 0.2, 0.1 for four labels) or uniformly.
    `uncopied`: a value that is not copied is drawn uniformly from the whole domain, uniformly from the other values,
    from X1's distribution ("same"), or from that in reverse.
    `parent`: SynB's parents are drawn once for each attribute, or by every user.
    """

    kind: Literal["SynA", "SynB"]
    attributes: int
    size: int
    correlation: float
    first: First = "falling"
    uncopied: Uncopied = "domain"
    parent: Parent = "attribute"

    def __post_init__(self) -> None:
        if self.attributes < 1 or self.size < 2 or not 0 <= self.correlation <= 1:
            raise CampaignError("a population needs an attribute, two labels and a correlation between 0 and 1")
        if self.size**self.attributes > MAX_CELLS:
            raise CampaignError(f"{self.size}^{self.attributes} different records are too many to simulate exactly")

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the attributes."""
        return (self.size,) * self.attributes

    def first_distribution(self) -> Floats:
        """The distribution of X1."""
        weights = np.arange(self.size, 0, -1.0) if self.first == "falling" else np.ones(self.size)
        distribution: Floats = weights / weights.sum()
        return distribution

    def copying(self) -> Floats:
        """The law of an attribute (column) given its parent (row)."""
        same = np.eye(self.size)
        first = self.first_distribution()
        drawn = {
            "domain": np.full((self.size, self.size), 1 / self.size),
            "others": (1 - same) / (self.size - 1),
            "same": np.tile(first, (self.size, 1)),
            "reversed": np.tile(first[::-1], (self.size, 1)),
        }[self.uncopied]
        copying: Floats = self.correlation * same + (1 - self.correlation) * drawn
        return copying

    def law(self, parents: Sequence[int] | None = None) -> Floats:
        """The probability of every record; `parents[j]` is the parent of attribute j + 1, for SynB by attribute."""
        law = self.first_distribution()
        copying = self.copying()
        for own in range(1, self.attributes):
            if self.kind == "SynA":
                links = [0]
            elif self.parent == "attribute":
                links = [0 if parents is None else parents[own - 1]]
            else:
                links = list(range(own))
            given = sum((_along(copying, link, own) for link in links), start=np.zeros(())) / len(links)
            law = law[..., None] * given
        return law

    def draw_laws(self, runs: int, generator: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
        """The different laws that `runs` populations may have, and which of them each one has."""
        if self.kind == "SynA" or self.parent == "user" or self.attributes == 1:
            return self.law()[None], np.zeros(runs, dtype=np.int64)
        parents = [generator.integers(0, own, runs) for own in range(1, self.attributes)]
        trees, which = np.unique(np.column_stack(parents), axis=0, return_inverse=True)
        return np.array([self.law(tree) for tree in trees.tolist()]), which.ravel()


def _along(copying: Floats, parent: int, own: int) -> Floats:
    """The law of attribute `own` given all before it, when only its parent matters."""
    shape = [1] * own + [copying.shape[1]]
    shape[parent] = copying.shape[0]
    return copying.reshape(shape)


def split_synthetic(
    population: Synthetic, first: int, second: int, runs: int, generator: np.random.Generator
) -> tuple[Tensor, Tensor]:
    """Tables of the people of both phases, for each run: people are drawn from the population's law."""
    laws, which = population.draw_laws(runs, generator)
    flat = laws.reshape(len(laws), -1)[which]
    shape = (runs, *population.shape)
    return generator.multinomial(first, flat).reshape(shape), generator.multinomial(second, flat).reshape(shape)


def table_of(records: Records) -> Tensor:
    """How many people have each record."""
    shape = records.schema.sizes
    if np.prod(shape, dtype=float) > MAX_CELLS:
        raise CampaignError(f"this schema has more than {MAX_CELLS:,} different records, too many to simulate exactly")
    keys = np.ravel_multi_index(tuple(records.codes.astype(np.int64).T), shape)
    return np.bincount(keys, minlength=int(np.prod(shape))).reshape(shape)


def resample(table: Tensor, people: int, runs: int, generator: np.random.Generator) -> Tensor:
    """Tables of `people` drawn with replacement from a table, for each run."""
    law = table.ravel() / table.sum()
    return generator.multinomial(people, law, size=runs).reshape(runs, *table.shape)


def split_table(tables: Tensor, first: int, generator: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Split each run's people at random into `first` of them and the rest (without replacement)."""
    runs = len(tables)
    flat = tables.reshape(runs, -1)
    taken = np.zeros_like(flat)
    left = np.full(runs, first)
    behind = flat.sum(axis=1)
    for cell in np.flatnonzero(flat.any(axis=0)):
        behind = behind - flat[:, cell]
        taken[:, cell] = generator.hypergeometric(flat[:, cell], behind, left)
        left = left - taken[:, cell]
    return taken.reshape(tables.shape), (flat - taken).reshape(tables.shape)


def marginals(tables: Tensor) -> list[Any]:
    """Each attribute's counts, for each run (the first axis)."""
    axes = range(1, tables.ndim)
    return [tables.sum(axis=tuple(axis for axis in axes if axis != own)) for own in axes]
