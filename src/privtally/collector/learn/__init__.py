"""learn: a campaign's history -> the plan of its next phase. All of it is post-processing of private data."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Literal

import msgspec

from privtally.collector.estimate import History, Phase, in_order, refusing_numerical_failure
from privtally.collector.estimate.current import current_frequencies
from privtally.collector.estimate.several import check_readable
from privtally.collector.learn.copies import learn_copies
from privtally.collector.learn.grouping import GroupChoice, choose_groups
from privtally.collector.learn.joint_tables import learn_joint_tables
from privtally.collector.learn.rows import learn_rows
from privtally.collector.learn.secrecy import UnattainableGuessError
from privtally.collector.learn.tables import learn_tables
from privtally.collector.learn.wanted import Found, Wanted, check_effect
from privtally.collector.simplex import project_to_simplex
from privtally.documents.groups import group_places
from privtally.documents.learned import Learned, LearnedFrom, check_people, check_pivots
from privtally.documents.observer import KnowsTotals
from privtally.documents.plan import Plan
from privtally.errors import LearningError, PlanError
from privtally.exact.probability import nearest_distribution
from privtally.mechanisms import NAMED
from privtally.mechanisms.fills import CopyFill, Fill, Places, Row, RowFill, TableFill
from privtally.mechanisms.named import Groups, PartPlan, asking
from privtally.names import OBSERVERS, PIVOT_GUESS_BOUND, RULES, MechanismName, Observer, Rule

__all__ = [
    "GroupChoice",
    "LaterGroups",
    "check_effect",
    "check_later_pivots",
    "check_learns",
    "compare_groups",
    "learn",
]

LaterGroups = Sequence[Sequence[str]] | Literal["auto"] | None
"""Groups of the next phase by the names of their attributes, chosen, or those of the last plan."""

USUAL_PHASE1_SHARE = 0.1
"""The share of people in Phase I that is assumed where the number of the next phase's people is not given."""


@refusing_numerical_failure(LearningError)
def learn(
    history: History,
    *,
    rule: Rule | None = None,
    people: int | None = None,
    max_pivot_guess: float | None = None,
    observer: Observer | None = None,
    groups: LaterGroups = None,
    pivots: int = 1,
) -> Plan:
    """The plan of a campaign's next phase, from the plans and counts of all earlier ones.

    The rules weigh bias against noise, so they depend on how many people the next phase will have; where `people` is
    not given, Phase I is taken to be a tenth of all. `max_pivot_guess` says how often, in every part, an observer may
    name the attributes that were asked; if not given, half of the time, or the least that can be had where that is
    more. The observer knows the plan and nothing of the answers, or also the totals that earlier phases taught. The
    paper's rules for corr-rr have no bound. The rule is robust and the observer knows nothing if not given; an option
    that the mechanism or the rule does not use is refused. The `groups` are the last plan's if none are given; "auto"
    chooses them from the reports of earlier phases. With rs-rfd and cond-rr a report may answer several `pivots` of a
    group, which share the group's budget; tables have fewer of them where the reports so far cannot
    support as many.
    """
    history, wanted = _prepared(history, rule, people, max_pivot_guess, observer, pivots)
    last = history[-1][0]
    if groups == "auto":
        if pivots > 1:
            raise LearningError(
                "groups are chosen (auto) for one question a report; name the groups, or ask for one pivot"
            )
        places = choose_groups(history, wanted, _part_learner(history, wanted)).groups
    elif groups is not None:
        places = group_places(last.schema, groups)
    else:
        places = last.groups or (tuple(range(len(last.schema.attributes))),)
    if pivots > (most := max(map(len, places))):
        raise PlanError(
            f"{pivots} questions a report (pivots) need a group of at least {pivots} questions, the largest has {most}"
        )
    budget = Fraction(last.epsilon) / len(places)
    found = _learned(history, wanted, places, budget)
    guesses = [own.pivot_guess for own in found.values() if own.pivot_guess is not msgspec.UNSET]
    learned = Learned(
        history=tuple(LearnedFrom(plan.digest, counts.digest, counts.reports) for plan, counts in history),
        rule=next((own.rule for own in found.values()), None),
        people=next((own.people for own in found.values()), None),
        pivot_guess=max(guesses) if guesses else msgspec.UNSET,
        observer=KnowsTotals(wanted.totals) if guesses and wanted.totals is not None else msgspec.UNSET,
        pivots=pivots if pivots > 1 else msgspec.UNSET,
    )
    parts = tuple(_part(group, last.schema.sizes, budget, found.get(group), pivots) for group in places)
    return last.next(parts, learned, places)


def check_learns(mechanism: MechanismName) -> None:
    """Refuse a mechanism that has no later phases."""
    if not NAMED[mechanism].learns:
        learning = ", ".join(name for name, named in NAMED.items() if named.learns)
        raise LearningError(f"a campaign of {mechanism} has nothing to learn; those of {learning} do")


