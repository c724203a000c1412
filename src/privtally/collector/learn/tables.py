"""Cond-RR: what fills an attribute is drawn from its estimated table given the pivot."""

from fractions import Fraction
from itertools import combinations

from privtally.collector.estimate import History
from privtally.collector.estimate.current import current_frequencies
from privtally.collector.joint import conditional_rows, fitted, joint_table
from privtally.collector.learn.wanted import Found, Wanted
from privtally.collector.simplex import project_to_simplex
from privtally.errors import LearningError
from privtally.exact.probability import nearest_distribution
from privtally.mechanisms.fills import Places, Row, Table, TableFill, table_places


def learn_tables(history: History, group: Places, _budget: Fraction, _wanted: Wanted) -> Found:
    """A conditional table for every ordered pair."""
    frequencies = current_frequencies(history)
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
