"""What can be run: mechanisms, with the learning rules of those that have some."""

from collections.abc import Sequence
from dataclasses import dataclass

from privtally.documents.plan import design
from privtally.errors import PrivtallyError
from privtally.mechanisms import NAMED
from privtally.names import LEARNED_WITH, RULES, MechanismName, Rule
from privtally.schema import Schema


@dataclass(frozen=True)
class Variant:
    """A mechanism, with its learning rule where it has one."""

    mechanism: MechanismName
    rule: Rule | None = None


def variants(mechanisms: Sequence[MechanismName]) -> list[Variant]:
    """Every mechanism with each of its rules."""
    return [Variant(mechanism, rule) for mechanism in mechanisms for rule in rules_of(mechanism)]


def usual(mechanism: MechanismName) -> Variant:
    """A mechanism with the rule that is its default."""
    return Variant(mechanism, rules_of(mechanism)[0])


def learns(mechanism: MechanismName) -> bool:
    """Whether a later phase is learned from the first."""
    return NAMED[mechanism].learns


def rules_of(mechanism: MechanismName) -> Sequence[Rule | None]:
    """The rules by which a later phase can be learned; None alone if there is no choice."""
    return RULES if "rule" in LEARNED_WITH.get(mechanism, ()) else (None,)


def refusal(schema: Schema, epsilon: float, mechanism: MechanismName) -> PrivtallyError | None:
    """Why the mechanism cannot ask these questions, if it cannot."""
    try:
        design(schema, epsilon, mechanism)
    except PrivtallyError as error:
        return error
    return None
