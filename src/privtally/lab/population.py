"""Populations: the paper's SynA and SynB with every choice explicit, and tables of real records.

A population is a tensor with one axis for each attribute: the probability of every record (a law), or how many people
have it (a table). Nothing here grows with the number of people.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from privtally.errors import CampaignError
from privtally.exact.randomness import Source, Stream
from privtally.exact.types import Codes, Floats, Integers
from privtally.schema import Records, Schema


def seeded(seed: int) -> Stream:
    """A stream that the seed determines. Never give it to a participant: whoever knows the seed can undo a report."""
    return Stream(hashlib.sha256(f"privtally lab seed {seed}".encode()).digest())


MAX_CELLS = 1 << 20
"""The largest number of different records that a population may have."""

SIMILAR = 20
"""The weight of what questions share in populations of the kind "similar"."""

First = Literal["falling", "uniform"]
Uncopied = Literal["domain", "others", "same", "reversed"]


@dataclass(frozen=True)
class Synthetic:
    """The paper's synthetic populations (its Section 4.2.3), with what its text leaves open as choices.

    `first`: X1 is distributed as k, k − 1, … 1 ("falling": 0.4, 0.3, 0.2, 0.1 for four labels) or uniformly.
    `uncopied`: a value that is not copied is drawn uniformly from the whole domain, uniformly from the other values,
    from X1's distribution ("same"), or from that in reverse.
    """

    kind: Literal["SynA", "SynB"]
    attributes: int
    size: int
    correlation: float
    first: First = "falling"
    uncopied: Uncopied = "domain"

    def __post_init__(self) -> None:
        if self.attributes < 1 or self.size < 2 or not 0 <= self.correlation <= 1:
            raise CampaignError("a population needs an attribute, two labels and a correlation between 0 and 1")
        if self.size**self.attributes > MAX_CELLS:
            raise CampaignError(f"{self.size}^{self.attributes} different records are too many to simulate exactly")

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.size,) * self.attributes

    def law(self, parents: Sequence[int] | None = None) -> Floats:
        """The probability of every record; `parents[j]` is the parent of attribute j + 1 in SynB, X1 if not given."""
        weights = np.arange(self.size, 0, -1.0) if self.first == "falling" else np.ones(self.size)
        law: Floats = weights / weights.sum()
        same = np.eye(self.size)
        uncopied = {
            "domain": np.full(self.size, 1 / self.size),
            "others": (1 - same) / (self.size - 1),
            "same": law,
            "reversed": law[::-1],
        }[self.uncopied]
        copying = self.correlation * same + (1 - self.correlation) * uncopied  # (parent's value, own value)
        for own in range(1, self.attributes):
            shape = [1] * own + [self.size]
            shape[0 if parents is None or self.kind == "SynA" else parents[own - 1]] = self.size
            law = law[..., None] * copying.reshape(shape)
        return law

    def draw_laws(self, runs: int, generator: np.random.Generator) -> tuple[Floats, Integers]:
        """The different laws that `runs` populations may have, and which of them each one has: SynB's parents are drawn
        once for each population and attribute.
        """
        if self.kind == "SynA" or self.attributes == 1:
            return self.law()[None], np.zeros(runs, dtype=np.int64)
        parents = [generator.integers(0, own, runs) for own in range(1, self.attributes)]
        trees, which = np.unique(np.column_stack(parents), axis=0, return_inverse=True)
        return np.array([self.law(tree) for tree in trees.tolist()]), which.ravel()


def stated_populations(schema: Schema, people: int, generator: np.random.Generator) -> dict[str, Records]:
    """People of three kinds that stand for those whom nobody has asked yet, with independent answers.

    Alike: one draw from Dirichlet(1) for all questions with the same answers; similar: each question from Dirichlet(20
    times such a draw); unlike: each question its own draw from Dirichlet(1).
    """
    shared = {attribute.labels: generator.dirichlet(np.ones(attribute.size)) for attribute in schema.attributes}
    by_kind: dict[str, list[Floats]] = {"alike": [], "similar": [], "unlike": []}
    for attribute in schema.attributes:
        common = shared[attribute.labels]
        by_kind["alike"].append(common)
        by_kind["similar"].append(generator.dirichlet(np.maximum(SIMILAR * common, 1e-9)))
        by_kind["unlike"].append(generator.dirichlet(np.ones(attribute.size)))
    return {
        kind: Records(schema, np.column_stack([generator.choice(len(law), people, p=law) for law in laws]))
        for kind, laws in by_kind.items()
    }


def split_people(
    population: Synthetic | Integers, first: int, second: int, runs: int, generator: np.random.Generator
) -> tuple[Integers, Integers]:
    """Tables of the people of both phases, for each run: drawn from a synthetic population's law, or split at random
    if the population is a table.
    """
    shape = (runs, *population.shape)
    if not isinstance(population, Synthetic):
        taken = generator.multivariate_hypergeometric(population.ravel(), first, runs, method="marginals")
        return taken.reshape(shape), (population.ravel() - taken).reshape(shape)
    laws, which = population.draw_laws(runs, generator)
    flat = laws.reshape(len(laws), -1)[which]
    return generator.multinomial(first, flat).reshape(shape), generator.multinomial(second, flat).reshape(shape)


def table_of(records: Records) -> Integers:
    """How many people have each record."""
    table = np.zeros(records.schema.sizes, dtype=np.int64)
    np.add.at(table, tuple(records.codes.T), 1)
    return table


def marginals(tables: Integers) -> list[Integers]:
    """Each attribute's counts, for each run (the first axis)."""
    axes = range(1, tables.ndim)
    return [tables.sum(axis=tuple(axis for axis in axes if axis != own)) for own in axes]


SCALE = ("never", "rarely", "weekly", "daily")

SCHEMA = Schema.of(dict.fromkeys(("sleeps badly", "feels lonely", "skips meals", "drinks alcohol"), SCALE))

_MOOD = (40, 30, 20, 10)
"""Percent of people in each of four moods; a mood suggests the same place on every scale."""
_HABITS = ((25, 35, 25, 15), (35, 35, 20, 10), (55, 25, 15, 5), (30, 25, 35, 10))
"""Percent of answers to each question among people whose mood does not decide it."""
_SWAY = (60, 70, 40, 30)
"""Percent of people whose mood decides their answer to each question."""


def simulate(people: int, source: Source) -> Records:
    """Answers of simulated people."""
    mood = _pick(_MOOD, people, source)
    columns = [
        np.where(_percent(people, source) < sway, mood, _pick(habits, people, source))
        for habits, sway in zip(_HABITS, _SWAY, strict=True)
    ]
    return Records(SCHEMA, np.column_stack(columns))


def _pick(percentages: tuple[int, ...], people: int, source: Source) -> Codes:
    return np.searchsorted(np.cumsum(percentages), _percent(people, source), side="right").astype(np.uint8)


def _percent(people: int, source: Source) -> Codes:
    """A number from 0 to 99 for each person (uneven by less than one part in 10^17, which no simulation sees)."""
    return (source.words(people) % np.uint64(100)).astype(np.uint8)
