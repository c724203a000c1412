"""What campaigns would score under the default method, all of them with the same noise.

What a campaign's reports say about the frequencies is close to the truth plus normal noise, whose size is the
information in them. If every campaign is given the same standard normal numbers, scaled by its own noise, their errors
rise and fall together, and few draws tell which of two campaigns is better. The estimate is the product's own, and so
is the rule by which Corr-RR learns.

With few people and a large budget, when a handful of reports decides, noise is not normal, and errors are rough.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from privtally.collector.estimate.inverse import Floats, zero_sum_basis
from privtally.collector.estimate.likelihood import Slope, likelihood_of
from privtally.collector.estimate.pooled import pool
from privtally.collector.learn.robust import choose
from privtally.collector.simplex import project_to_simplex
from privtally.documents.campaign import phase1_people
from privtally.documents.counts import WHOLE_REPORT_LIMIT, count
from privtally.documents.plan import Plan, design
from privtally.lab.paper.experiment import mean_squared_error
from privtally.lab.seed import seeded
from privtally.mechanisms import Pivot
from privtally.names import MechanismName
from privtally.participant.respond import respond_many
from privtally.schema import Records

Attempt = tuple[MechanismName, float | None]
"""A campaign: SPL, SMP or RS+FD, or Corr-RR by the rule `robust` with a share of people in Phase I."""


SAMPLE = 20_000
"""So many people, drawn from those given, answer each plan once to say what its reports tell."""
NOTHING = 1e-9
"""Of a direction so much less is known than of the best known one that it is nothing."""


@dataclass(frozen=True)
class Outlook:
    """How many people are asked with which budget and secrecy, and how often noise is drawn with which seed."""

    users: int
    epsilon: float
    max_pivot_guess: float
    draws: int
    seed: int


@dataclass(frozen=True)
class Seen:
    """What a phase's reports say: these frequencies, with normal noise of this information. A likelihood."""

    frequencies: Floats
    information: Floats

    def at(self, frequencies: Floats) -> Slope:
        """The slope and information of the normal log-likelihood."""
        return self.information @ (self.frequencies - frequencies), self.information


@dataclass(frozen=True)
class Draw:
    """Standard normal numbers: of the noise in reports, and of which people happen to be asked."""

    noise: Floats
    people: Floats


class Surroundings:
    """A population: its frequencies, and what the reports of each plan tell of them."""

    def __init__(self, people: Records, seed: int) -> None:
        self.schema = people.schema
        self.truth = np.concatenate([np.array(own) for own in people.frequencies().values()])
        self.bounds = np.cumsum(self.schema.sizes)[:-1]
        self._seed = seed
        chosen = np.random.default_rng([seed, 1]).integers(0, len(people), SAMPLE)
        self._people = people if len(people) == SAMPLE else Records(people.schema, people.codes[chosen])
        self._basis = zero_sum_basis(self.schema.sizes)
        self._spread = self._inside(_covariance(self._people))
        self._deviation = _root(self._spread)
        self._told: dict[tuple[str, int, bytes], tuple[Floats, Floats]] = {}

    @property
    def directions(self) -> int:
        """In how many directions frequencies can differ."""
        return len(self._spread)

    def phase(self, plan: Plan, users: int, draw: Draw) -> tuple[Seen, Floats]:
        """What so many people's reports say, and those people's own frequencies."""
        information, noise = self._told_by(plan, users)
        asked = self.truth + self._basis @ (self._deviation @ draw.people) / math.sqrt(users)
        return Seen(asked + self._basis @ (noise @ draw.noise), information), asked

    def _told_by(self, plan: Plan, users: int) -> tuple[Floats, Floats]:
        """The information in so many reports, and the deviation of their noise beyond that of who is asked."""
        key = plan.mechanism, users, np.array(plan.copy_probability or ()).tobytes()
        if key not in self._told:
            counts = count(plan, respond_many(plan, self._people, seeded(self._seed)).codes)
            if isinstance(plan.sampler, Pivot) and min(math.prod(self.schema.sizes), users) > WHOLE_REPORT_LIMIT:
                counts = replace(counts, whole=None, pairs=counts.pair_tables or None)
            # One imaginary person, spread evenly: a label that nobody chose is not known to be impossible.
            even = np.repeat(1 / np.array(self.schema.sizes), self.schema.sizes)
            told = likelihood_of(plan, counts).at((SAMPLE * self.truth + even) / (SAMPLE + 1))[1]
            values, vectors = np.linalg.eigh(self._inside(told) * (users / SAMPLE))
            known = values > NOTHING * values[-1]
            values, vectors = values[known], vectors[:, known]
            directions = self._basis @ vectors
            noise = _root((vectors / values) @ vectors.T - self._spread / users)
            self._told[key] = (directions * values) @ directions.T, noise
        return self._told[key]

    def _inside(self, matrix: Floats) -> Floats:
        inside: Floats = self._basis.T @ matrix @ self._basis
        return inside


