"""--mechanism auto: what advise recommends, and a campaign in words."""

from typing import TYPE_CHECKING

from privtally.cli.console import err
from privtally.cli.numbers import number, percent, points

if TYPE_CHECKING:
    from privtally.lab.advise import Expected
    from privtally.lab.offers import Design
    from privtally.schema import Schema

HALF_WIDTH = "± is half the width of a 95 % interval, on average over questions and answers."


def recommended(schema: "Schema", epsilon: float, people: int, max_pivot_guess: float) -> "Design":
    """The campaign that advise recommends; says which, and what to expect of it."""
    from privtally.lab.advise import recommend

    found = recommend(schema, epsilon, people, max_pivot_guess=max_pivot_guess)
    say(found)
    named = recommend(schema, epsilon, people, max_pivot_guess=1)
    if named.error < found.error:
        err.print(
            f"If a report may say which question it answers, --max-pivot-guess 1 has ± {number(named.points)} points."
        )
    return found.design


def say(found: "Expected") -> None:
    """Which campaign auto took, and what to expect of it."""
    err.print(f"Chosen for these questions: {in_words(found.design)}; expect {points(found.points)}.")


def in_words(design: "Design") -> str:
    """A campaign: its mechanism, and what there is to say about groups, pivots and phases."""
    share = design.phase1_share
    first = "" if share is None else f" with {percent(share)} of people in the first phase"
    return layout(design) + first


def layout(design: "Design") -> str:
    """What a report answers: the mechanism, and groups and pivots if there are several."""
    words: list[str] = [design.mechanism]
    if design.groups is not None and len(design.groups) > 1:
        words.append(f"{len(design.groups)} groups")
    if design.pivots > 1:
        words.append(f"{design.pivots} questions a report")
    return ", ".join(words)
