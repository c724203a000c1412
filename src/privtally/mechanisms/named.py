"""The named mechanisms as data: what SPL, SMP, RS+FD, RS+RFD, Corr-RR and Cond-RR are made of.

A campaign of a mechanism that learns starts with SPL; its later phases have one part for each group of attributes, with
a fill that was learned.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from math import comb

import msgspec

from privtally.errors import PlanError
from privtally.mechanisms.channels import Asked, randomized_response
from privtally.mechanisms.fills import (
    AnyFill,
    Classes,
    CopyFill,
    Fill,
    Places,
    Row,
    RowFill,
    TableFill,
    UniformFill,
    alignment_of,
)
from privtally.mechanisms.mechanism import Mechanism, Part
from privtally.mechanisms.projective import Geometry, best_geometry
from privtally.names import MechanismName
from privtally.schema import Alignment, Attribute, Schema

MOST_BRANCHES = 100_000
"""A part with more choices of pivots is refused: every one is looked at."""


class RandomizedResponse(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="grr"):
    """Generalized randomized response on an attribute's own labels."""

    def channel(self, budget: Fraction, size: int) -> Asked:
        """The channel with this budget on this many labels."""
        return randomized_response(budget, size)


AnyChannel = RandomizedResponse | Geometry


Groups = tuple[Places, ...]
"""Attributes by their places, each in one group; every group has an equal share of epsilon."""


def best_channel(budget: Fraction, size: int) -> AnyChannel:
    """The channel whose estimates vary least on this many labels with this budget."""
    return best_geometry(float(budget), size) or RandomizedResponse()


class PartPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part as a plan states it: its attributes, how many are asked, through which channels, how many are shown beside
    them as decoys, and the fill of these if there are any.
    """

    attributes: tuple[int, ...]
    pivots: int
    channels: tuple[AnyChannel, ...]
    decoys: int = 0
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
            raise PlanError(
                f"{self.pivots} of {len(self.attributes)} questions make more than {MOST_BRANCHES:,} choices; "
                "ask for fewer, or in groups"
            )
        if not 0 <= self.decoys <= len(self.attributes) - self.pivots:
            raise PlanError(
                f"a part that asks {self.pivots} of {len(self.attributes)} attributes cannot show {self.decoys} decoys"
            )
        if (self.fill is None) != (self.decoys == 0):
            raise PlanError("a part needs a fill if and only if it has decoys")
        asked = tuple(
            channel.channel(budget / self.pivots, sizes[own])
            for channel, own in zip(self.channels, self.attributes, strict=True)
        )
        if self.fill is not None:
            self.fill.check(asked, self.pivots)
        return Part(self.attributes, self.pivots, asked, self.decoys, self.fill)


def build(parts: Sequence[PartPlan], sizes: Sequence[int], epsilon: Fraction) -> Mechanism:
    """The mechanism that a plan's parts describe: each part has an equal share of epsilon."""
    mechanism = Mechanism(tuple(part.build(sizes, epsilon / len(parts)) for part in parts))
    if mechanism.width != len(sizes):
        raise PlanError("every attribute must belong to exactly one part")
    return mechanism


def asking(
    attributes: Places,
    sizes: Sequence[int],
    budget: Fraction,
    fill: AnyFill | None = None,
    *,
    pivots: int = 1,
    decoys: int | None = None,
    channels: tuple[AnyChannel, ...] | None = None,
) -> PartPlan:
    """A part that asks `pivots` of its attributes, through the best channels if none are given; `sizes` are of all
    attributes. With a fill it shows `decoys` of the others, all of them if it has no more or none is given.
    """
    if pivots > len(attributes):
        raise PlanError(
            f"{pivots} questions a report (pivots) need at least {pivots} questions in every group, "
            f"one has {len(attributes)}"
        )
    others = len(attributes) - pivots
    shown = 0 if fill is None else others if decoys is None else min(decoys, others)
    by_label = fill is not None and shown > 0 and fill.by_label
    best = (RandomizedResponse() if by_label else best_channel(budget / pivots, sizes[own]) for own in attributes)
    return PartPlan(attributes, pivots, channels or tuple(best), shown, fill if shown else None)


def each_alone(sizes: Sequence[int], epsilon: Fraction) -> tuple[PartPlan, ...]:
    """SPL: every attribute is a part of its own."""
    return tuple(asking((own,), sizes, epsilon / len(sizes)) for own in range(len(sizes)))


