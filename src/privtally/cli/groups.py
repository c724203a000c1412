"""--groups: questions by name, or chosen, and what there is to say about the choice."""

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING

from privtally.errors import CampaignError
from privtally.names import MechanismName

if TYPE_CHECKING:
    from privtally.mechanisms.grouping import Grouping
    from privtally.schema import Schema

PEOPLE = 10_000
"""The number of people for whom expected errors are said."""


def read_groups(
    text: str | None,
    schema: "Schema",
    epsilon: float,
    mechanism: MechanismName,
    pivots: int = 1,
    decoys: int | None = None,
) -> tuple[tuple[tuple[str, ...], ...] | None, str]:
    """The groups that an option names, by semicolons and commas; if it says auto, the best ones, and a sentence why."""
    if text is None:
        return None, ""
    if text != "auto":
        return tuple(map(tuple, named_groups(text, schema))), ""
    from privtally.documents.plan import check_epsilon
    from privtally.mechanisms import NAMED
    from privtally.mechanisms.grouping import best_groups

    check_epsilon(epsilon)
    if pivots != 1:
        raise CampaignError("--groups auto chooses for one question a report; name the groups, or leave --pivots out")
    named = NAMED[mechanism]
    named.check_takes_groups()
    chosen = best_groups(schema.sizes, Fraction(epsilon), named.hidden_among(decoys), named.learned)
    groups = tuple(tuple(schema.names[own] for own in group) for group in chosen.groups)
    return groups, _said(groups, chosen, epsilon)


def named_groups(text: str, schema: "Schema") -> list[list[str]]:
    """The groups that an option names, by semicolons and commas."""
    from privtally.exact.wire import normal

    return [_names(group.split(","), schema.names) for group in normal(text).split(";")]


def _names(words: Sequence[str], known: Sequence[str]) -> list[str]:
    """The names that words between commas stand for, the longest first: a comma may stand in a name too."""
    if not words:
        return []
    joined = {length: ",".join(words[:length]).strip() for length in range(len(words), 0, -1)}
    taken = next((length for length, name in joined.items() if name in known), 1)
    return [joined[taken], *_names(words[taken:], known)]


def _said(groups: Sequence[Sequence[str]], chosen: "Grouping", epsilon: float) -> str:
    budget = f"ε = {epsilon / len(groups):.3g}"
    count = "one group" if len(groups) == 1 else f"{len(groups)} groups with {budget} each"
    members = "; ".join(", ".join(group) for group in groups)
    return (
        f"Chose {count}: {members}. With {PEOPLE:,} people the unbiased estimate would have "
        f"{_points(chosen.variance)} (half a 95 % interval, if all answers are equally frequent). "
        f"All in one group: {_points(chosen.together)}; every question alone: {_points(chosen.alone)}."
    )


def _points(variance: float | None) -> str:
    if variance is None:
        return "not possible"
    from privtally.documents.estimate import NORMAL_95

    return f"± {100 * NORMAL_95 * sqrt(variance / PEOPLE):.2g} percentage points"
