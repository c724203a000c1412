"""learn: a campaign's history -> the plan of its next phase. All of it is post-processing of private data.

What is learned says nothing about how well a report hides its pivot: the audit computes that for any plan.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal

import msgspec
import numpy as np

from privtally.collector.estimate import History, in_order, refusing_numerical_failure, unbiased
from privtally.collector.estimate.several import check_readable
from privtally.collector.learn.copies import learn_copies
from privtally.collector.learn.tables import learn_tables
from privtally.documents.groups import group_places
from privtally.documents.learned import Learned, LearnedFrom, check_people, check_pivots
from privtally.documents.plan import Plan
from privtally.errors import CampaignError, LearningError, PlanError
from privtally.exact.probability import nearest_distribution
from privtally.mechanisms import NAMED
from privtally.mechanisms.fills import CopyFill, Places, RowFill
from privtally.mechanisms.grouping import best_groups
from privtally.mechanisms.named import Groups, PartPlan, asking
from privtally.names import LEARNED_WITH, RULES, MechanismName, Rule, without_effect

__all__ = ["LaterGroups", "check_effect", "check_later_pivots", "check_learns", "learn"]

LaterGroups = Sequence[Sequence[str]] | Literal["auto"] | None
"""Groups of the next phase by the names of their attributes, the best ones, or those of the last plan."""

USUAL_PHASE1_SHARE = 0.1
"""The share of people in Phase I that is assumed where the number of the next phase's people is not given."""


@refusing_numerical_failure(LearningError)
def learn(
    history: History,
    *,
    rule: Rule | None = None,
    people: int | None = None,
    groups: LaterGroups = None,
    pivots: int = 1,
) -> Plan:
    """The plan of a campaign's next phase, from the plans and counts of the last round.

    The rules of corr-rr weigh bias against noise, so they depend on how many people the next phase will have; where
    `people` is not given, Phase I is taken to be a tenth of all. An option that the mechanism does not use is refused.
    The `groups` are the last plan's if none are given; "auto" takes the best ones for these questions and this budget.
    With rs-rfd and cond-rr a report may answer several `pivots` of a group, which share the group's budget; tables have
    fewer of them where the reports so far cannot support as many.
    """
    if not history or not all(counts.reports for _, counts in history):
        raise LearningError("there are no reports to learn from; collect some to the first plan")
    history = in_order(history)
    last = history[-1][0]
    history = [(plan, counts) for plan, counts in history if plan.round == last.round]
    check_learns(last.mechanism)
    check_later_pivots(last.mechanism, pivots)
    check_effect(last.mechanism, {"rule": rule})
    rule = rule or RULES[0]
    if rule not in RULES:
        raise LearningError(f"the rule must be one of {', '.join(RULES)}")
    if people is None:
        people = round(history[0][1].reports * (1 / USUAL_PHASE1_SHARE - 1))
    check_people(people)
    places = _groups(last, groups, pivots)
    budget = Fraction(last.epsilon) / len(places)
    parts = tuple(_part(history, group, budget, rule, people, pivots) for group in places)
    used = LEARNED_WITH[last.mechanism]
    learned = Learned(
        history=tuple(LearnedFrom(plan.digest, counts.digest, counts.reports) for plan, counts in history),
        rule=rule if "rule" in used else None,
        people=people if "people" in used else None,
        pivots=pivots if pivots > 1 else msgspec.UNSET,
    )
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


def check_effect(mechanism: MechanismName, options: Mapping[str, object]) -> None:
    """Refuse an option that is given, as anything but None, although the mechanism does not use it."""
    given = [name for name, value in options.items() if value is not None]
    if found := without_effect(mechanism, given):
        raise CampaignError(f"{found[0]} has no effect {found[1]}; leave it out")


def _groups(last: Plan, groups: LaterGroups, pivots: int) -> Groups:
    """The groups of the next phase by the places of their attributes."""
    if groups == "auto":
        if pivots > 1:
            raise LearningError(
                "groups are chosen (auto) for one question a report; name the groups, or ask for one pivot"
            )
        named = NAMED[last.mechanism]
        among = named.hidden_among(last.decoys)
        return best_groups(last.schema.sizes, Fraction(last.epsilon), among, named.learned).groups
    if groups is not None:
        places = group_places(last.schema, groups)
    else:
        places = last.groups or (tuple(range(len(last.schema.attributes))),)
    if pivots > (most := max(map(len, places))):
        raise PlanError(
            f"{pivots} questions a report (pivots) need a group of at least {pivots} questions, the largest has {most}"
        )
    return places


def _part(history: History, group: Places, budget: Fraction, rule: Rule, people: int, pivots: int) -> PartPlan:
    """A group as a part with a fill that is learned; it has none where all its attributes are asked."""
    sizes, kind = history[-1][0].schema.sizes, NAMED[history[-1][0].mechanism].learned
    assert kind is not None
    if len(group) <= pivots:
        return asking(group, sizes, budget, pivots=len(group))
    own_sizes = [sizes[own] for own in group]
    kind.check_sizes(own_sizes, pivots)
    if pivots > 1 and kind.conditional:
        check_readable(own_sizes, pivots)
    if kind is CopyFill:
        return learn_copies(history, group, budget, rule, people)
    return (_learn_rows if kind is RowFill else learn_tables)(history, group, budget, pivots)


def _learn_rows(history: History, group: Places, budget: Fraction, pivots: int) -> PartPlan:
    """RS+RFD: what fills an attribute is drawn from its own frequencies, clipped at 0 and divided by their sum."""
    plan = history[-1][0]
    frequencies = unbiased(history, []).frequencies
    rows = tuple(nearest_distribution(np.clip(frequencies[own], 0, None)) for own in group)
    return asking(group, plan.schema.sizes, budget, RowFill(rows), pivots=pivots, decoys=plan.decoys)
