"""The names that people choose from: mechanisms, methods, learning rules, observers; and a default that they share."""

from collections.abc import Mapping
from typing import Literal, get_args

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

RULES_LABEL_BY_LABEL: tuple[Rule, ...] = ("published",)
"""The rules of corr-rr for questions whose answers correspond one by one."""

SetAside = Literal["wrong_plan", "invalid_report", "id_conflict"]
"""Why reports in files are not counted."""

EngineName = Literal["duckdb", "polars", "spark"]
"""What computes over tables."""
