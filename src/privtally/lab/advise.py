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

from privtally.documents.plan import LARGEST_EPSILON, SMALLEST_EPSILON, check_epsilon
from privtally.errors import CampaignError
from privtally.lab.expectation import Population, prior_populations
from privtally.lab.offers import Design, Question, offers
from privtally.names import MAX_PIVOT_GUESS, PIVOT_GUESS_BOUND
from privtally.plots.advice import Curves
from privtally.schema import Schema

SECOND_PHASE = 1.03
"""How much further behind the best a campaign of one phase may be than one of two to be preferred to it."""
BUDGET_FACTORS, GUESSES = (0.25, 0.5, 1.0, 2.0, 4.0), (0.0, 0.3, 0.5, 0.7, 0.85, 1.0)
MOST_PEOPLE, MOST_EPSILON = 10**12, LARGEST_EPSILON
"""How many people, and how large a budget, are tried to reach a wanted error."""
NO_ERROR = 1e-24
"""Logarithms need more than 0."""
POINTS = 196.0
"""Half the width of a 95 % interval in percentage points, for a standard error of 1."""


@dataclass(frozen=True)
class Expected:
    """The error that a campaign is expected to have: the root of the mean square."""

    design: Design
    pivot_guess: float | None
    """How often an observer names the pivot of a report; None where every report answers every question."""
    error: float
    by_population: tuple[float, ...]
    """The mean square in each population."""

    @property
    def points(self) -> float:
        """Half the width of a 95 % interval, in percentage points."""
        return POINTS * self.error

    @property
    def named(self) -> float:
        """How often an observer names the pivot of a report: never where there is none."""
        return 0.0 if self.pivot_guess is None else self.pivot_guess

    def body(self) -> dict[str, Any]:
        own = {"pivot_guess": self.pivot_guess, "error": self.error, "percentage_points": self.points}
        return {**asdict(self.design), **own}


@dataclass(frozen=True)
class Adviser:
    """Somebody who knows the questions and which populations may answer them."""

    schema: Schema
    populations: Sequence[Population]

    def expect(self, question: Question) -> list[Expected]:
        """What every campaign is expected to score, the best first."""
        rows = []
        for offer in offers(self.schema, question):
            squares = tuple(max(offer.square(population), NO_ERROR) for population in self.populations)
            error = math.exp(sum(map(math.log, squares)) / len(squares) / 2)
            rows.append(Expected(offer.design, offer.pivot_guess, error, squares))
        if not rows:
            if question.pairs:
                raise CampaignError(
                    "two-way tables need two questions that a report can answer; ask more, or leave --pairs out"
                )
            raise CampaignError("no mechanism can ask these people these questions; ask more people, or merge answers")
        return sorted(rows, key=lambda row: row.error)

    def recommend(self, question: Question) -> Expected:
        return choose(self.expect(question), question.max_pivot_guess)

    def people_for(self, wanted: float, question: Question) -> int | None:
        """How many people a wanted error takes, with the campaign that is best for so many; None if too many."""
        found = self._smallest(wanted, lambda people: replace(question, people=round(people)), 1, MOST_PEOPLE)
        return None if found is None else round(found)

    def budget_for(self, wanted: float, question: Question) -> float | None:
        """Which budget a wanted error takes, with the campaign that is best for it; None if it is too large."""
        return self._smallest(wanted, lambda value: replace(question, epsilon=value), SMALLEST_EPSILON, MOST_EPSILON)

    def _smallest(self, wanted: float, ask: Callable[[float], Question], least: float, most: float) -> float | None:
        return smallest(lambda value: self.recommend(ask(value)).error <= wanted, least, most)

    def by_budget(self, question: Question) -> Curves:
        """Every mechanism's ± in percentage points around the budget that was asked about."""
        budgets = {min(max(question.epsilon * factor, SMALLEST_EPSILON), LARGEST_EPSILON) for factor in BUDGET_FACTORS}
        return self._curves((budget, replace(question, epsilon=budget)) for budget in sorted(budgets))

    def by_secrecy(self, question: Question) -> Curves:
        """Every mechanism's ± against how often an observer names the pivot."""
        least = 1 / len(self.schema.attributes)
        guesses = sorted({max(guess, least) for guess in GUESSES})
        found = self._curves((None, replace(question, max_pivot_guess=guess)) for guess in guesses)
        return {mechanism: [(max(guess, least), points) for guess, points in own] for mechanism, own in found.items()}

    def _curves(self, questions: Iterable[tuple[float | None, Question]]) -> Curves:
        """Every mechanism's ± at each x, which is its pivot guess if not given."""
        points: dict[str, dict[float, float]] = {}
        for x, question in questions:
            for row in best_of_each(self.expect(question)):
                points.setdefault(row.design.mechanism, {})[x or row.named] = row.points
        return {mechanism: list(errors.items()) for mechanism, errors in points.items()}


def recommend(
    schema: Schema,
    epsilon: float,
    people: int,
    *,
    max_pivot_guess: float = MAX_PIVOT_GUESS,
    pairs: bool = False,
) -> Expected:
    """The campaign to run with so many people if nothing is known about their answers, and the error to expect of it.

    `design(schema, epsilon, **recommend(…).design.options)` is its first plan.
    """
    question = Question(people, epsilon, max_pivot_guess, pairs)
    check_question(question)
    return Adviser(schema, list(prior_populations(schema).values())).recommend(question)


def check_question(question: Question) -> None:
    """Refuse what nobody can be asked."""
    check_epsilon(question.epsilon)
    people = question.people
    if isinstance(people, bool) or not isinstance(people, int) or not 1 <= people <= MOST_PEOPLE:
        raise CampaignError(f"the number of people must be a whole number between 1 and {MOST_PEOPLE:,}, got {people}")
    if not 0 < question.max_pivot_guess <= 1:
        raise CampaignError(f"{PIVOT_GUESS_BOUND} must be above 0 and at most 1, got {question.max_pivot_guess}")


def choose(rows: Sequence[Expected], max_pivot_guess: float) -> Expected:
    """The campaign that keeps the pivot as secret as was asked for and is least behind the best such campaign in the
    population where it is most behind. A second phase must earn its trouble.
    """
    # Whoever guesses blindly is right once in d times; no campaign with a pivot can have less.
    least = min(row.named for row in rows)
    if max_pivot_guess < least <= MAX_PIVOT_GUESS:
        raise CampaignError(
            f"{PIVOT_GUESS_BOUND} is {max_pivot_guess:g}, but blind guessing of the question is right {least:.1%} of "
            f"the time; choose at least {math.ceil(least * 1e4) / 1e4}"
        )
    secret = max(max_pivot_guess, least)
    allowed = [row for row in rows if row.named <= secret]
    trouble = [1.0 if row.design.phase1_share is None else SECOND_PHASE for row in allowed]
    behind = np.multiply(trouble, worst_ratios(allowed))
    return allowed[int(np.argmin(behind))]


def worst_ratios(rows: Sequence[Expected]) -> list[float]:
    """How far behind the best of these each is, in the population where it is most behind."""
    squares = np.array([row.by_population for row in rows])
    ratios: list[float] = (squares / squares.min(axis=0)).max(axis=1).tolist()
    return ratios


def best_of_each(rows: Sequence[Expected]) -> list[Expected]:
    """Every mechanism once, the best first."""
    best: dict[str, Expected] = {}
    for row in sorted(rows, key=lambda row: row.error):
        best.setdefault(row.design.mechanism, row)
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
