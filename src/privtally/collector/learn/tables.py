"""Cond-RR: what fills an attribute is drawn from its estimated table given the private pivots.

With several pivots the joint table of the pivots and the filled attribute is the one with no more structure than its
pairwise tables have (maximum entropy, by iterative proportional fitting): reports of Phase I keep pairs.

A pivot enters a table only if Phase I supports it. Let D² be the estimated departure of the two attributes from
independence and V its noise, both as sums of squares over cells. Leaving the pivot out costs D² − V, the unbiased
estimate of the true departure; taking it in costs V. So it gains D² − 2V, and is taken in where that is positive. A
group has as many pivots as wanted if, over all its tables, even the pivot that gains least gains something in sum; else
it gets one pivot fewer, with a larger share of the budget for each, and so on.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from privtally.collector.consistent import interior_table
from privtally.collector.estimate import History, unbiased
from privtally.collector.joint import conditional_rows, fitted, joint_table, shrunk
from privtally.collector.simplex import project_to_simplex
from privtally.errors import LearningError
from privtally.exact.arrays import Floats
from privtally.exact.probability import nearest_distribution
from privtally.mechanisms.fills import Places, Table, TableFill, table_places
from privtally.mechanisms.named import PartPlan, asking

ROUNDS, CLOSE_ENOUGH = 100, 1e-9
"""Pairwise tables are fitted in turn so often at most, or until no cell moves by more than this."""

Pairs = Mapping[tuple[int, int], Floats]
"""Joint tables of two attributes by their places in the group, the smaller first."""


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
    laws, pivots = _joint_laws(history, group, pairs, marginals, pivots) if pivots > 1 else (_laws(pairs), 1)
    tables = (
        Table(chosen, other, tuple(map(nearest_distribution, laws[chosen, other])))
        for chosen, other in table_places(len(group), pivots)
    )
    return asking(group, plan.schema.sizes, budget, TableFill(tuple(tables)), pivots=pivots, decoys=plan.decoys)


def _laws(pairs: Pairs) -> dict[tuple[Places, int], Floats]:
    """The law of each attribute given each other one."""
    laws: dict[tuple[Places, int], Floats] = {}
    for (one, two), joint in pairs.items():
        laws[(one,), two] = np.array(conditional_rows(joint))
        laws[(two,), one] = np.array(conditional_rows(joint.T))
    return laws


def _joint_laws(
    history: History, group: Places, pairs: Pairs, marginals: Sequence[Floats], pivots: int
) -> tuple[dict[tuple[Places, int], Floats], int]:
    """The law of each attribute given each choice of as many pivots as Phase I supports, and their number."""
    gains = np.zeros((len(group), len(group)))
    for one, two in pairs:
        gain = gain_of(history, (group[one], group[two]), (marginals[one], marginals[two]))
        gains[one, two] = gains[two, one] = gain
    while pivots > 1:
        places = table_places(len(group), pivots)
        if sum(min(gains[own, other] for own in chosen) for chosen, other in places) > 0:
            used = {(chosen, other): tuple(own for own in chosen if gains[own, other] > 0) for chosen, other in places}
            return {place: _rows(*place, used[place], pairs, marginals) for place in places}, pivots
        pivots -= 1
    return _laws(pairs), 1


def _smoothed_pair(history: History, places: tuple[int, int], marginals: tuple[Floats, Floats]) -> Floats:
    """The joint table of two attributes with these marginals, as far as its noise lets it be known."""
    table, inside = joint_table(history, *places), interior_table(history, *places)
    if table is None or inside is None:
        raise LearningError(
            "these counts keep no pairwise tables: give the first phase's plan and counts as well; if they are there, "
            "the schema has too many answers for cond-rr"
        )
    return fitted(shrunk(table.frequencies, float(inside.variances.sum()), *marginals), *marginals)


def gain_of(history: History, places: tuple[int, int], marginals: tuple[Floats, Floats]) -> float:
    """How much smaller the expected error of a table is if one attribute is taken into the table of the other."""
    inside = interior_table(history, *places)
    if inside is None:
        return 0.0
    first, second = marginals
    independent = np.outer(first - 1 / len(first), second - 1 / len(second))
    return float(np.sum((inside.frequencies - independent) ** 2) - 2 * inside.variances.sum())


def _rows(chosen: Places, other: int, used: Places, pairs: Pairs, marginals: Sequence[Floats]) -> Floats:
    """The law of an attribute for each combination of the chosen pivots' codes, given those that are used."""
    members = (*used, other)
    joint = fit_pairs(members, pairs, marginals)
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
    joint = np.ones(())
    for own in members:
        joint = joint[..., None] * marginals[own]
    for _ in range(ROUNDS if len(members) > 1 else 0):
        before = joint
        for one, two in combinations(range(len(members)), 2):
            own, other = members[one], members[two]
            wanted = pairs[own, other] if own < other else pairs[other, own].T
            rest = tuple(axis for axis in range(len(members)) if axis not in (one, two))
            found = joint.sum(axis=rest)
            ratio = np.divide(wanted, found, out=np.zeros_like(wanted), where=found > 0)
            joint = joint * np.expand_dims(ratio, rest)
        if np.abs(joint - before).max() < CLOSE_ENOUGH:
            break
    return joint