def _covariance(people: Records) -> Floats:
    """Of one person's answers, each label 1 or 0."""
    chosen = np.hstack(
        [codes[:, None] == np.arange(size) for codes, size in zip(people.codes.T, people.schema.sizes, strict=True)]
    ).astype(np.float32)
    covariance: Floats = np.cov(chosen, rowvar=False, bias=True)
    return covariance


def look_ahead(people: Records, outlook: Outlook, attempts: Sequence[Attempt]) -> list[float]:
    """The mean squared error of each campaign in a population that answers as these people do."""
    surroundings = Surroundings(people, outlook.seed)
    generator = np.random.default_rng([outlook.seed, 2])
    errors: list[list[float]] = []
    for _ in range(outlook.draws):
        numbers = generator.normal(size=(2, 2, surroundings.directions))
        errors.append([_error(surroundings, outlook, attempt, numbers) for attempt in attempts])
    return [float(each) for each in np.mean(errors, axis=0)]


def _error(surroundings: Surroundings, outlook: Outlook, attempt: Attempt, numbers: Floats) -> float:
    """One campaign's squared error. The first numbers are those of all people together, whatever the phases."""
    mechanism, share = attempt
    first = design(surroundings.schema, outlook.epsilon, mechanism)
    if share is None:
        seen, people = surroundings.phase(first, outlook.users, Draw(*numbers[0]))
        return _score(surroundings, [seen], people)
    asked = phase1_people(outlook.users, share)
    part = asked / outlook.users
    turned = np.array([[math.sqrt(part), math.sqrt(1 - part)], [math.sqrt(1 - part), -math.sqrt(part)]])
    draws = [Draw(*each) for each in np.einsum("ij,jab->iab", turned, numbers)]
    one, some = surroundings.phase(first, asked, draws[0])
    rest = outlook.users - asked
    copies = choose(first, one, asked, rest, outlook.max_pivot_guess).copy_probability
    second = Plan(
        schema=first.schema,
        epsilon=first.epsilon,
        campaign=first.campaign,
        phase=2,
        mechanism=first.campaign,
        copy_probability=tuple(map(tuple, copies.tolist())),
    )
    two, others = surroundings.phase(second, rest, draws[1])
    return _score(surroundings, [one, two], part * some + (1 - part) * others)


def _score(surroundings: Surroundings, phases: Sequence[Seen], people: Floats) -> float:
    """The squared error of the pooled estimate; normal noise is a parabola wherever it is taken."""
    labels = [attribute.labels for attribute in surroundings.schema.attributes]
    found, truth = (np.split(each, surroundings.bounds) for each in (pool(phases, labels, most_steps=1).mean, people))
    return float(mean_squared_error(list(map(project_to_simplex, found)), truth))


def _root(matrix: Floats) -> Floats:
    """The symmetric square root; what rounding made negative is 0."""
    values, vectors = np.linalg.eigh(matrix)
    root: Floats = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    return root
