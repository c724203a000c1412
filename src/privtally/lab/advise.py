"""Which campaign to run, and what a wanted error would take, in closed form.

Of the campaigns of one phase that hide the question as well as was asked for, the one is recommended whose frequencies
have the least variance at uniform answers (`mechanisms.grouping`). What is stated is half the width of the 95 %
interval that an estimate will have.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from privtally.collector.together import Answers
from privtally.documents.campaign import Asking
from privtally.documents.estimate import NORMAL_95
from privtally.documents.plan import LARGEST_EPSILON, SMALLEST_EPSILON, check_epsilon
from privtally.errors import CampaignError, PlanError
from privtally.mechanisms.grouping import answer_variance, groups_by_number, hidden_variances
from privtally.mechanisms.mechanism import independent
from privtally.mechanisms.named import Groups
from privtally.mechanisms.together import Together, together
from privtally.names import HIDE_AMONG, HideAmong
from privtally.schema import Schema

MOST_PEOPLE = 10**12
BUDGET_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
SINGLE_SHARES = (0.0, 0.25, 0.5)
"""The shares of people asked a single question that are tried where two-way tables are wanted."""


@dataclass(frozen=True)
class Question:
    """What is asked: how many people, with which budget, among how many questions the one that is used shall be hidden,
    and whether two-way tables are wanted instead of the frequencies of each attribute.
    """

    people: int
    epsilon: float
    hide_among: HideAmong = HIDE_AMONG
    pairs: bool = False

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        if type(self.people) is not int or not 1 <= self.people <= MOST_PEOPLE:
            raise CampaignError(
                f"the number of people must be a whole number between 1 and {MOST_PEOPLE:,}, got {self.people}"
            )
        check_hide_among(self.hide_among)


def check_hide_among(among: HideAmong) -> None:
    """Refuse what is no number of questions."""
    if among != "all" and (type(among) is not int or among < 1):
        raise CampaignError(
            f"--hide-among (in Python hide_among) must be a whole number of questions from 1, or all, got {among}"
        )


def about_hiding(schema: Schema, among: HideAmong, design: Asking) -> str | None:
    """A sentence where a campaign hides the question among fewer questions than was asked for: there are no more."""
    many = len(schema.names)
    if among == "all" or among <= many or design.mechanism == "spl":
        return None
    return f"There are {many} questions in all, so that the one used is hidden among {many}, not among {among}."


@dataclass(frozen=True, repr=False)
class Advice:
    """A campaign and what to expect of it: for each question, or pair of questions, how many answers it has and the
    variance of their frequencies from one report.
    """

    design: Asking
    answers: Sequence[int]
    variances: Sequence[float]
    people: int
    single: "Advice | None" = None
    """What to expect of single questions, where two-way tables are wanted."""

    @property
    def variance(self) -> float:
        """The mean over questions, by which campaigns are compared; tables and single questions count alike."""
        mean = math.fsum(self.variances) / len(self.variances)
        return mean if self.single is None else math.sqrt(mean * self.single.variance)

    @property
    def points(self) -> float:
        """Half the width of a 95 % interval in percentage points, as the root mean square over all answers."""
        squares = (
            many * self._half_width(many, variance) ** 2
            for many, variance in zip(self.answers, self.variances, strict=True)
        )
        return 100 * math.sqrt(math.fsum(squares) / sum(self.answers))

    def _half_width(self, answers: int, variance: float) -> float:
        """That of an interval around an even share, cut to [0, 1]."""
        reach, share = NORMAL_95 * math.sqrt(variance / self.people), 1 / answers
        return (min(share + reach, 1) - max(share - reach, 0)) / 2

    def body(self) -> dict[str, Any]:
        alone = {} if self.single is None else {"percentage_points_of_single_questions": self.single.points}
        return {**self.design.options, "percentage_points": self.points, **alone}

    def __repr__(self) -> str:
        return f"Run {layout(self.design)}: expect ± {self.points:.2g} percentage points with {self.people:,} people"


def layout(design: Any) -> str:
    """What a report answers: the mechanism, and groups, pivots and decoys if there is something to say about them."""
    options = design.options
    words: list[str] = [options["mechanism"]]
    if options["groups"] is not None and len(options["groups"]) > 1:
        words.append(f"{len(options['groups'])} groups")
    if options["pivots"] > 1:
        words.append(f"{options['pivots']} questions a report")
    if options.get("single"):
        words.append(f"{100 * options['single']:g} % of the people asked a single question")
    if options["decoys"]:
        words.append("1 decoy" if options["decoys"] == 1 else f"{options['decoys']} decoys")
    return ", ".join(words)


def shape(text: str) -> Schema | None:
    """The schema that a shape means: "4x3" is four questions of three answers; None if it is none."""
    found = re.fullmatch(r"([1-9][0-9]{0,3})[x×]([1-9][0-9]{0,4})", text)
    if found is None:
        return None
    questions, answers = map(int, found.groups())
    return Schema({f"question {place}": range(1, answers + 1) for place in range(1, questions + 1)})


def recommend(
    schema: Schema,
    epsilon: float,
    people: int,
    *,
    hide_among: HideAmong = HIDE_AMONG,
    pairs: bool = False,
) -> Advice:
    """The campaign to run with so many people, and the ± to expect of it.

    `recommend(…).design.first_plan(schema, epsilon)` is its plan. With fewer questions than `hide_among` it hides the
    one used among all of them; `about_hiding` says so.
    """
    return best(schema, Question(people, epsilon, hide_among, pairs))


def best(schema: Schema, question: Question) -> Advice:
    """The campaign with the least variance of those that hide the question as well as was asked for."""
    return min(ways(schema, question), key=lambda way: way.variance)


def ways(schema: Schema, question: Question) -> list[Advice]:
    """The best campaign with each number of groups; for two-way tables every one whose reports have both answers."""
    found = list((_pairs if question.pairs else _frequencies)(schema, question))
    if not found:
        raise CampaignError(
            "two-way tables need two questions, and an ε that all of them can share; ask more, or leave --pairs out"
        )
    return found


def people_for(schema: Schema, question: Question, points: float) -> int | None:
    """How many people a wanted ± takes; None if too many."""
    way = best(schema, question)
    found = smallest(lambda people: replace(way, people=round(people)).points <= points, 1, MOST_PEOPLE)
    return None if found is None else round(found)


def budget_for(schema: Schema, question: Question, points: float) -> float | None:
    """Which budget a wanted ± takes, with the campaign that is best for it; None if it is too large."""
    return smallest(
        lambda epsilon: best(schema, replace(question, epsilon=epsilon)).points <= points,
        SMALLEST_EPSILON,
        LARGEST_EPSILON,
    )


def by_budget(schema: Schema, question: Question) -> dict[HideAmong, list[tuple[float, float]]]:
    """The ± around the budget that was asked about, if a report says which question it answers, hides it as was asked
    for, or shows all.
    """
    budgets = {min(max(question.epsilon * factor, SMALLEST_EPSILON), LARGEST_EPSILON) for factor in BUDGET_FACTORS}
    curves: dict[HideAmong, list[tuple[float, float]]] = {1: [], question.hide_among: [], "all": []}
    for among, curve in curves.items():
        for epsilon in sorted(budgets):
            curve.append((epsilon, best(schema, replace(question, epsilon=epsilon, hide_among=among)).points))
    return curves


def _frequencies(schema: Schema, question: Question) -> Iterator[Advice]:
    among = len(schema.sizes) if question.hide_among == "all" else question.hide_among
    sizes, epsilon = schema.sizes, Fraction(question.epsilon)
    for _, groups in groups_by_number(sizes, epsilon, among).values():
        variances = hidden_variances(sizes, epsilon, groups, among)
        yield Advice(_design(schema, groups, among), sizes, variances, question.people)


def _design(schema: Schema, groups: Groups, among: int | None) -> Asking:
    if len(groups) == len(schema.sizes):
        return Asking("spl")
    names = tuple(tuple(schema.names[own] for own in group) for group in groups) if len(groups) > 1 else None
    if among == 1:
        return Asking("smp", names)
    return Asking("rs-fd", names, decoys=None if among is None or among >= max(map(len, groups)) else among - 1)


def _pairs(schema: Schema, question: Question) -> Iterator[Advice]:
    """The campaigns whose reports hold two answers. Reports of pairs say which they answer: `hide_among` is not asked.

    With spl, at uniform answers, the second moment of a cell is the product of those of the two attributes' labels.
    """
    sizes, epsilon = schema.sizes, Fraction(question.epsilon)
    if len(sizes) < 2:
        return
    places = list(combinations(range(len(sizes)), 2))
    cells = [sizes[one] * sizes[two] for one, two in places]

    def advice(design: Asking, variances: Sequence[float], single: Sequence[float]) -> Advice:
        alone = Advice(design, sizes, single, question.people)
        return Advice(design, cells, variances, question.people, alone)

    with suppress(PlanError):  # a budget that 64-bit weights cannot realise
        single = [answer_variance(epsilon / len(sizes), size) for size in sizes]
        moments = [variance + size**-2 for variance, size in zip(single, sizes, strict=True)]
        squares = [moments[one] * moments[two] for one, two in places]
        yield advice(Asking("spl"), [each - size**-2 for each, size in zip(squares, cells, strict=True)], single)
    for share in SINGLE_SHARES:
        with suppress(PlanError):  # too many answers or questions
            mechanism = together(sizes, epsilon, single=share).build(sizes, epsilon)
            yield advice(Asking("pairs", single=share or None), *_together_variances(mechanism, places))


def _together_variances(mechanism: Together, places: Sequence[tuple[int, int]]) -> tuple[list[float], list[float]]:
    """The variances of the cells of each table, and of each question, from one report at uniform answers."""
    (law,) = mechanism.expect(independent([np.full(size, 1 / size) for size in mechanism.sizes]))
    answers = Answers(mechanism, law * MOST_PEOPLE)
    by_kind: dict[tuple[int, int], float] = {}  # tables of the same numbers of labels vary alike
    for one, two in places:
        kind = (mechanism.sizes[one], mechanism.sizes[two])
        if kind not in by_kind:
            table = answers.table(one, two)
            by_kind[kind] = math.inf if table is None else float(table.variances.mean()) * MOST_PEOPLE
    single = [float(answers.covariance(place, place).diagonal().mean()) for place in range(len(mechanism.sizes))]
    cells = [by_kind[mechanism.sizes[one], mechanism.sizes[two]] for one, two in places]
    return cells, [variance * MOST_PEOPLE for variance in single]


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
