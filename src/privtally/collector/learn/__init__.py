"""learn: a campaign's history -> the plan of its next phase. All of it is post-processing of private data."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import msgspec
import numpy as np

from privtally.collector.estimate import History, in_order, unbiased
from privtally.collector.estimate.stacked import PhaseLikelihood
from privtally.collector.joint import conditional_rows, fitted, joint_table
from privtally.collector.learn.robust import choose
from privtally.collector.learn.rules import copy_probabilities
from privtally.collector.simplex import project_to_simplex
from privtally.documents.plan import Learned, LearnedFrom, Plan, check_people
from privtally.errors import LearningError
from privtally.exact.probability import nearest_distribution
from privtally.mechanisms import NAMED
from privtally.mechanisms.fills import AnyFill, CopyFill, Fill, Places, Row, RowFill, Table, TableFill, table_places
from privtally.mechanisms.named import AnyChannel, PartPlan, RandomizedResponse, asking
from privtally.names import MAX_PIVOT_GUESS, RULES, Rule

USUAL_PHASE1_SHARE = 0.1
"""The share of people in Phase I that is assumed where the number of the next phase's people is not given."""


@dataclass(frozen=True)
class Wanted:
    """How a fill is to be chosen: by which rule, for how many people, and how well the pivot may be guessed."""

    rule: Rule
    people: int
    max_pivot_guess: float


@dataclass(frozen=True)
class Found:
    """A group's fill, and what of the wish it depends on: rule and people, and the bound on guessing the pivot.

    The channels are the best ones if none are given.
    """

    fill: AnyFill
    rule: Rule | None = None
    people: int | None = None
    pivot_guess: float | msgspec.UnsetType = msgspec.UNSET
    channels: tuple[AnyChannel, ...] | None = None


def learn(
    history: History,
    *,
    rule: Rule = "robust",
    people: int | None = None,
    max_pivot_guess: float = MAX_PIVOT_GUESS,
) -> Plan:
    """The plan of a campaign's next phase, from the plans and counts of all earlier ones.

    The rules weigh bias against noise, so they depend on how many people the next phase will have; where `people` is
    not given, Phase I is taken to be a tenth of all. `max_pivot_guess` binds the rule `robust` alone: how often an
    observer who knows nothing of the answers may name a report's pivot.
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
    if not 0 < max_pivot_guess <= 1:
        raise LearningError(f"max_pivot_guess must be above 0 and at most 1, got {max_pivot_guess}")
    if people is None:
        people = round(history[0][1].reports * (1 / USUAL_PHASE1_SHARE - 1))
    check_people(people)
    attributes = tuple(range(len(last.schema.attributes)))
    groups = last.groups or (attributes,)
    budget = Fraction(last.epsilon) / len(groups)
    wanted = Wanted(rule, people, max_pivot_guess)
    found = {group: _LEARNERS[kind](history, group, budget, wanted) for group in groups if len(group) > 1}
    guesses = [own.pivot_guess for own in found.values() if own.pivot_guess is not msgspec.UNSET]
    learned = Learned(
        history=tuple(LearnedFrom(plan.digest, counts.digest, counts.reports) for plan, counts in history),
        rule=next(own.rule for own in found.values()),
        people=next(own.people for own in found.values()),
        pivot_guess=max(guesses) if guesses else msgspec.UNSET,
    )
    return last.next(tuple(_part(group, last.schema.sizes, budget, found.get(group)) for group in groups), learned)


def _part(group: Places, sizes: Sequence[int], budget: Fraction, found: Found | None) -> PartPlan:
    """A group as a part with what was found for it; nothing is for an attribute alone."""
    if found is None:
        return asking(group, sizes, budget)
    return asking(group, sizes, budget, found.fill, channels=found.channels)


def _rows(history: History, group: Places, _budget: Fraction, _wanted: Wanted) -> Found:
    """RS+RFD: each attribute's frequencies, clipped at 0."""
    frequencies = unbiased(history, []).frequencies
    return Found(RowFill(tuple(nearest_distribution(np.clip(frequencies[own], 0, None)) for own in group)))


def _copies(history: History, group: Places, budget: Fraction, wanted: Wanted) -> Found:
    """Corr-RR: copy probabilities by the rule."""
    if wanted.rule == "robust":
        labels = [history[-1][0].schema.attributes[own].labels for own in group]
        likelihoods = [PhaseLikelihood(plan, counts, group) for plan, counts in history]
        choice = choose(labels, budget, likelihoods, wanted.people, wanted.max_pivot_guess)
        fill = CopyFill(tuple(map(tuple, choice.copy_probability.tolist())))
        return Found(fill, wanted.rule, wanted.people, choice.pivot_guess)
    frequencies = unbiased(history, []).frequencies
    own_frequencies = [frequencies[own] for own in group]
    fill = CopyFill(copy_probabilities(own_frequencies, float(budget), wanted.people, wanted.rule))
    # The paper's rules are for randomized response, whatever the number of labels.
    return Found(fill, wanted.rule, wanted.people, channels=(RandomizedResponse(),) * len(group))


def _tables(history: History, group: Places, _budget: Fraction, _wanted: Wanted) -> Found:
    """Cond-RR: a conditional table for every ordered pair."""
    frequencies = unbiased(history, []).frequencies
    marginals = [project_to_simplex(frequencies[own]) for own in group]
    rows: dict[tuple[Places, int], tuple[Row, ...]] = {}
    for one, two in combinations(range(len(marginals)), 2):
        table = joint_table(history, group[one], group[two])
        if table is None:
            raise LearningError("these counts keep no pairwise tables: the schema has too many labels for cond-rr")
        joint = fitted(table.frequencies, marginals[one], marginals[two])
        rows[(one,), two] = tuple(map(nearest_distribution, conditional_rows(joint)))
        rows[(two,), one] = tuple(map(nearest_distribution, conditional_rows(joint.T)))
    places = table_places(len(marginals), 1)
    return Found(TableFill(tuple(Table(pivots, other, rows[pivots, other]) for pivots, other in places)))


_LEARNERS: Mapping[type[Fill], Callable[[History, Places, Fraction, Wanted], Found]] = {
    RowFill: _rows,
    CopyFill: _copies,
    TableFill: _tables,
}
