"""learn: a campaign's history -> the plan of its next phase. All of it is post-processing of private data."""

from collections.abc import Callable, Mapping
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
from privtally.mechanisms.named import AnyChannel, RandomizedResponse, one_pivot
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
    """A fill, and what of the wish it depends on: rule and people, and the bound on guessing the pivot.

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
    found = _LEARNERS[kind](history, Wanted(rule, people, max_pivot_guess))
    learned = Learned(
        history=tuple(LearnedFrom(plan.digest, counts.digest, counts.reports) for plan, counts in history),
        rule=found.rule,
        people=found.people,
        pivot_guess=found.pivot_guess,
    )
    return last.next(one_pivot(last.schema.sizes, Fraction(last.epsilon), found.fill, found.channels), learned)


def _rows(history: History, _: Wanted) -> Found:
    """RS+RFD: each attribute's frequencies, clipped at 0."""
    frequencies = unbiased(history, []).frequencies
    return Found(RowFill(tuple(nearest_distribution(np.clip(own, 0, None)) for own in frequencies)))


def _copies(history: History, wanted: Wanted) -> Found:
    """Corr-RR: copy probabilities by the rule."""
    plan = history[-1][0]
    if wanted.rule == "robust":
        likelihoods = [PhaseLikelihood(plan, counts) for plan, counts in history]
        choice = choose(plan, likelihoods, wanted.people, wanted.max_pivot_guess)
        fill = CopyFill(tuple(map(tuple, choice.copy_probability.tolist())))
        return Found(fill, wanted.rule, wanted.people, choice.pivot_guess)
    frequencies = unbiased(history, []).frequencies
    fill = CopyFill(copy_probabilities(frequencies, plan.epsilon, wanted.people, wanted.rule))
    # The paper's rules are for randomized response, whatever the number of labels.
    return Found(fill, wanted.rule, wanted.people, channels=(RandomizedResponse(),) * len(frequencies))


def _tables(history: History, _: Wanted) -> Found:
    """Cond-RR: a conditional table for every ordered pair."""
    frequencies = unbiased(history, []).frequencies
    marginals = list(map(project_to_simplex, frequencies))
    rows: dict[tuple[Places, int], tuple[Row, ...]] = {}
    for one, two in combinations(range(len(marginals)), 2):
        table = joint_table(history, one, two)
        if table is None:
            raise LearningError("these counts keep no pairwise tables: the schema has too many labels for cond-rr")
        joint = fitted(table.frequencies, marginals[one], marginals[two])
        rows[(one,), two] = tuple(map(nearest_distribution, conditional_rows(joint)))
        rows[(two,), one] = tuple(map(nearest_distribution, conditional_rows(joint.T)))
    places = table_places(len(marginals), 1)
    return Found(TableFill(tuple(Table(pivots, other, rows[pivots, other]) for pivots, other in places)))


_LEARNERS: Mapping[type[Fill], Callable[[History, Wanted], Found]] = {
    RowFill: _rows,
    CopyFill: _copies,
    TableFill: _tables,
}
