"""The counts of reports, sampled exactly and without users.

People with the same record, branch and private codes behave alike, so multinomials over those groups have exactly the
law that counting users one by one would have. The cost depends on the number of different records and not on the number
of people.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from privtally.documents.sub_reports import SubReports, distinct
from privtally.exact.arrays import Integers
from privtally.mechanisms import Mechanism, Part
from privtally.mechanisms.channel import Channel


def simulate(mechanism: Mechanism, people: SubReports, generator: Generator) -> SubReports:
    """Distinct reports of people, who are given as distinct records with their numbers.

    One part after the other takes the place of its attributes' raw codes.
    """
    for part in mechanism.parts:
        people = _simulate_part(mechanism, part, people, generator)
    return people


def _simulate_part(mechanism: Mechanism, part: Part, people: SubReports, generator: Generator) -> SubReports:
    """The people with this part's codes replaced by a sub-report."""
    by_branch = generator.multinomial(people.times, [1 / len(part.branches)] * len(part.branches)).T
    columns = np.array(part.attributes)
    # Codes outside the part stay as they are, raw or private; a part that stands for all attributes has none.
    sizes = [max(size, outputs) for size, outputs in zip(mechanism.sizes, mechanism.outputs, strict=True)]
    found = []
    for branch, times in zip(part.branches, by_branch, strict=True):
        codes = people.codes.copy()
        others = part.others(branch)
        codes[:, columns[others]] = 0
        group = distinct(sizes, codes, times)
        for own in branch:
            group = _through(group, columns[[own]], part.asked[own], columns[own], (part.sizes[own],), generator)
        shape = tuple(part.answers[own] for own in branch)
        for other in others:
            fill = part.filling(branch, other)
            group = _through(group, columns[list(branch)], fill, columns[other], shape, generator)
        found.append(group)
    codes = np.concatenate([group.codes for group in found])
    return distinct(sizes, codes, np.concatenate([group.times for group in found]))


def _through(
    group: SubReports, given: Integers, channel: Channel, column: int, shape: Sequence[int], generator: Generator
) -> SubReports:
    """The group with a column drawn through a channel whose input is the combination of the given columns."""
    inputs = np.ravel_multi_index(tuple(group.codes[:, given].T), shape)
    matrix = channel.push(np.eye(math.prod(shape)))
    drawn = generator.multinomial(group.times, (matrix / matrix.sum(axis=1, keepdims=True))[inputs])
    rows, outputs = np.nonzero(drawn)
    codes = group.codes[rows]
    codes[:, column] = outputs
    return SubReports(codes, drawn[rows, outputs])
