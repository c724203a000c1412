"""--mechanism auto: what advise recommends, and a campaign in words."""

from typing import TYPE_CHECKING

from privtally.cli.console import err
from privtally.cli.numbers import number, points

if TYPE_CHECKING:
    from privtally.lab.advise import Design, Expected
    from privtally.names import HideAmong
    from privtally.schema import Schema


def recommended(schema: "Schema", epsilon: float, people: int, *, hide_among: "HideAmong") -> "Expected":
    """The campaign that advise recommends; says which, what to expect of it, and what hiding the question costs."""
    from privtally.lab.advise import recommend

    found = recommend(schema, epsilon, people, hide_among=hide_among)
    cost = if_said(found, recommend(schema, epsilon, people, hide_among=1))
    err.print(f"Chosen for these questions: {layout(found.design)}; expect {points(found.points)}{cost}.")
    return found


def if_said(chosen: "Expected", said: "Expected") -> str:
    """What hiding the question costs: the end of a sentence, empty if nothing."""
    if number(said.points) == number(chosen.points):
        return ""
    return f"; ± {number(said.points)} if a report may say which question it answers (--hide-among 1)"


def layout(design: "Design") -> str:
    """What a report answers: the mechanism, and groups, pivots and decoys if there is something to say about them."""
    words: list[str] = [design.mechanism]
    if design.groups is not None and len(design.groups) > 1:
        words.append(f"{len(design.groups)} groups")
    if design.pivots > 1:
        words.append(f"{design.pivots} questions a report")
    if design.decoys:
        words.append("1 decoy" if design.decoys == 1 else f"{design.decoys} decoys")
    return ", ".join(words)
