"""learn: a campaign's history -> the plan of its next phase. All of it is post-processing of private data.

What is learned says nothing about how well a report hides its pivot: the audit computes that for any plan.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import reduce
from itertools import combinations

import msgspec
import numpy as np

from privtally.collector.copies import learn_copies
from privtally.collector.estimate import refusing_numerical_failure, unbiased
from privtally.collector.inverse import check_readable, project_to_simplex
from privtally.collector.pairs import dependence, fitted, interior_table, proportional, shrunk
from privtally.collector.rounds import in_order
from privtally.collector.together import JointTable
from privtally.documents.campaign import GroupNames, History, Learning
from privtally.documents.plan import Learned, LearnedFrom, Plan, group_places
from privtally.errors import LearningError, PlanError
from privtally.exact.rational import nearest_distribution
from privtally.exact.types import Floats
from privtally.mechanisms.fills import CopyFill, Places, RowFill, Table, TableFill, table_places
from privtally.mechanisms.grouping import best_groups
from privtally.mechanisms.named import NAMED, Groups, PartPlan, asking
from privtally.names import LEARNED_WITH, RULES, Rule

CLOSE_ENOUGH = 1e-9
"""Joint tables are fitted until no pairwise table is off by as much: pairwise tables agree no better themselves."""

Pairs = Mapping[tuple[int, int], Floats]
"""Joint tables of two attributes by their places in the group, in either order."""


def learn_tables(history: History, group: Places, budget: Fraction, pivots: int) -> PartPlan:
    """A conditional table for every choice of pivots and every other attribute, with no more pivots than Phase I
    supports.
    """
    plan = history[-1][0]
    frequencies = unbiased(history, []).frequencies
    marginals = [project_to_simplex(frequencies[own]) for own in group]
    pairs = {
        (one, two): _smoothed_pair(history, (group[one], group[two]), (marginals[one], marginals[two]))
        for one, two in combinations(range(len(group)), 2)
    }
    pairs |= {(two, one): table.T for (one, two), table in pairs.items()}
    conditions, pivots = _conditions(history, group, marginals, pivots)
    tables = (
        Table(chosen, other, tuple(map(nearest_distribution, _rows(chosen, other, used, pairs, marginals))))
        for (chosen, other), used in conditions.items()
    )
    return asking(group, plan.schema.sizes, budget, TableFill(tuple(tables)), pivots=pivots, decoys=plan.decoys)


def _conditions(
    history: History, group: Places, marginals: Sequence[Floats], pivots: int
) -> tuple[dict[tuple[Places, int], Places], int]:
    """For each choice of pivots and each other attribute the pivots that its law depends on, and how many pivots there
    are: as many as Phase I supports.
    """
    places = table_places(len(group), pivots)
    if pivots == 1:
        return {(chosen, other): chosen for chosen, other in places}, 1
    gains = np.zeros((len(group), len(group)))
    for one, two in combinations(range(len(group)), 2):
        gain = gain_of(history, (group[one], group[two]), (marginals[one], marginals[two]))
        gains[one, two] = gains[two, one] = gain
    if sum(min(gains[own, other] for own in chosen) for chosen, other in places) <= 0:
        return _conditions(history, group, marginals, pivots - 1)
    return {(chosen, other): tuple(own for own in chosen if gains[own, other] > 0) for chosen, other in places}, pivots


def _smoothed_pair(history: History, places: tuple[int, int], marginals: tuple[Floats, Floats]) -> Floats:
    """The joint table of two attributes with these marginals, as far as its noise lets it be known."""
    return fitted(shrunk(_inside(history, places), *marginals), *marginals)


def _inside(history: History, places: tuple[int, int]) -> JointTable:
    """What two attributes have inside the margins of their table; refused if no report carries both."""
    inside = interior_table(history, *places)
    if inside is None:
        raise LearningError(
            "these counts keep no pairwise tables: give the first phase's plan and counts as well; if they are there, "
            "the schema has too many answers for cond-rr and for groups by correlation"
        )
    return inside


def gain_of(history: History, places: tuple[int, int], marginals: tuple[Floats, Floats]) -> float:
    """How much smaller the expected error of a table is if one attribute is taken into the table of the other."""
    inside = interior_table(history, *places)
    if inside is None:
        return 0.0
    return float(np.sum(dependence(inside, *marginals) ** 2) - 2 * inside.variances.sum())


def _rows(chosen: Places, other: int, used: Places, pairs: Pairs, marginals: Sequence[Floats]) -> Floats:
    """The law of an attribute for each combination of the chosen pivots' codes, given those that are used; its marginal
    where they never occur.
    """
    joint = fit_pairs((*used, other), pairs, marginals)
    total = joint.sum(axis=-1, keepdims=True)
    law = np.divide(joint, total, out=np.broadcast_to(marginals[other], joint.shape).copy(), where=total > 0)
    shape = [len(marginals[own]) for own in chosen]
    for axis, own in enumerate(chosen):
        if own not in used:
            law = np.expand_dims(law, axis)
    whole: Floats = np.broadcast_to(law, (*shape, len(marginals[other]))).reshape(-1, len(marginals[other]))
    return whole


def fit_pairs(members: Places, pairs: Pairs, marginals: Sequence[Floats]) -> Floats:
    """The joint table of some attributes that has their pairwise tables and no other structure."""
    joint = reduce(np.multiply.outer, [marginals[own] for own in members])
    axes = combinations(range(len(members)), 2)
    return proportional(joint, {(one, two): pairs[members[one], members[two]] for one, two in axes}, CLOSE_ENOUGH)


def learn(
    history: History,
    *,
    rule: Rule | None = None,
    people: int | None = None,
    groups: GroupNames | str | None = None,
    pivots: int = 1,
) -> Plan:
    """The plan of a campaign's next phase, from the plans and counts of the last round.

    The rules of corr-rr weigh bias against noise, so they depend on how many people the next phase will have; where
    `people` is not given, Phase I is taken to be a tenth of all. An option that the mechanism does not use is refused.
    The `groups` are the last plan's if none are given; "auto" takes the best ones for these questions and this budget,
    "correlation:T" puts those together whose association in the reports so far is above T.
    With rs-rfd and cond-rr a report may answer several `pivots` of a group, which share the group's budget; tables have
    fewer of them where the reports so far cannot support as many.
    """
    named = groups if groups is None or isinstance(groups, str) else tuple(map(tuple, groups))
    return learn_with(Learning(rule=rule, people=people, groups=named, pivots=pivots), history)


@refusing_numerical_failure(LearningError)
def learn_with(learning: Learning, history: History) -> Plan:
    """The plan of a campaign's next phase, as `learn` gives it."""
    if not history or not all(counts.reports for _, counts in history):
        raise LearningError("there are no reports to learn from; collect some to the first plan")
    history = in_order(history)
    last = history[-1][0]
    history = [(plan, counts) for plan, counts in history if plan.round == last.round]
    check_learns(last)
    learning.check(last.name)
    rule, people, pivots = learning.rule or RULES[0], learning.people, learning.pivots
    if people is None:
        people = round(history[0][1].reports * (1 / learning.share - 1))
    least = learning.least_association
    places = _groups(last, learning) if least is None else associated(history, least)
    budget = Fraction(last.epsilon) / len(places)
    parts = tuple(_part(history, group, budget, rule, people, pivots) for group in places)
    used = LEARNED_WITH[last.name]
    learned = Learned(
        history=tuple(LearnedFrom(plan.digest, counts.digest, counts.reports) for plan, counts in history),
        rule=rule if "rule" in used else None,
        people=people if "people" in used else None,
        pivots=pivots if pivots > 1 else msgspec.UNSET,
    )
    return last.next(parts, learned, places)