@dataclass(frozen=True)
class Named:
    """A mechanism that people know by a name."""

    title: str
    """What it does, in one line; `{asked}` stands for the answers that are chosen, and their share of the budget."""
    decoys: int | None = None
    """How many attributes are shown beside the chosen one unless told otherwise; None if all others are."""
    asks_all: bool = False
    """Whether every report of the first phase answers every attribute."""
    learned: type[Fill] | None = None
    """The kind of fill that later phases learn, if there are later phases."""

    @property
    def learns(self) -> bool:
        """Whether later phases are learned from the first."""
        return self.learned is not None

    def hidden_among(self, decoys: int | None = None) -> int | None:
        """How many attributes of a group a report with so many decoys shows, its own number if not given; None if it
        shows all of them.
        """
        shown = self.decoys if decoys is None else decoys
        return None if shown is None else shown + 1

    def check_takes_groups(self) -> None:
        """Refuse groups for a mechanism that asks every attribute in all its phases."""
        if self.asks_all and self.learned is None:
            raise PlanError("spl has no groups: every question is one of its own; use smp or rs-fd for groups")

    def first(
        self,
        sizes: Sequence[int],
        epsilon: Fraction,
        groups: Groups | None = None,
        pivots: int = 1,
        decoys: int | None = None,
        rows: Sequence[Row] | None = None,
    ) -> tuple[PartPlan, ...]:
        """The parts of a campaign's first phase, all attributes in one group if no groups are given; refused if the
        mechanism does not take these numbers of labels, or has no groups or no second pivot. With a row of priors for
        each attribute there is nothing to learn: they fill what a report shows beside its pivots.
        """
        if pivots > 1 and self.asks_all and rows is None:
            raise PlanError(
                "in a first phase only smp and rs-fd answer several questions a report (pivots); rs-rfd and cond-rr "
                "may from the second phase on (learn)"
            )
        if groups is not None:
            self.check_takes_groups()
        groups = groups or (tuple(range(len(sizes))),)
        if self.learned is not None:
            if max(map(len, groups)) < 2:
                raise PlanError("a mechanism that learns needs at least two questions in a group; use spl or smp")
            for group in groups:
                self.learned.check_sizes([sizes[own] for own in group], 1)
        if rows is not None:
            budget = epsilon / len(groups)
            fills = ((group, RowFill(tuple(rows[own] for own in group))) for group in groups)
            return tuple(asking(group, sizes, budget, fill, pivots=pivots, decoys=decoys) for group, fill in fills)
        if self.asks_all:
            return each_alone(sizes, epsilon)
        shown = self.decoys if decoys is None else decoys
        return tuple(
            asking(group, sizes, epsilon / len(groups), UniformFill(), pivots=pivots, decoys=shown) for group in groups
        )


NAMED: dict[MechanismName, Named] = {
    "spl": Named("SPL: every answer randomised with an equal share of the budget", asks_all=True),
    "smp": Named("SMP: {asked}, the report says which", decoys=0),
    "rs-fd": Named("RS+FD: {asked}, the others drawn evenly"),
    "rs-rfd": Named("RS+RFD: {asked}, the others drawn from priors", asks_all=True, learned=RowFill),
    "corr-rr": Named("Corr-RR: {asked}, the others copy it or differ from it", asks_all=True, learned=CopyFill),
    "cond-rr": Named("Cond-RR: {asked}, the others drawn from conditional tables", asks_all=True, learned=TableFill),
    "pairs": Named("Pairs: {asked}, the report says which", decoys=0),
}


def coarsened(schema: Schema) -> Schema:
    """The schema of the same attributes with one number of classes, aligned label by label."""
    places = range(len(schema.attributes))
    least = min(places, key=lambda own: schema.attributes[own].answers)
    found = {own: _answers_of(schema, least, own) for own in places}
    joined = _joined(list(found.values()))
    if len(joined) < 2:
        raise PlanError(
            "these alignments join all answers in one class, so that nothing is left to ask; declare others"
        )
    classes = [[_others(found[own], together) for together in joined] for own in places]
    merged = [_merged(attribute, own) for attribute, own in zip(schema.attributes, classes, strict=True)]
    aligned: list[dict[str, tuple[str, ...]]] = [
        {own.name: (own.labels[_place(own, codes, number)],) for own, codes in zip(merged, classes, strict=True)}
        for number in range(len(joined))
    ]
    return Schema(tuple(merged), (Alignment(tuple(aligned)),) if len(merged) > 1 else ())


def _answers_of(schema: Schema, least: int, own: int) -> Classes:
    """The classes of the deciding attribute's answers and of another one's, "no answer" aside."""
    if least == own:
        return tuple(((code,), (code,)) for code in range(schema.attributes[own].answers))
    classes = alignment_of(schema, least, own)
    if classes is None:
        names = schema.names[least], schema.names[own]
        raise PlanError(f"questions '{names[0]}' and '{names[1]}' are not aligned; declare which answers go together")
    skipped = schema.attributes[least].optional or schema.attributes[own].optional
    return classes[:-1] if skipped else classes


def _joined(alignments: Sequence[Classes]) -> list[set[int]]:
    """The deciding attribute's codes that share a class in any of the alignments, directly or through others."""
    joined: list[set[int]] = []
    for classes in alignments:
        for codes, _ in classes:
            touched = [own for own in joined if own & set(codes)]
            joined = [own for own in joined if own not in touched]
            joined.append(set(codes).union(*touched))
    return sorted(joined, key=min)


def _others(classes: Classes, together: set[int]) -> list[int]:
    return sorted(code for codes, others in classes if set(codes) <= together for code in others)


def _merged(attribute: Attribute, classes: Sequence[list[int]]) -> Attribute:
    """An attribute whose labels are these classes of codes, in their order, or in that of its bins."""
    if attribute.numbers is None:
        answers = attribute.merged or tuple((label,) for label in attribute.labels)
        labels = tuple(tuple(label for code in own for label in answers[code]) for own in classes)
        return Attribute(attribute.name, optional=attribute.optional, merged=labels)
    if attribute.grid is not None:
        raise PlanError(f"question '{attribute.name}' has a grid, whose points cannot be merged; declare fewer points")
    edges, in_order = attribute.numbers.edges, sorted(classes)
    if list(chain.from_iterable(in_order)) != list(range(attribute.answers)):
        raise PlanError(f"question '{attribute.name}' can only be merged into wider bins; align bins side by side")
    kept = (*(edges[own[0]] for own in in_order), edges[-1])
    return Attribute(
        attribute.name, optional=attribute.optional, bins=kept, decimals=attribute.decimals, clamp=attribute.clamp
    )


def _place(merged: Attribute, classes: Sequence[list[int]], number: int) -> int:
    """The code of a class in a merged attribute: bins keep their order."""
    return number if merged.numbers is None else sorted(classes).index(classes[number])
