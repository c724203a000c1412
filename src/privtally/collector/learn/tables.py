"""Cond-RR: what fills an attribute is drawn from its estimated table given the pivot."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from privtally.collector.consistent import interior_table
from privtally.collector.estimate import History
from privtally.collector.estimate.current import current_frequencies
from privtally.collector.joint import conditional_rows, fitted, joint_table, shrunk
from privtally.collector.learn.secrecy import Secrecy, keep_secret, least_telling
from privtally.collector.learn.wanted import Found, Wanted
from privtally.collector.simplex import project_to_simplex
from privtally.errors import LearningError
from privtally.exact.arrays import Floats
from privtally.exact.probability import nearest_distribution
from privtally.mechanisms.channel import randomized_response
from privtally.mechanisms.fills import Places, Table, TableFill, table_places

Tables = dict[tuple[Places, int], Floats]
"""The table of each attribute given each choice of pivots, by their places in the group."""


def learn_tables(history: History, group: Places, budget: Fraction, wanted: Wanted) -> Found:
    """A conditional table for every ordered pair, with as much of the least telling rows as the bound needs."""
    return kept_secret(_conditional_tables(history, group), history[-1][0].schema.sizes, group, budget, wanted)


def kept_secret(learned: Tables, sizes: Sequence[int], group: Places, budget: Fraction, wanted: Wanted) -> Found:
    """Learned tables with as much of the least telling rows as the bound needs; `sizes` are of all attributes."""
    hiding = [
        least_telling(randomized_response(budget / wanted.pivots, sizes[own]), known)
        for own, known in zip(group, wanted.known(group, sizes), strict=True)
    ]

    def mixed(weight: float) -> TableFill:
        tables = []
        for pivots, other in table_places(len(group), wanted.pivots):
            rows = (1 - weight) * learned[pivots, other] + weight * hiding[other]
            tables.append(Table(pivots, other, tuple(map(nearest_distribution, rows))))
        return TableFill(tuple(tables))

    return keep_secret(Secrecy(group, sizes, budget, wanted), mixed)


def smoothed_pair(history: History, places: tuple[int, int], marginals: tuple[Floats, Floats]) -> Floats:
    """The joint table of two attributes with these marginals, as far as its noise lets it be known."""
    table, inside = joint_table(history, *places), interior_table(history, *places)
    if table is None or inside is None:
        raise LearningError(
            "these counts keep no pairwise tables: give the first phase's plan and counts as well; if they are there, "
            "the schema has too many answers for cond-rr"
        )
    return fitted(shrunk(table.frequencies, float(inside.variances.sum()), *marginals), *marginals)


def _conditional_tables(history: History, group: Places) -> Tables:
    """What earlier phases say of each attribute given each other one."""
    frequencies = current_frequencies(history)
    marginals = [project_to_simplex(frequencies[own]) for own in group]
    tables: Tables = {}
    for one, two in combinations(range(len(group)), 2):
        joint = smoothed_pair(history, (group[one], group[two]), (marginals[one], marginals[two]))
        tables[(one,), two] = np.array(conditional_rows(joint))
        tables[(two,), one] = np.array(conditional_rows(joint.T))
    return tables