def check_learns(plan: Plan) -> None:
    """Refuse a plan whose campaign has no later phases."""
    if not plan.learns:
        learning = ", ".join(name for name, named in NAMED.items() if named.learns)
        why = "its plan states the priors" if plan.has_priors else f"those of {learning} do"
        raise LearningError(f"a campaign of {plan.name} has nothing to learn; {why}")


def check_groups(last: Plan, learning: Learning) -> None:
    """Refuse groups or pivots that the phase after a plan cannot have; groups that are to be chosen are left alone."""
    if not isinstance(learning.groups, str):
        _groups(last, learning)


def _groups(last: Plan, learning: Learning) -> Groups:
    """The groups of the next phase by the places of their attributes."""
    if isinstance(learning.groups, str):
        named = NAMED[last.name]
        among = named.hidden_among(last.decoys)
        return best_groups(last.schema.sizes, Fraction(last.epsilon), among, named.learned).groups
    if learning.groups is not None:
        places = group_places(last.schema, learning.groups)
    else:
        places = last.groups or (tuple(range(len(last.schema.attributes))),)
    if learning.pivots > (most := max(map(len, places))):
        raise PlanError(
            f"{learning.pivots} questions a report (pivots) need a group of at least {learning.pivots} questions, "
            f"the largest has {most}"
        )
    return places


def association(history: History, places: tuple[int, int], marginals: tuple[Floats, Floats]) -> float:
    """How strongly two attributes go together, from 0 to about 1, without what noise adds on average: the root of
    Escoufier's RV coefficient of their labels, which is the correlation if both have two labels.
    """
    inside = _inside(history, places)
    square = np.sum(dependence(inside, *marginals) ** 2) - inside.variances.sum()
    one, two = (np.linalg.norm(np.diag(own) - np.outer(own, own)) for own in marginals)
    return float(np.sqrt(max(square, 0) / (one * two))) if one * two > 0 else 0.0


def associated(history: History, least: float) -> Groups:
    """The groups of attributes whose association is above `least`, directly or through others of their group; the
    strongest pairs are put together first, as long as the fill that is learned takes so many labels.
    """
    plan = history[-1][0]
    sizes, kind = plan.schema.sizes, NAMED[plan.name].learned
    assert kind is not None
    marginals = [project_to_simplex(own) for own in unbiased(history, []).frequencies]
    pairs = {
        (one, two): association(history, (one, two), (marginals[one], marginals[two]))
        for one, two in combinations(range(len(sizes)), 2)
    }
    group_of: dict[int, Places] = {own: (own,) for own in range(len(sizes))}
    for one, two in sorted(pairs, key=lambda pair: -pairs[pair]):
        if pairs[one, two] <= least or group_of[one] == group_of[two]:
            continue
        joined = tuple(sorted((*group_of[one], *group_of[two])))
        with suppress(PlanError):  # tables of so many labels are too large: the two stay apart
            kind.check_sizes([sizes[own] for own in joined], 1)
            group_of |= dict.fromkeys(joined, joined)
    return tuple(dict.fromkeys(group_of.values()))


def _part(history: History, group: Places, budget: Fraction, rule: Rule, people: int, pivots: int) -> PartPlan:
    """A group as a part with a fill that is learned; it has none where all its attributes are asked."""
    sizes, kind = history[-1][0].schema.sizes, NAMED[history[-1][0].name].learned
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
