"""Simulated reports: the counts of our mechanisms, sampled exactly and without users, and mechanisms of one's own.

People with the same record, branch and private codes behave alike, so multinomials over those groups have exactly the
law that counting users one by one would have. The cost depends on the number of different records and not on the number
of people.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import msgspec
import numpy as np
from numpy.random import Generator

from privtally.collector.inverse import inverse_of
from privtally.collector.together import Answers
from privtally.documents.counts import SubReports, distinct
from privtally.documents.plan import Plan
from privtally.errors import CampaignError
from privtally.exact.randomness import Source
from privtally.exact.types import Codes, Floats
from privtally.mechanisms.channels import Channel
from privtally.mechanisms.fills import Places
from privtally.mechanisms.mechanism import Mechanism, Part
from privtally.mechanisms.together import Together
from privtally.schema import Records, Schema


@runtime_checkable
class OwnMechanism(Protocol):
    """What a mechanism from a script has; its privacy is its author's to prove."""

    def privatise(self, codes: Codes, source: Source) -> Any:
        """The reports of people, whose raw codes are an array (person, attribute), in whatever form it likes."""
        ...

    def estimate(self, reports: Any) -> Sequence[Sequence[float] | Floats]:
        """The frequencies of each attribute's labels."""
        ...


Own = Plan | Mechanism | OwnMechanism | Callable[[Schema, float], "Plan | Mechanism | OwnMechanism"]
"""A mechanism of one's own, or what makes one of a schema and a budget: a class or a function."""


def own_mechanism(given: Any, schema: Schema, epsilon: float) -> Plan | OwnMechanism:
    """A mechanism of one's own for a schema and a budget; refused if it is none, or spends more than the budget where
    that can be computed.
    """
    if (callable(given) and not isinstance(given, OwnMechanism | Mechanism | Plan)) or isinstance(given, type):
        given = given(schema, epsilon)
    if isinstance(given, Plan):
        if given.schema != schema:
            raise CampaignError("the plan asks other questions than the schema; design it for the same schema")
        return given if given.epsilon == epsilon else msgspec.structs.replace(given, epsilon=epsilon)
    if isinstance(given, Mechanism):
        if given.sizes != schema.sizes:
            raise CampaignError(f"the mechanism is for {given.sizes} answers, the questions have {schema.sizes}")
        if math.log(given.ratio) > epsilon * (1 + 1e-12):
            raise CampaignError(f"the mechanism realises ε = {math.log(given.ratio):g}, more than {epsilon:g}")
        return _OfParts(given)
    if isinstance(given, OwnMechanism):
        return given
    raise CampaignError(
        "a mechanism is a name such as 'corr-rr', a plan, an object with privatise(codes, source) and "
        f"estimate(reports), or a function of a schema and epsilon that makes one, got {type(given).__name__}"
    )


def own_name(given: Any) -> str:
    """What tables and pictures call a mechanism of one's own."""
    return str(getattr(given, "name", None) or getattr(given, "__name__", None) or type(given).__name__)


def own_frequencies(mechanism: OwnMechanism, records: Records, source: Source) -> list[Floats]:
    """What a mechanism of one's own estimates from the reports of people; refused if that is no share of each label."""
    found = mechanism.estimate(mechanism.privatise(records.codes, source))
    frequencies = [np.asarray(frequencies, dtype=float) for frequencies in found]
    wanted = [(size,) for size in records.schema.sizes]
    if [own.shape for own in frequencies] != wanted or not all(np.isfinite(own).all() for own in frequencies):
        raise CampaignError(
            f"estimate(reports) must give a finite number for every answer: {records.schema.sizes} of them"
        )
    return frequencies


@dataclass(frozen=True)
class _OfParts:
    """Our parts, channels and fills combined anew: the unbiased estimate."""

    mechanism: Mechanism

    def privatise(self, codes: Codes, source: Source) -> Codes:
        return self.mechanism.privatise(codes, source)

    def estimate(self, reports: Codes) -> list[Floats]:
        if isinstance(self.mechanism, Together):
            answers = Answers(self.mechanism, np.bincount(reports[:, 0], minlength=self.mechanism.outputs[0]))
            return [answers.frequencies(place) for place in range(len(self.mechanism.sizes))]
        found: dict[int, Floats] = {}
        for part in self.mechanism.parts:
            shares = []
            for attribute, channel in zip(part.attributes, part.asked, strict=True):
                tally = np.bincount(reports[:, attribute], minlength=channel.outputs)[: channel.outputs].astype(float)
                shares.append(channel.support(tally / max(tally.sum(), 1)))
            found |= zip(part.attributes, inverse_of(part).apply(shares), strict=True)
        return [found[attribute] for attribute in range(self.mechanism.width)]


def simulate(mechanism: Mechanism, people: SubReports, generator: Generator) -> SubReports:
    """Distinct reports of people, who are given as distinct records with their numbers.

    One part after the other takes the place of its attributes' raw codes.
    """
    if isinstance(mechanism, Together):
        return _simulate_together(mechanism, people, generator)
    for part in mechanism.parts:
        people = _simulate_part(mechanism, part, people, generator)
    return people


def _simulate_together(mechanism: Together, people: SubReports, generator: Generator) -> SubReports:
    by_set = generator.multinomial(people.times, [float(share) for share in mechanism.shares]).T
    tally = np.zeros(mechanism.outputs[0], dtype=np.int64)
    for number, (channel, places, times) in enumerate(zip(mechanism.asked, mechanism.sets, by_set, strict=True)):
        labels = np.ravel_multi_index(tuple(people.codes[:, list(places)].T), mechanism.shape(number))
        asked = np.bincount(labels, times, channel.inputs).astype(np.int64)
        given = np.flatnonzero(asked)
        for label in given.tolist():
            start = mechanism.starts[number]
            law = channel.push(np.eye(1, channel.inputs, label)[0])
            tally[start : start + channel.outputs] += generator.multinomial(asked[label], law / law.sum())
    (codes,) = np.nonzero(tally)
    return SubReports(codes[:, None], tally[codes])


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


def mean_squared_error(found: Sequence[Floats], truth: Sequence[Floats]) -> Floats:
    """The paper's metric: the mean over labels, then over attributes, for each run."""
    errors = [np.mean((one - two) ** 2, axis=-1) for one, two in zip(found, truth, strict=True)]
    mean: Floats = np.mean(errors, axis=0)
    return mean