def check_later_pivots(mechanism: MechanismName, pivots: int) -> None:
    """Refuse a number of pivots that the later phases of a mechanism cannot have."""
    check_pivots(pivots)
    kind = NAMED[mechanism].learned
    if kind is not None and kind.one_pivot and pivots > 1:
        raise PlanError(f"{mechanism} answers one question a report (pivots = 1); use rs-rfd or cond-rr for several")


@refusing_numerical_failure(LearningError)
def compare_groups(
    history: History,
    *,
    rule: Rule | None = None,
    people: int | None = None,
    max_pivot_guess: float | None = None,
    observer: Observer | None = None,
) -> GroupChoice:
    """What `learn` with groups "auto" chooses, and the expected errors of the alternatives."""
    history, wanted = _prepared(history, rule, people, max_pivot_guess, observer)
    return choose_groups(history, wanted, _part_learner(history, wanted))


def _prepared(
    history: History,
    rule: Rule | None,
    people: int | None,
    max_pivot_guess: float | None,
    observer: Observer | None,
    pivots: int = 1,
) -> tuple[list[Phase], Wanted]:
    """The phases in order and what is wanted; refused where nothing can be learned."""
    if not history or not all(counts.reports for _, counts in history):
        raise LearningError("there are no reports to learn from; collect some to the first plan")
    history = in_order(history)
    mechanism = history[-1][0].mechanism
    check_learns(mechanism)
    check_later_pivots(mechanism, pivots)
    check_effect(mechanism, rule, {"rule": rule, "max_pivot_guess": max_pivot_guess, "observer": observer})
    rule, observer = rule or RULES[0], observer or OBSERVERS[0]
    if rule not in RULES:
        raise LearningError(f"the rule must be one of {', '.join(RULES)}")
    if max_pivot_guess is not None and not 0 < max_pivot_guess <= 1:
        raise LearningError(f"{PIVOT_GUESS_BOUND} must be above 0 and at most 1, got {max_pivot_guess}")
    if observer not in OBSERVERS:
        raise LearningError(f"the observer must be one of {', '.join(OBSERVERS)}")
    if people is None:
        people = round(history[0][1].reports * (1 / USUAL_PHASE1_SHARE - 1))
    check_people(people)
    totals = _totals(history) if observer == "knows-totals" else None
    return history, Wanted(rule, people, max_pivot_guess, totals, pivots)


def _totals(history: History) -> tuple[Row, ...]:
    """What earlier phases say of the totals, as a plan can state it."""
    return tuple(nearest_distribution(project_to_simplex(own)) for own in current_frequencies(history))


def _learned(history: History, wanted: Wanted, groups: Groups, budget: Fraction) -> dict[Places, Found]:
    """What is found for each group with attributes that are not asked."""
    kind = NAMED[history[-1][0].mechanism].learned
    assert kind is not None
    sizes = history[-1][0].schema.sizes
    found: dict[Places, Found] = {}
    refused = []
    for group in (group for group in groups if len(group) > wanted.pivots):
        own_sizes = [sizes[own] for own in group]
        kind.check_sizes(own_sizes, wanted.pivots)
        if wanted.pivots > 1 and kind.conditional:
            check_readable(own_sizes, wanted.pivots)
        try:
            found[group] = _LEARNERS[kind](history, group, budget, wanted)
        except UnattainableGuessError as refusal:
            refused.append(refusal)
    if refused:
        raise max(refused, key=lambda refusal: refusal.least)
    return found


def _part_learner(history: History, wanted: Wanted) -> Callable[[Places, Fraction], PartPlan]:
    sizes = history[-1][0].schema.sizes

    def learn_part(group: Places, budget: Fraction) -> PartPlan:
        return _part(group, sizes, budget, _learned(history, wanted, (group,), budget).get(group))

    return learn_part


def _part(group: Places, sizes: Sequence[int], budget: Fraction, found: Found | None, pivots: int = 1) -> PartPlan:
    """A group as a part with what was found for it; nothing is where all its attributes are asked."""
    if found is None:
        return asking(group, sizes, budget, pivots=min(pivots, len(group)))
    return asking(group, sizes, budget, found.fill, pivots=found.pivots, channels=found.channels)


def _learn_tables(history: History, group: Places, budget: Fraction, wanted: Wanted) -> Found:
    return (learn_tables if wanted.pivots == 1 else learn_joint_tables)(history, group, budget, wanted)


_LEARNERS: Mapping[type[Fill], Callable[[History, Places, Fraction, Wanted], Found]] = {
    RowFill: learn_rows,
    CopyFill: learn_copies,
    TableFill: _learn_tables,
}
