"""The named mechanisms as data: what SPL, SMP, RS+FD, RS+RFD, Corr-RR and Cond-RR are made of.

A campaign of a mechanism that learns starts with SPL; its later phases have one part with a fill that was learned.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

import msgspec

from privtally.errors import PlanError
from privtally.mechanisms.channel import Asked, randomized_response
from privtally.mechanisms.fills import AnyFill, CopyFill, Fill, RowFill, SilentFill, TableFill, UniformFill
from privtally.mechanisms.geometry import Geometry, is_geometry
from privtally.mechanisms.mechanism import Mechanism
from privtally.mechanisms.part import Part
from privtally.mechanisms.projective import best_geometry, projective_response
from privtally.names import MechanismName

MOST_BRANCHES = 100_000
"""A part with more choices of pivots is refused: every one is looked at."""


class RandomizedResponse(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="grr"):
    """Generalized randomized response on an attribute's own labels."""

    def channel(self, budget: Fraction, size: int) -> Asked:
        """The channel with this budget on this many labels."""
        return randomized_response(budget, size)


class ProjectiveResponse(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="pg"):
    """Randomized response for many labels, by the geometry of vectors over a prime field."""

    order: int
    dimension: int

    def __post_init__(self) -> None:
        if not is_geometry(self.order, self.dimension):
            raise PlanError(f"there is no geometry of {self.dimension} coordinates over {self.order} elements")

    def channel(self, budget: Fraction, size: int) -> Asked:
        """The channel with this budget on this many labels."""
        return projective_response(budget, size, Geometry(self.order, self.dimension))


AnyChannel = RandomizedResponse | ProjectiveResponse


def best_channel(budget: Fraction, size: int) -> AnyChannel:
    """The channel whose estimates vary least on this many labels with this budget."""
    geometry = best_geometry(float(budget), size)
    return RandomizedResponse() if geometry is None else ProjectiveResponse(geometry.order, geometry.dimension)


class PartPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part as a plan states it: its attributes, how many are asked, through which channels, and the fill."""

    attributes: tuple[int, ...]
    pivots: int
    channels: tuple[AnyChannel, ...]
    fill: AnyFill | None = None

    def build(self, sizes: Sequence[int], budget: Fraction) -> Part:
        """The part, with this budget, of a schema with these numbers of labels; refused if it does not fit."""
        if not self.attributes or not all(0 <= own < len(sizes) for own in self.attributes):
            raise PlanError(f"a part must have attributes, numbered from 0 to {len(sizes) - 1}")
        if len(self.channels) != len(self.attributes):
            raise PlanError("a part must state a channel for each of its attributes")
        if not 1 <= self.pivots <= len(self.attributes):
            raise PlanError(f"a part of {len(self.attributes)} attributes cannot ask {self.pivots} of them")
        if comb(len(self.attributes), self.pivots) > MOST_BRANCHES:
            raise PlanError(f"a part may have {MOST_BRANCHES:,} choices of pivots; ask fewer attributes, or in groups")
        if (self.fill is None) != (self.pivots == len(self.attributes)):
            raise PlanError("a part needs a fill if and only if some of its attributes are not asked")
        asked = tuple(
            channel.channel(budget / self.pivots, sizes[own])
            for channel, own in zip(self.channels, self.attributes, strict=True)
        )
        if self.fill is not None:
            self.fill.check(asked, self.pivots)
        return Part(self.attributes, self.pivots, asked, self.fill)


def build(parts: Sequence[PartPlan], sizes: Sequence[int], epsilon: Fraction) -> Mechanism:
    """The mechanism that a plan's parts describe: each part has an equal share of epsilon."""
    mechanism = Mechanism(tuple(part.build(sizes, epsilon / len(parts)) for part in parts))
    if mechanism.width != len(sizes):
        raise PlanError("every attribute must belong to exactly one part")
    return mechanism


def each_alone(sizes: Sequence[int], epsilon: Fraction) -> tuple[PartPlan, ...]:
    """SPL: every attribute is a part of its own."""
    budget = epsilon / len(sizes)
    return tuple(PartPlan((own,), 1, (best_channel(budget, size),)) for own, size in enumerate(sizes))


def one_pivot(
    sizes: Sequence[int], epsilon: Fraction, fill: AnyFill, channels: tuple[AnyChannel, ...] | None = None
) -> tuple[PartPlan, ...]:
    """All attributes in one part, of which one is asked, through the best channels if none are given."""
    if len(sizes) == 1:
        return each_alone(sizes, epsilon)
    best = tuple(RandomizedResponse() if fill.by_label else best_channel(epsilon, size) for size in sizes)
    return (PartPlan(tuple(range(len(sizes))), 1, channels or best, fill),)


@dataclass(frozen=True)
class Named:
    """A mechanism that people know by a name."""

    title: str
    """What it does, in one line."""
    fill: AnyFill | None = None
    """How the first phase fills what it does not ask; None if it asks everything."""
    learned: type[Fill] | None = None
    """The kind of fill that later phases learn, if there are later phases."""

    @property
    def learns(self) -> bool:
        """Whether later phases are learned from the first."""
        return self.learned is not None

    def first(self, sizes: Sequence[int], epsilon: Fraction) -> tuple[PartPlan, ...]:
        """The parts of a campaign's first phase; refused if the mechanism does not take these numbers of labels."""
        if self.learned is not None and len(sizes) < 2:
            raise PlanError("a mechanism that learns needs at least two attributes; use spl or smp for a single one")
        if self.learned is not None:
            self.learned.check_sizes(sizes, 1)
        return each_alone(sizes, epsilon) if self.fill is None else one_pivot(sizes, epsilon, self.fill)


NAMED: dict[MechanismName, Named] = {
    "spl": Named("SPL: every answer randomised with an equal share of the budget"),
    "smp": Named("SMP: one random question answered with the whole budget, the report says which", fill=SilentFill()),
    "rs-fd": Named(
        "RS+FD: one random answer randomised with the whole budget, the others drawn evenly", fill=UniformFill()
    ),
    "rs-rfd": Named(
        "RS+RFD: one random answer randomised with the whole budget, the others drawn from priors", learned=RowFill
    ),
    "corr-rr": Named(
        "Corr-RR: one random answer randomised with the whole budget, the others copy it or differ from it",
        learned=CopyFill,
    ),
    "cond-rr": Named(
        "Cond-RR: one random answer randomised with the whole budget, the others drawn from tables given it",
        learned=TableFill,
    ),
}
