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
from privtally.exact.arrays import Floats
from privtally.mechanisms import Mechanism, Part
from privtally.mechanisms.channel import Channel
from privtally.mechanisms.fills import Places


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
        codes[:, columns[others]] = np.array(part.answers)[others] if part.silent else 0
        group = distinct(sizes, codes, times)
        for own in branch:
            matrix = _matrix(part.asked[own], part.sizes[own])
            group = _drawn(group, columns[own], matrix[group.codes[:, columns[own]]], generator)
        for place in range(len(others) if part.decoys else 0):
            chances = _decoy_chances(group, part, branch, others[: place + 1])
            group = _drawn(group, columns[others[place]], chances, generator)
        found.append(group)
    codes = np.concatenate([group.codes for group in found])
    return distinct(sizes, codes, np.concatenate([group.times for group in found]))


def _matrix(channel: Channel, inputs: int) -> Floats:
    """The law of an output given each input."""
    matrix = channel.push(np.eye(inputs))
    law: Floats = matrix / matrix.sum(axis=1, keepdims=True)
    return law


def _decoy_chances(group: SubReports, part: Part, branch: Places, others: Sequence[int]) -> Floats:
    """For each row of a group the law of the code of the last of these attributes, "not asked" included if it can be.

    Given how many of the others before it are decoys, it is one with the chance (decoys left) / (attributes left).
    """
    columns, (*before, other) = np.array(part.attributes), others
    shape = [part.answers[own] for own in branch]
    given = np.ravel_multi_index(tuple(group.codes[:, columns[list(branch)]].T), shape)
    filled: Floats = _matrix(part.filling(branch, other), math.prod(shape))[given]
    if not part.silent:
        return filled
    shown = np.sum(group.codes[:, columns[before]] < np.array(part.answers)[before], axis=1)
    chance = (part.decoys - shown) / (len(part.attributes) - part.pivots - len(before))
    return np.column_stack([chance[:, None] * filled, 1 - chance])


def _drawn(group: SubReports, column: int, chances: Floats, generator: Generator) -> SubReports:
    """The group with a column drawn by the chances of each row."""
    drawn = generator.multinomial(group.times, chances)
    rows, outputs = np.nonzero(drawn)
    codes = group.codes[rows]
    codes[:, column] = outputs
    return SubReports(codes, drawn[rows, outputs])
