"""What can be run: mechanisms, with the learning rules of those that have some."""

from collections.abc import Sequence
from dataclasses import dataclass

from privtally.names import LEARNED_WITH, RULES, MechanismName, Rule


@dataclass(frozen=True)
class Variant:
    """A mechanism, with its learning rule where it has one."""

    mechanism: MechanismName
    rule: Rule | None = None


def variants(mechanisms: Sequence[MechanismName]) -> list[Variant]:
    """Every mechanism with each of its rules, the default first."""
    return [
        Variant(mechanism, rule)
        for mechanism in mechanisms
        for rule in (RULES if "rule" in LEARNED_WITH.get(mechanism, ()) else (None,))
    ]
