"""The campaigns that advice chooses from, and how much noise their reports have.

At uniform answers one private answer with budget ε has the information k·λ² on each direction. If one of g attributes
is answered and the report says which, each is answered by a g-th of the people. If the others are filled evenly, so
that the report does not say which, only a g-th of that information is left.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from privtally.collector.estimate.pooled import MOST_LABELS
from privtally.collector.learn.information import copy_information
from privtally.collector.learn.robust import CANDIDATES, GROUPS, MOST_DIRECTED, MOST_UNLIKE, SLACK, best_directed
from privtally.documents.campaign import phase1_people
from privtally.documents.plan import design
from privtally.documents.sub_reports import SUB_REPORT_LIMIT
from privtally.errors import PrivtallyError
from privtally.lab.expectation import Noise
from privtally.mechanisms.alignment import label_by_label
from privtally.names import MAX_PIVOT_GUESS, MechanismName
from privtally.schema import Schema

SHARES = (0.05, 0.1, 0.2)
"""The shares of people in Phase I that are offered."""


@dataclass(frozen=True)
class Question:
    """What is asked: how many people, with which budget, and how often an observer may name the pivot of a report."""

    users: int
    epsilon: float
    max_pivot_guess: float = MAX_PIVOT_GUESS


@dataclass(frozen=True)
class Offer:
    """A campaign: the share of people in its first phase if it has two, how often an observer names the pivot of a
    report, and the noise of its reports. Of several noises the campaign has the one that suits the population: which
    that is, it learns from the first phase.
    """

    mechanism: MechanismName
    phase1_share: float | None
    pivot_guess: float
    noises: Sequence[Noise]


def offers(schema: Schema, question: Question) -> list[Offer]:
    """Every campaign that can ask these people these questions."""
    attributes = len(schema.attributes)
    blind = 1 / attributes
    one_phase = [
        Offer("spl", None, blind, [answered(schema, question, group=1)]),
        Offer("rs-fd", None, blind, [filled(schema, question)]),
        Offer("smp", None, 1.0, [answered(schema, question, group=attributes)]),
    ]
    found = []
    for offer in one_phase:
        with suppress(PrivtallyError):  # the mechanism cannot ask these questions
            design(schema, question.epsilon, offer.mechanism)
            found.append(offer)
    for share in SHARES:
        with suppress(PrivtallyError):  # nor this one, or not so few people
            design(schema, question.epsilon, "corr-rr")
            noises = list(copied(schema, question, phase1_people(question.users, share)))
            found.append(Offer("corr-rr", share, max(question.max_pivot_guess, blind), noises))
    return found


def information(epsilon: float, size: int) -> float:
    """What one private answer says of each direction, at uniform answers."""
    return size * (math.expm1(epsilon) / (math.exp(epsilon) + size - 1)) ** 2


def answered(schema: Schema, question: Question, *, group: int) -> Noise:
    """Everybody answers one attribute of each group of so many, with the group's part of the budget, and says which."""
    people, budget = question.users, question.epsilon * group / len(schema.attributes)
    alone = [group * (1 / information(budget, size) - 1 / size) / people for size in schema.sizes]
    return Noise(alone, passed_over=(group - 1) / people)


def filled(schema: Schema, question: Question) -> Noise:
    """Everybody answers one attribute, and the others are filled evenly."""
    square = len(schema.attributes) ** 2
    return Noise([(square / information(question.epsilon, size) - 1 / size) / question.users for size in schema.sizes])


def copied(schema: Schema, question: Question, phase1: int) -> Iterator[Noise]:
    """So many people answer everything; the others answer one attribute, and the rule `robust` chooses the fills.

    Even fills come first; matches between labels that do not correspond one by one are not offered. The rule takes no
    others that would be worse by more than `SLACK` if attributes had nothing in common.
    """
    attributes, size = len(schema.attributes), schema.sizes[0]
    phase2 = question.users - phase1
    alone = []
    for labels in schema.sizes:
        first = phase1 * information(question.epsilon / attributes, labels)
        second = phase2 * information(question.epsilon, labels) / attributes**2
        alone.append(1 / (first + second) - 1 / (labels * question.users))
    yield Noise(alone)
    differ = len({attribute.labels for attribute in schema.attributes}) > 1
    if attributes * size > MOST_LABELS or (differ and attributes > MOST_UNLIKE):
        return
    if not label_by_label(schema, range(attributes)):
        return
    first = phase1 * information(question.epsilon / attributes, size)
    second = phase2 * information(question.epsilon, size) / size
    drawn = 1 / (size * question.users)
    even = 1 / (first + second * size / attributes**2)

    def noise(together: float, apart: float) -> Noise:
        """From the variances of both phases of what attributes have in common and of their differences."""
        return Noise([apart - drawn] * attributes, (together - apart) / attributes)

    secret = max(question.max_pivot_guess, 1 / attributes)
    kept = min(size**attributes, phase2) <= SUB_REPORT_LIMIT
    tells = copy_information(CANDIDATES, attributes, size, whole=kept)
    if tells is not None:
        together, apart = 1 / (first + second * tells.common), 1 / (first + second * tells.contrast)
        safe = together + (attributes - 1) * apart <= SLACK * attributes * even
        for place in np.flatnonzero(safe & (tells.pivot_guess <= secret)):
            yield noise(float(together[place]), float(apart[place]))
    for most in GROUPS if attributes <= MOST_DIRECTED else ():
        found = best_directed(attributes, size, most, first, second, secret, whole=kept)
        if found is not None:
            variances = np.linalg.inv(first * np.eye(attributes) + second * found[1])
            shared = float(variances.sum()) / attributes
            yield noise(shared, (float(np.trace(variances)) - shared) / (attributes - 1))
