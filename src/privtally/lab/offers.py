"""The campaigns that advice chooses from, each with the error to expect of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from privtally.documents.campaign import phase1_people
from privtally.documents.learned import MOST_PIVOTS
from privtally.errors import PrivtallyError
from privtally.lab import pair_error
from privtally.lab.expectation import Noise, Population, expected_error
from privtally.lab.noise import Setup, TwoPhases, evenly_filled, said
from privtally.mechanisms import NAMED, build
from privtally.mechanisms.fills import CopyFill, Fill, RowFill, TableFill
from privtally.mechanisms.grouping import best_groups
from privtally.mechanisms.named import Groups
from privtally.names import MAX_PIVOT_GUESS, MECHANISMS, MechanismName
from privtally.schema import Schema

SHARES = (0.05, 0.1, 0.2)
"""The shares of people in Phase I that are offered."""


@dataclass(frozen=True)
class Question:
    """What is asked: how many people, with which budget, how often an observer may name the pivot of a report, and
    whether two-way tables are wanted instead of the frequencies of each attribute.
    """

    people: int
    epsilon: float
    max_pivot_guess: float = MAX_PIVOT_GUESS
    pairs: bool = False


@dataclass(frozen=True)
class Design:
    """A campaign: its mechanism, its groups of attributes by name if there are several, how many questions of a group a
    report answers, and the share of people in its first phase if it has two.
    """

    mechanism: MechanismName
    groups: Sequence[Sequence[str]] | None = None
    pivots: int = 1
    phase1_share: float | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of `design`."""
        return {"mechanism": self.mechanism, "groups": self.groups, "pivots": self.pivots}

    @property
    def campaign_options(self) -> dict[str, Any]:
        """The arguments of `run_campaign`."""
        return {**self.options, "phase1_share": self.phase1_share}


@dataclass(frozen=True)
class Offer:
    """A campaign, how often an observer names the pivot of a report, and its mean squared error in a population."""

    design: Design
    pivot_guess: float | None
    square: Callable[[Population], float]


def offers(schema: Schema, question: Question) -> list[Offer]:
    """Every campaign that can ask these people these questions and says what is wanted."""
    offered = _pairs if question.pairs else _frequencies
    return [offer for mechanism in MECHANISMS for offer in offered(schema, question, mechanism)]


def offer_of(schema: Schema, question: Question, design: Design) -> Offer:
    """One campaign, whether or not its groups are the best."""
    setup = Setup(schema, question.people, question.epsilon, _places(schema, design))
    named, people = NAMED[design.mechanism], question.people
    if named.learned is not None:
        for group in setup.groups:
            named.learned.check_labels(schema, group)
        assert design.phase1_share is not None
        phase1 = phase1_people(people, design.phase1_share)
        two = TwoPhases(setup, phase1, question.max_pivot_guess, by_label=named.learned.by_label)
        noises = list(_LEARNED[named.learned](two))
    else:
        noise = said if _says_which(design.mechanism) else evenly_filled
        noises = [noise(setup, design.pivots)]
    return Offer(design, pivot_guess(design, setup.groups, question), _least(noises, people))


def _places(schema: Schema, design: Design) -> Groups:
    """The groups of a campaign by the places of their attributes."""
    attributes = range(len(schema.sizes))
    if design.groups is not None:
        return tuple(tuple(map(schema.names.index, group)) for group in design.groups)
    return tuple((own,) for own in attributes) if _asks_all(design.mechanism) else (tuple(attributes),)


def _asks_all(mechanism: MechanismName) -> bool:
    """Whether every report answers every question."""
    return NAMED[mechanism].fill is None and not NAMED[mechanism].learns


def _says_which(mechanism: MechanismName) -> bool:
    """Whether a report says which questions it answers."""
    fill = NAMED[mechanism].fill
    return _asks_all(mechanism) or (fill is not None and fill.silent)


def pivot_guess(design: Design, groups: Groups, question: Question) -> float | None:
    """How often an observer names the asked attributes of a group that does not ask all of its own, at most; None where
    every report answers every question.
    """
    choosing = [len(group) for group in groups if len(group) > design.pivots]
    if not choosing:
        return None
    if NAMED[design.mechanism].learns:
        return max(question.max_pivot_guess, 1 / min(choosing))
    return 1.0 if _says_which(design.mechanism) else 1 / min(choosing)


def _least(noises: Sequence[Noise], people: int) -> Callable[[Population], float]:
    """Of several noises a campaign has the one that suits the population: it learns which from the first phase."""
    return lambda population: min(expected_error(noise, population, people) for noise in noises)


def _frequencies(schema: Schema, question: Question, mechanism: MechanismName) -> Iterator[Offer]:
    """The campaigns of a mechanism, in one group and in the best groups."""
    shares: Sequence[float | None] = SHARES if NAMED[mechanism].learns else (None,)
    known = schema.names
    for groups in _groups(schema.sizes, question.epsilon, mechanism):
        names = None if groups is None else tuple(tuple(known[own] for own in group) for group in groups)
        for share in shares:
            with suppress(PrivtallyError):  # too few people for two phases
                yield offer_of(schema, question, Design(mechanism, names, phase1_share=share))


def _pairs(schema: Schema, question: Question, mechanism: MechanismName) -> Iterator[Offer]:
    """The campaigns of a mechanism whose reports carry all pairs of attributes."""
    attributes = len(schema.sizes)
    several = range(2, min(MOST_PIVOTS, attributes) + 1) if _says_which(mechanism) else ()
    for answered in [attributes] if _asks_all(mechanism) and attributes > 1 else several:
        design = Design(mechanism, pivots=1 if _asks_all(mechanism) else answered)
        if _possible(schema.sizes, question.epsilon, mechanism, None, design.pivots):
            square = pair_error.mean_square(schema.sizes, question.epsilon, question.people, answered)
            yield Offer(design, pivot_guess(design, _places(schema, design), question), _everywhere(square))


def _everywhere(square: float) -> Callable[[Population], float]:
    """The same error in every population."""
    return lambda _: square


@lru_cache(maxsize=1024)
def _groups(sizes: tuple[int, ...], epsilon: float, mechanism: MechanismName) -> list[Groups | None]:
    """One group of all attributes, and the best groups if they are others; only what is possible."""
    found: list[Groups | None] = [None]
    with suppress(PrivtallyError):
        best = best_groups(sizes, Fraction(epsilon), NAMED[mechanism]).groups
        if len(best) > 1:
            found.append(best)
    return [groups for groups in found if _possible(sizes, epsilon, mechanism, groups)]


@lru_cache(maxsize=1024)
def _possible(
    sizes: tuple[int, ...], epsilon: float, mechanism: MechanismName, groups: Groups | None, pivots: int = 1
) -> bool:
    """Whether a mechanism can ask questions with these numbers of labels."""
    budget = Fraction(epsilon)
    try:
        build(NAMED[mechanism].first(sizes, budget, groups, pivots), sizes, budget)
    except PrivtallyError:
        return False
    return True


_LEARNED: Mapping[type[Fill], Callable[[TwoPhases], Iterator[Noise]]] = {
    RowFill: TwoPhases.filled,
    CopyFill: TwoPhases.copied,
    TableFill: TwoPhases.filled,
}
