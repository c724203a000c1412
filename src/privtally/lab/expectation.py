"""The mean squared error to expect of a pooled estimate, in closed form.

The frequencies of an attribute with k labels can differ from uniform ones in k − 1 directions. In each of them they
have some variance, and the reports show them with some noise. An estimate that knows both variances has the error
variance · noise / (variance + noise). The pooled estimate learns the variance from the reports, which costs what
docs/decisions/0011 derives: with few reports as much as a wrong guess of the variance, with many as much as two
directions that are left as they are reported.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from privtally.schema import Records, Schema

PRIOR = (
    "alike: one draw from Dirichlet(1) for all attributes with the same labels; "
    "similar: each attribute from Dirichlet(20 × such a draw); "
    "unlike: each attribute its own draw from Dirichlet(1)"
)
SIMILAR = 20
"""The weight of what attributes share in populations of the kind "similar"."""


@dataclass(frozen=True)
class Group:
    """The attributes at these places have the same labels, and this much variance in each direction.

    `together` is the variance of what they have in common, their sum divided by the root of their number; `apart` that
    of their differences.
    """

    places: tuple[int, ...]
    size: int
    together: float
    apart: float

    @property
    def spread(self) -> float:
        """The variance of one person's answer in one direction."""
        return 1 / self.size - (self.together + (len(self.places) - 1) * self.apart) / len(self.places)


Population = Sequence[Group]


@dataclass(frozen=True)
class Noise:
    """How far the reports are from the frequencies of the people who were asked, in one direction.

    `alone[place]` is the variance of an attribute's own noise; `common` has, for attributes that are filled from each
    other, their places and the variance of the noise that they share. `passed_over[place]` is how many people were not
    asked about an attribute for each person who was, over the number of all people: those who were asked differ from
    all by chance.
    """

    alone: Sequence[float]
    common: Sequence[tuple[tuple[int, ...], float]] = ()
    passed_over: Sequence[float] | None = None

    def of(self, group: Group) -> tuple[float, float]:
        """The variance of the noise of what the group's attributes have in common, and of their differences."""
        many = len(group.places)
        total = sum(self.alone[place] for place in group.places)
        if self.passed_over is not None:
            total += group.spread * sum(self.passed_over[place] for place in group.places)
        shared = [(len(set(group.places).intersection(places)), variance) for places, variance in self.common]
        together = (total + sum(own**2 * variance for own, variance in shared)) / many
        everything = total + sum(own * variance for own, variance in shared)
        return together, (everything - together) / max(many - 1, 1)


def prior_populations(schema: Schema) -> Mapping[str, Population]:
    """The kinds of populations that stand for the one that nobody has asked yet; `PRIOR` says them in words.

    In exactly uniform populations all errors are smaller than in these, and the less is known the smaller: they are no
    guide to what to ask.
    """
    kinds: dict[str, list[Group]] = {"alike": [], "similar": [], "unlike": []}
    for places, size in _same_labels(schema):
        many, drawn = len(places), dirichlet_variance(size)
        own = drawn * size / (SIMILAR + 1)
        kinds["alike"].append(Group(places, size, many * drawn, 0.0))
        kinds["similar"].append(Group(places, size, many * drawn + own, own))
        kinds["unlike"].append(Group(places, size, drawn, drawn))
    return kinds


def pilot_population(people: Records) -> Population:
    """The population that answers as these people do."""
    frequencies = [np.array(own) for own in people.frequencies().values()]
    groups = []
    for places, size in _same_labels(people.schema):
        own = np.array([frequencies[place] for place in places])
        mean = own.mean(axis=0)
        together = len(places) * float(np.sum((mean - 1 / size) ** 2)) / (size - 1)
        apart = float(np.sum((own - mean) ** 2)) / (max(len(places) - 1, 1) * (size - 1))
        groups.append(Group(places, size, together, apart))
    return groups


def dirichlet_variance(size: int) -> float:
    """The variance of frequencies drawn from Dirichlet(1), all distributions being equally likely, in one direction."""
    return 1 / (size * (size + 1))


def expected_error(noise: Noise, population: Population, people: int) -> float:
    """The mean over attributes of the mean squared error of their frequencies, as those of the people asked."""
    common = sum(group.size - 1 for group in population if len(group.places) > 1)
    own = sum(max(len(group.places) - 1, 1) * (group.size - 1) for group in population)
    total = 0.0
    for group in population:
        many = len(group.places)
        together, apart = noise.of(group)
        drawn = group.spread / people
        plausible = dirichlet_variance(group.size)
        errors = (many - 1) * _error(group.apart + drawn, apart, plausible, own)
        directions = common if many > 1 else own
        errors += _error(group.together + drawn, together, many * plausible, directions)
        total += errors * (group.size - 1) / group.size
    return total / len(noise.alone)


def _error(variance: float, noise: float, plausible: float, directions: int) -> float:
    """The mean squared error in one direction, where the variance is learned from so many directions.

    Without reports the variance is taken to be half of what is plausible. With reports it is known up to
    2 (variance + noise)² / directions, or half of that where it is as likely as not to be found to be 0.
    """
    seen = variance + noise
    if seen == 0:
        return 0.0
    found = (1 + math.erf(variance / seen * math.sqrt(directions) / 2)) / 2
    uncertainty = 1 / ((2 / plausible) ** 2 + max(directions, 2) / (2 * found * seen**2))
    return variance * noise / seen + uncertainty * noise**2 / seen**3


def _same_labels(schema: Schema) -> list[tuple[tuple[int, ...], int]]:
    """The places of attributes that have the same labels, and how many labels those are."""
    places: dict[tuple[str, ...], list[int]] = {}
    for place, attribute in enumerate(schema.attributes):
        places.setdefault(attribute.labels, []).append(place)
    return [(tuple(own), len(labels)) for labels, own in places.items()]
