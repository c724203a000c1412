"""learn: a campaign's history -> the plan of its next phase. All of it is post-processing of private data."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import msgspec

from privtally.collector.estimate import History, in_order, unbiased
from privtally.collector.learn.copies import learn_copies
from privtally.collector.learn.rows import learn_rows
from privtally.collector.learn.secrecy import UnattainableGuessError
from privtally.collector.learn.tables import learn_tables
from privtally.collector.learn.wanted import Found, Wanted
from privtally.collector.simplex import project_to_simplex
from privtally.documents.observer import KnowsTotals
from privtally.documents.plan import Learned, LearnedFrom, Plan, check_people
from privtally.errors import LearningError
from privtally.exact.probability import nearest_distribution
from privtally.mechanisms import NAMED
from privtally.mechanisms.fills import CopyFill, Fill, Places, Row, RowFill, TableFill
from privtally.mechanisms.named import PartPlan, asking
from privtally.names import OBSERVERS, RULES, Observer, Rule

USUAL_PHASE1_SHARE = 0.1
"""The share of people in Phase I that is assumed where the number of the next phase's people is not given."""


def learn(
    history: History,
    *,
    rule: Rule = "robust",
    people: int | None = None,
    max_pivot_guess: float | None = None,
    observer: Observer = "knows-nothing",
) -> Plan:
    """The plan of a campaign's next phase, from the plans and counts of all earlier ones.

    The rules weigh bias against noise, so they depend on how many people the next phase will have; where `people` is
    not given, Phase I is taken to be a tenth of all. `max_pivot_guess` says how often, in every part, an observer may
    name the attributes that were asked; if not given, half of the time, or the least that can be had where that is
    more. The observer knows the plan and nothing of the answers, or also the totals that earlier phases taught. The
    paper's rules for corr-rr have no bound.
    """
    if not history or not all(counts.reports for _, counts in history):
        raise LearningError("there are no reports to learn from")
    history = in_order(history)
    last = history[-1][0]
    kind = NAMED[last.mechanism].learned
    if kind is None:
        learning = ", ".join(name for name, named in NAMED.items() if named.learns)
        raise LearningError(f"a campaign of {last.mechanism} has nothing to learn; those of {learning} do")
    if rule not in RULES:
        raise LearningError(f"the rule must be one of {', '.join(RULES)}")
    if max_pivot_guess is not None and not 0 < max_pivot_guess <= 1:
        raise LearningError(f"max_pivot_guess must be above 0 and at most 1, got {max_pivot_guess}")
    if observer not in OBSERVERS:
        raise LearningError(f"the observer must be one of {', '.join(OBSERVERS)}")
    if people is None:
        people = round(history[0][1].reports * (1 / USUAL_PHASE1_SHARE - 1))
    check_people(people)
    attributes = tuple(range(len(last.schema.attributes)))
    groups = last.groups or (attributes,)
    budget = Fraction(last.epsilon) / len(groups)
    totals = _totals(history) if observer == "knows-totals" else None
    wanted = Wanted(rule, people, max_pivot_guess, totals)
    found: dict[Places, Found] = {}
    refused = []
    for group in (group for group in groups if len(group) > 1):
        try:
            found[group] = _LEARNERS[kind](history, group, budget, wanted)
        except UnattainableGuessError as refusal:
            refused.append(refusal)
    if refused:
        raise max(refused, key=lambda refusal: refusal.least)
    guesses = [own.pivot_guess for own in found.values() if own.pivot_guess is not msgspec.UNSET]
    learned = Learned(
        history=tuple(LearnedFrom(plan.digest, counts.digest, counts.reports) for plan, counts in history),
        rule=next(own.rule for own in found.values()),
        people=next(own.people for own in found.values()),
        pivot_guess=max(guesses) if guesses else msgspec.UNSET,
        observer=KnowsTotals(totals) if guesses and totals is not None else msgspec.UNSET,
    )
    return last.next(tuple(_part(group, last.schema.sizes, budget, found.get(group)) for group in groups), learned)


def _totals(history: History) -> tuple[Row, ...]:
    """What earlier phases say of the totals, as a plan can state it."""
    frequencies = unbiased(history, []).frequencies
    return tuple(nearest_distribution(project_to_simplex(own)) for own in frequencies)


def _part(group: Places, sizes: Sequence[int], budget: Fraction, found: Found | None) -> PartPlan:
    """A group as a part with what was found for it; nothing is for an attribute alone."""
    if found is None:
        return asking(group, sizes, budget)
    return asking(group, sizes, budget, found.fill, channels=found.channels)


_LEARNERS: Mapping[type[Fill], Callable[[History, Places, Fraction, Wanted], Found]] = {
    RowFill: learn_rows,
    CopyFill: learn_copies,
    TableFill: learn_tables,
}
