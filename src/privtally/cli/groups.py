"""--groups: questions by name, or chosen, and what there is to say about the choice."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING, Any

from privtally.cli.console import err
from privtally.errors import CampaignError
from privtally.names import MechanismName

if TYPE_CHECKING:
    from privtally.collector.learn import GroupChoice
    from privtally.mechanisms.grouping import Grouping
    from privtally.schema import Schema

PEOPLE = 10_000
"""The number of people for whom expected errors are said."""


def read_groups(
    text: str | None, schema: "Schema", epsilon: float, mechanism: MechanismName, pivots: int
) -> tuple[Sequence[Sequence[str]] | None, str]:
    """The groups that an option names, by semicolons and commas; if it says auto, the best ones, and a sentence why."""
    if text is None:
        return None, ""
    if text != "auto":
        return named_groups(text, schema), ""
    from privtally.documents.plan import check_epsilon
    from privtally.mechanisms import NAMED
    from privtally.mechanisms.grouping import best_groups

    check_epsilon(epsilon)
    if pivots != 1:
        raise CampaignError("--groups auto chooses for one question a report; name the groups, or leave --pivots out")
    chosen = best_groups(schema.sizes, Fraction(epsilon), NAMED[mechanism])
    groups = [[schema.names[own] for own in group] for group in chosen.groups]
    again = " `learn --groups auto` chooses again, from the first phase." if NAMED[mechanism].learns else ""
    return groups, _said(groups, chosen, epsilon) + again


def named_groups(text: str, schema: "Schema") -> list[list[str]]:
    """The groups that an option names, by semicolons and commas."""
    from privtally.exact.wire import normal

    return [_names(group.split(","), schema.names) for group in normal(text).split(";")]


def after_phase1(choice: "GroupChoice", names: Sequence[str]) -> dict[str, Any]:
    """What was chosen from the reports of earlier phases, and what the alternatives are expected to have."""
    alone, together = tuple((own,) for own in range(len(names))), (tuple(range(len(names))),)
    said = {
        "chosen": choice.groups,
        "chosen before Phase I": choice.before,
        "all in one group": together,
        "every question alone": alone,
    }
    rows = {what: groups for what, groups in said.items() if groups in choice.errors}
    return {
        what: {
            "groups": [[names[own] for own in group] for group in groups],
            "expected_error": sqrt(choice.errors[groups]),
        }
        for what, groups in rows.items()
    }


def print_after_phase1(found: Mapping[str, Any]) -> None:
    """The choice and its alternatives as a table."""
    from rich.table import Table
    from rich.text import Text

    from privtally.documents.estimate import NORMAL_95

    table = Table("groups", "", "expect", title="Which questions go together", title_justify="left")
    for what, row in found.items():
        members = "; ".join(", ".join(group) for group in row["groups"])
        table.add_row(
            what.replace("Phase I", "the first phase"),
            Text(members),
            f"± {100 * NORMAL_95 * row['expected_error']:.2g} points",
        )
    err.print(table)
    err.print("± is half a 95 % interval of a share in the final estimate, in percentage points.")


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
        f"{_points(chosen.variance)} (half a 95 % interval, on average over all that the answers may be). "
        f"All in one group: {_points(chosen.together)}; every question alone: {_points(chosen.alone)}."
    )


def _points(variance: float | None) -> str:
    if variance is None:
        return "not possible"
    from privtally.documents.estimate import NORMAL_95

    return f"± {100 * NORMAL_95 * sqrt(variance / PEOPLE):.2g} percentage points"
