"""Which campaign to run, and what a wanted error would take.

The campaign is recommended that is never far behind the best, over populations of a stated prior (`lab/prior`) or over
pilot data.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from privtally.collector.learn.rules import USUAL_PHASE1_SHARE
from privtally.documents.plan import LARGEST_EPSILON, SMALLEST_EPSILON
from privtally.lab.expectation import COMPARED, DRAWS, LOOKED_AT, Expectation, Expected, Question, refusal
from privtally.names import TWO_PHASE, MechanismName
from privtally.schema import Records

Curves = Mapping[str, Sequence[tuple[float, float]]]

HIDDEN = tuple(mechanism for mechanism in COMPARED if mechanism != "smp")
"""What may be recommended while the pivot is to stay hidden: how well it can be guessed is bounded beforehand."""
SECOND_PHASE = 1.03
"""How much further behind the best a campaign of one phase may be than one of two to be preferred to it."""
BUDGET_FACTORS, GUESSES = (0.25, 0.5, 1.0, 2.0, 4.0), (0.3, 0.5, 0.7, 0.85, 1.0)
MOST_PEOPLE, MOST_EPSILON = 1_000_000, 16.0
_STEPS = 8


def recommend(rows: Sequence[Expected], question: Question) -> Expected:
    """The campaign that keeps the pivot as secret as was asked for and is least behind the best such campaign in the
    population where it is most behind, estimated by the default method.

    A second phase must earn its trouble. SMP says which answer it gives; where it may, another campaign must be better
    in every population to be preferred.
    """
    pooled = [row for row in rows if row.method == LOOKED_AT]
    hidden = [row for row in pooled if row.mechanism in HIDDEN]
    known = next((row for row in pooled if row.mechanism == "smp"), None)
    if question.max_pivot_guess >= 1 and known is not None:
        squares = known.by_population
        better = (all(a < b for a, b in zip(row.by_population, squares, strict=True)) for row in hidden)
        hidden = [known, *(row for row, holds in zip(hidden, better, strict=True) if holds)]

    def by_trouble(ratio_and_row: tuple[float, Expected]) -> tuple[float, int]:
        """To three digits, and then by the order in which mechanisms are named: rounding decides nothing."""
        ratio, row = ratio_and_row
        trouble = SECOND_PHASE if row.mechanism in TWO_PHASE else 1.0
        return round(trouble * ratio, 3), COMPARED.index(row.mechanism)

    return min(zip(worst_ratios(hidden), hidden, strict=True), key=by_trouble)[1]


def worst_ratios(rows: Sequence[Expected]) -> list[float]:
    """How far behind the best of these each is, in the population where it is most behind."""
    best = [min(squares) for squares in zip(*(row.by_population for row in rows), strict=True)]
    return [max(square / least for square, least in zip(row.by_population, best, strict=True)) for row in rows]


def needed(
    people: Sequence[Records], question: Question, wanted: float, *, workers: int
) -> tuple[int | None, float | None]:
    """How many people, or else which budget, a wanted error needs, with the campaign that is best there; None where
    nothing does.
    """

    def error(users: int, epsilon: float) -> float:
        asked = replace(question, users=users, epsilon=epsilon)
        rows = _pooled(people, asked, COMPARED, workers)
        return recommend(rows, asked).error

    users = _search(lambda x: error(round(x), question.epsilon), wanted, 100, MOST_PEOPLE, question.users)
    epsilon = _search(lambda x: error(question.users, x), wanted, 0.01, MOST_EPSILON, question.epsilon)
    return None if users is None else round(users), epsilon


def by_budget(people: Sequence[Records], question: Question, workers: int) -> Curves:
    """Errors of what may be recommended, and of SMP, around the budget that was asked about."""
    curves: dict[str, list[tuple[float, float]]] = {}
    budgets = {min(max(question.epsilon * factor, SMALLEST_EPSILON), LARGEST_EPSILON) for factor in BUDGET_FACTORS}
    for budget in sorted(budgets):
        asked = replace(question, epsilon=budget)
        for mechanism, error in _pooled_errors(people, asked, COMPARED, workers).items():
            curves.setdefault(mechanism, []).append((budget, error))
    return curves


def by_secrecy(people: Sequence[Records], question: Question, workers: int) -> Curves:
    """Errors against how often an observer may name the pivot: Corr-RR at several bounds, the others at theirs."""
    least = 1 / len(people[0].schema.attributes)
    others = _pooled_errors(people, question, ("spl", "rs-fd", "smp"), workers)
    curves = {mechanism: [(1.0 if mechanism == "smp" else least, error)] for mechanism, error in others.items()}
    if refusal(people[0], question, "corr-rr") is None:
        guesses = sorted({least, *(guess for guess in GUESSES if guess > least)})
        asked = [replace(question, max_pivot_guess=guess) for guess in guesses]
        errors = [_pooled_errors(people, each, ["corr-rr"], workers)["corr-rr"] for each in asked]
        curves["corr-rr"] = list(zip(guesses, errors, strict=True))
    return curves


def _pooled_errors(
    people: Sequence[Records], question: Question, mechanisms: Sequence[MechanismName], workers: int
) -> dict[str, float]:
    """The default method's error of each of these mechanisms that fits."""
    return {row.mechanism: row.error for row in _pooled(people, question, mechanisms, workers)}


def _pooled(
    people: Sequence[Records], question: Question, mechanisms: Sequence[MechanismName], workers: int
) -> list[Expected]:
    """With one share of Phase I, and less noise drawn: all questions are answered with the same."""
    asked = replace(question, runs=max(1, question.runs // DRAWS))
    methods, shares = [LOOKED_AT], [USUAL_PHASE1_SHARE]
    return Expectation(people, asked, mechanisms=mechanisms, methods=methods, shares=shares).rows(workers)


def _search(error: Callable[[float], float], wanted: float, least: float, most: float, start: float) -> float | None:
    """The smallest value with at most the wanted error, to about a tenth: errors fall as the value grows."""
    low, high = math.log(min(least, start)), math.log(max(most, start))
    if error(math.exp(high)) > wanted:
        return None
    middle = math.log(start)
    for _ in range(_STEPS):
        if error(math.exp(middle)) <= wanted:
            high = middle
        else:
            low = middle
        middle = (low + high) / 2
    return _rounded_up(math.exp(high))


def _rounded_up(value: float) -> float:
    """Two digits, and not less than before."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return math.ceil(value / step - 1e-9) * step
