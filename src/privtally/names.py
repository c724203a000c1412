"""The names that people choose from: mechanisms, methods, learning rules, observers; and a default that they share."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, get_args

MechanismName = Literal["spl", "smp", "rs-fd", "rs-rfd", "corr-rr", "cond-rr"]
MECHANISMS: tuple[MechanismName, ...] = get_args(MechanismName)
MechanismChoice = Literal["auto", MechanismName]
"""A mechanism, or the one that advice recommends."""

Method = Literal["pooled", "unbiased", "paper"]
METHODS: tuple[Method, ...] = get_args(Method)

Rule = Literal["robust", "proposition", "published"]
RULES: tuple[Rule, ...] = get_args(Rule)

Observer = Literal["knows-nothing", "knows-totals"]
OBSERVERS: tuple[Observer, ...] = get_args(Observer)

MAX_PIVOT_GUESS = 0.5
"""How often an observer may name a report's pivot unless told otherwise."""

PIVOT_GUESS_BOUND = "--max-pivot-guess (in Python max_pivot_guess)"
"""What refusals call the bound, which people give on the command line or in Python."""

LearningOption = Literal["rule", "max_pivot_guess", "observer", "people"]

LEARNED_WITH: Mapping[MechanismName, tuple[LearningOption, ...]] = {
    "rs-rfd": ("max_pivot_guess", "observer"),
    "corr-rr": ("rule", "max_pivot_guess", "observer", "people"),
    "cond-rr": ("max_pivot_guess", "observer"),
}
"""The mechanisms that learn from a first phase, and the options that decide what they learn."""

RULES_WITH_BOUND: tuple[Rule, ...] = ("robust",)
"""The rules of corr-rr that `max_pivot_guess` binds; the paper's own have no bound."""


def learned_with(mechanism: MechanismName, rule: Rule) -> tuple[LearningOption, ...]:
    """The options that decide what a mechanism learns by a rule."""
    options = LEARNED_WITH.get(mechanism, ())
    if "rule" not in options or rule in RULES_WITH_BOUND:
        return options
    return tuple(option for option in options if option not in ("max_pivot_guess", "observer"))


def with_effect(mechanism: MechanismName, rule: Rule, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the wanted options that decide what a mechanism learns by a rule."""
    return {option: wanted[option] for option in learned_with(mechanism, rule) if option in wanted}


def without_effect(
    mechanism: MechanismName, rule: Rule, given: Collection[str], used: Sequence[LearningOption] = ()
) -> tuple[str, str] | None:
    """The first given option that changes nothing, and the reason; None if the mechanism, the rule or what else is
    `used` needs every one of them.
    """
    learns = mechanism in LEARNED_WITH
    needed = (*learned_with(mechanism, rule), *used, *(("phase1_share", "later_groups") if learns else ()))
    for option in given:
        if option not in needed:
            if option in LEARNED_WITH.get(mechanism, ()):
                return option, f"with the rule {rule}"
            one_phase = option in ("phase1_share", "later_groups")
            return option, f"with {mechanism}{', which has one phase' if one_phase else ''}"
    return None


RULES_LABEL_BY_LABEL: tuple[Rule, ...] = ("published",)
"""The rules of corr-rr for questions whose answers correspond one by one."""

SetAside = Literal["wrong_plan", "invalid_report", "id_conflict"]
"""Why reports in files are not counted."""

EngineName = Literal["duckdb", "polars", "spark"]
"""What computes over tables."""
