"""The names that people choose from: mechanisms, methods, learning rules; and a default that they share."""

from collections.abc import Collection, Mapping
from typing import Literal, get_args

MechanismName = Literal["spl", "smp", "rs-fd", "rs-rfd", "corr-rr", "cond-rr", "pairs"]
MECHANISMS: tuple[MechanismName, ...] = get_args(MechanismName)
MechanismChoice = Literal["auto", MechanismName]
"""A mechanism, or the one that advice recommends."""

Method = Literal["likelihood", "unbiased", "paper"]
METHODS: tuple[Method, ...] = get_args(Method)

Rule = Literal["robust", "proposition", "published"]
RULES: tuple[Rule, ...] = get_args(Rule)

HideAmong = int | Literal["all"]
"""Among how many questions the one really used is hidden: 1 if a report says which it is, "all" those of its group."""
HIDE_AMONG = 2
"""Among how many unless told otherwise."""

LearningOption = Literal["rule", "people"]

LEARNED_WITH: Mapping[MechanismName, tuple[LearningOption, ...]] = {
    "rs-rfd": (),
    "corr-rr": ("rule", "people"),
    "cond-rr": (),
}
"""The mechanisms that learn from a first phase, and the options that decide what they learn."""


def plain_name(name: str) -> str:
    """The name of a mechanism as this program writes it, from one that people write: RS+FD, Corr-RR, cond_rr, SPL."""
    return name.strip().lower().replace("+", "-").replace("_", "-").replace(" ", "-")


def without_effect(mechanism: MechanismName, given: Collection[str], *, priors: bool = False) -> tuple[str, str] | None:
    """The first given option that changes nothing, and the reason; None if the mechanism, which may have `priors`
    instead of a phase to learn from, uses every one of them.
    """
    of_two_phases = ("phase1_share", "later_groups")
    used = () if priors or mechanism not in LEARNED_WITH else (*LEARNED_WITH[mechanism], *of_two_phases)
    named = f"{mechanism} and priors" if priors else mechanism
    for option in given:
        if option not in used:
            return option, f"with {named}{', which has one phase' if option in of_two_phases else ''}"
    return None


RULES_LABEL_BY_LABEL: tuple[Rule, ...] = ("published",)
"""The rules of corr-rr for questions whose answers correspond one by one."""

SetAside = Literal["wrong_plan", "invalid_report", "id_conflict"]
"""Why reports in files are not counted."""

EngineName = Literal["duckdb", "spark"]
"""What computes over tables."""
