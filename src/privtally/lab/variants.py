"""What can be run: mechanisms, with the learning rules of those that have some, in groups or with several pivots."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

from privtally.documents.plan import design
from privtally.errors import PrivtallyError
from privtally.mechanisms import NAMED
from privtally.mechanisms.alignment import label_by_label
from privtally.mechanisms.grouping import best_groups
from privtally.names import LEARNED_WITH, RULES, RULES_LABEL_BY_LABEL, MechanismName, Rule
from privtally.schema import Schema

Names = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Variant:
    """A mechanism, with its learning rule where it has one, its groups if there are several, its pivots, and its decoys
    if not as many as is usual.
    """

    mechanism: MechanismName
    rule: Rule | None = None
    groups: Names | None = None
    pivots: int = 1
    decoys: int | None = None


def variants(mechanisms: Sequence[MechanismName]) -> list[Variant]:
    """Every mechanism with each of its rules, the default first."""
    return [
        Variant(mechanism, rule)
        for mechanism in mechanisms
        for rule in (RULES if "rule" in LEARNED_WITH.get(mechanism, ()) else (None,))
    ]


def fits(variant: Variant, schema: Schema) -> bool:
    """Whether a variant's rule is for these questions."""
    return variant.rule not in RULES_LABEL_BY_LABEL or label_by_label(schema, range(len(schema.attributes)))


def chosen_groups(schema: Schema, epsilon: float, mechanism: MechanismName) -> Names | None:
    """The groups that `--groups auto` takes; None if that is one group, or the mechanism has none."""
    with suppress(PrivtallyError):
        named = NAMED[mechanism]
        named.check_takes_groups()
        groups = best_groups(schema.sizes, Fraction(epsilon), named.hidden_among(), named.learned).groups
        if len(groups) > 1:
            names = schema.names
            return tuple(tuple(names[own] for own in group) for group in groups)
    return None


def extended(schema: Schema, epsilon: float, one: Variant, groups: Names | None, pivots: int) -> Iterator[Variant]:
    """A variant in these groups and with so many pivots, where the mechanism takes them."""
    more = [replace(one, groups=groups)] if groups is not None else []
    more += [replace(one, pivots=pivots)] if pivots > 1 else []
    for variant in more:
        with suppress(PrivtallyError):
            design(schema, epsilon, variant.mechanism, groups=variant.groups, pivots=variant.pivots)
            yield variant
