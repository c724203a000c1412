"""Cond-RR with several pivots: what fills an attribute is drawn from its estimated table given the private pivots.

Reports of Phase I keep pairs, so the joint table of the pivots and the filled attribute is the one with no more
structure than its pairwise tables have (maximum entropy, by iterative proportional fitting).

A pivot enters a table only if Phase I supports it. Let D² be the estimated departure of the two attributes from
independence and V its noise, both as sums of squares over cells. Leaving the pivot out costs D² − V, the unbiased
estimate of the true departure; taking it in costs V. So it gains D² − 2V, and is taken in where that is positive. A
group has as many pivots as wanted if, over all its tables, even the pivot that gains least gains something in sum; else
it gets one pivot fewer, with a larger share of the budget for each, and so on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from privtally.collector.consistent import interior_table
from privtally.collector.estimate import History
from privtally.collector.estimate.current import current_frequencies
from privtally.collector.learn.tables import Tables, kept_secret, learn_tables, smoothed_pair
from privtally.collector.learn.wanted import Found, Wanted
from privtally.collector.simplex import project_to_simplex
from privtally.exact.arrays import Floats
from privtally.mechanisms.fills import Places, table_places

ROUNDS, CLOSE_ENOUGH = 100, 1e-9
"""Pairwise tables are fitted in turn so often at most, or until no cell moves by more than this."""

Pairs = Mapping[Places, Floats]
"""Joint tables of two attributes by their places, the smaller first."""


def learn_joint_tables(history: History, group: Places, budget: Fraction, wanted: Wanted) -> Found:
    """A conditional table for every choice of pivots and every other attribute, with no more pivots than Phase I
    supports.
    """
    frequencies = current_frequencies(history)
    marginals = [project_to_simplex(frequencies[own]) for own in group]
    pairs: dict[Places, Floats] = {}
    gains = np.zeros((len(group), len(group)))
    for one, two in combinations(range(len(group)), 2):
        both, alone = (group[one], group[two]), (marginals[one], marginals[two])
        pairs[one, two] = smoothed_pair(history, both, alone)
        gain = gain_of(history, both, alone)
        gains[one, two] = gains[two, one] = gain
    places = table_places(len(group), wanted.pivots)
    if sum(min(gains[own, other] for own in chosen) for chosen, other in places) <= 0:
        fewer = replace(wanted, pivots=wanted.pivots - 1)
        return (learn_joint_tables if fewer.pivots > 1 else learn_tables)(history, group, budget, fewer)
    tables: Tables = {}
    for chosen, other in places:
        used = tuple(own for own in chosen if gains[own, other] > 0)
        tables[chosen, other] = _rows(chosen, other, used, pairs, marginals)
    return kept_secret(tables, history[-1][0].schema.sizes, group, budget, wanted)


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
