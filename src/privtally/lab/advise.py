"""Which campaign to run, and what a wanted error would take.

The campaign is recommended that is never far behind the best, over the kinds of populations of a stated prior or in the
population of pilot data. Errors are stated as their geometric mean over the populations: no population counts for more
because its errors are larger.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from privtally.documents.plan import LARGEST_EPSILON, SMALLEST_EPSILON
from privtally.errors import CampaignError
from privtally.lab.expectation import Population, expected_error
from privtally.lab.offers import Question, offers
from privtally.names import MechanismName
from privtally.plots.advice import Curves
from privtally.schema import Schema

SECOND_PHASE = 1.03
"""How much further behind the best a campaign of one phase may be than one of two to be preferred to it."""
BUDGET_FACTORS, GUESSES = (0.25, 0.5, 1.0, 2.0, 4.0), (0.0, 0.3, 0.5, 0.7, 0.85, 1.0)
MOST_PEOPLE, MOST_EPSILON = 10**12, LARGEST_EPSILON
"""How many people, and how large a budget, are tried to reach a wanted error."""
NO_ERROR = 1e-24
"""Logarithms need more than 0."""


@dataclass(frozen=True)
class Expected:
    """The error that a campaign is expected to have: the root of the mean square."""

    mechanism: MechanismName
    phase1_share: float | None
    pivot_guess: float
    error: float
    by_population: tuple[float, ...]
    """The mean square in each population."""

    def body(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "by_population"}


@dataclass(frozen=True)
class Adviser:
    """Somebody who knows the questions and which populations may answer them."""

    schema: Schema
    populations: Sequence[Population]

    def expect(self, question: Question) -> list[Expected]:
        """What every campaign is expected to score, the best first."""
        rows = []
        for offer in offers(self.schema, question):
            squares = tuple(
                max(min(expected_error(noise, population, question.users) for noise in offer.noises), NO_ERROR)
                for population in self.populations
            )
            error = math.exp(sum(map(math.log, squares)) / len(squares) / 2)
            rows.append(Expected(offer.mechanism, offer.phase1_share, offer.pivot_guess, error, squares))
        if not rows:
            raise CampaignError("no mechanism can ask these people these questions")
        return sorted(rows, key=lambda row: row.error)

    def recommend(self, question: Question) -> Expected:
        return recommend(self.expect(question), question.max_pivot_guess)

    def people_for(self, wanted: float, question: Question) -> int | None:
        """How many people a wanted error takes, with the campaign that is best for so many; None if too many."""
        found = self._smallest(wanted, lambda users: replace(question, users=round(users)), 1, MOST_PEOPLE)
        return None if found is None else round(found)

    def budget_for(self, wanted: float, question: Question) -> float | None:
        """Which budget a wanted error takes, with the campaign that is best for it; None if it is too large."""
        return self._smallest(wanted, lambda value: replace(question, epsilon=value), SMALLEST_EPSILON, MOST_EPSILON)

    def _smallest(self, wanted: float, ask: Callable[[float], Question], least: float, most: float) -> float | None:
        return smallest(lambda value: self.recommend(ask(value)).error <= wanted, least, most)

    def by_budget(self, question: Question) -> Curves:
        """Every mechanism's error around the budget that was asked about."""
        budgets = {min(max(question.epsilon * factor, SMALLEST_EPSILON), LARGEST_EPSILON) for factor in BUDGET_FACTORS}
        return self._curves((budget, replace(question, epsilon=budget)) for budget in sorted(budgets))

    def by_secrecy(self, question: Question) -> Curves:
        """Every mechanism's error against how often an observer names the pivot."""
        least = 1 / len(self.schema.attributes)
        guesses = sorted({max(guess, least) for guess in GUESSES})
        return self._curves((None, replace(question, max_pivot_guess=guess)) for guess in guesses)

    def _curves(self, questions: Iterable[tuple[float | None, Question]]) -> Curves:
        """Every mechanism's error at each x, which is its pivot guess if not given."""
        points: dict[str, dict[float, float]] = {}
        for x, question in questions:
            for row in at_best_share(self.expect(question)):
                points.setdefault(row.mechanism, {})[x or row.pivot_guess] = row.error
        return {mechanism: list(errors.items()) for mechanism, errors in points.items()}


def recommend(rows: Sequence[Expected], max_pivot_guess: float) -> Expected:
    """The campaign that keeps the pivot as secret as was asked for and is least behind the best such campaign in the
    population where it is most behind. A second phase must earn its trouble.
    """
    # Whoever guesses blindly is right once in d times; no campaign can have less.
    secret = max(max_pivot_guess, min(row.pivot_guess for row in rows))
    allowed = [row for row in rows if row.pivot_guess <= secret]
    trouble = [1.0 if row.phase1_share is None else SECOND_PHASE for row in allowed]
    behind = np.multiply(trouble, worst_ratios(allowed))
    return allowed[int(np.argmin(behind))]


def worst_ratios(rows: Sequence[Expected]) -> list[float]:
    """How far behind the best of these each is, in the population where it is most behind."""
    squares = np.array([row.by_population for row in rows])
    ratios: list[float] = (squares / squares.min(axis=0)).max(axis=1).tolist()
    return ratios


def at_best_share(rows: Sequence[Expected]) -> list[Expected]:
    """Every mechanism once, the best first."""
    best: dict[str, Expected] = {}
    for row in sorted(rows, key=lambda row: row.error):
        best.setdefault(row.mechanism, row)
    return list(best.values())


def smallest(enough: Callable[[float], bool], least: float, most: float) -> float | None:
    """The smallest value that is enough, rounded up to two digits; None if the largest is not."""
    if enough(least):
        return least
    if not enough(most):
        return None
    low, high = least, most
    while high / low > 1.005:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    step = 10.0 ** (math.floor(math.log10(high)) - 1)
    return min(round(math.ceil(high / step - 1e-9) * step, 12), most)
