"""Cond-RR: what fills an attribute is drawn from its estimated table given the pivot."""

from fractions import Fraction
from itertools import combinations

import numpy as np

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
"""The table of each attribute given each pivot, by their places in the group."""


def learn_tables(history: History, group: Places, budget: Fraction, wanted: Wanted) -> Found:
    """A conditional table for every ordered pair, with as much of the least telling rows as the bound needs."""
    sizes = history[-1][0].schema.sizes
    learned = _conditional_tables(history, group)
    hiding = [
        least_telling(randomized_response(budget, sizes[own]), known)
        for own, known in zip(group, wanted.known(group, sizes), strict=True)
    ]

    def mixed(weight: float) -> TableFill:
        tables = []
        for pivots, other in table_places(len(group), 1):
            rows = (1 - weight) * learned[pivots, other] + weight * hiding[other]
            tables.append(Table(pivots, other, tuple(map(nearest_distribution, rows))))
        return TableFill(tuple(tables))

    return keep_secret(Secrecy(group, sizes, budget, wanted), mixed)


def _conditional_tables(history: History, group: Places) -> Tables:
    """What earlier phases say of each attribute given each other one."""
    frequencies = current_frequencies(history)
    marginals = [project_to_simplex(frequencies[own]) for own in group]
    tables: Tables = {}
    for one, two in combinations(range(len(group)), 2):
        table = joint_table(history, group[one], group[two])
        if table is None:
            raise LearningError("these counts keep no pairwise tables: the schema has too many labels for cond-rr")
        joint = fitted(shrunk(table, marginals[one], marginals[two]), marginals[one], marginals[two])
        tables[(one,), two] = np.array(conditional_rows(joint))
        tables[(two,), one] = np.array(conditional_rows(joint.T))
    return tables
