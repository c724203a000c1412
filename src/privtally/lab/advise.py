"""Which campaign to run: campaigns over a stated prior of populations, or over pilot data.

Without pilot data nothing is known about the answers, so several kinds of populations are drawn, and the campaign is
recommended that is never far behind the best. Errors are stated as their geometric mean over the populations: no kind
counts for more because its errors are larger.

The default method's errors of what may be recommended are looked ahead to with the same noise for all (`lab/outlook`);
the others are simulated report by report.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from privtally.errors import CampaignError, PrivtallyError
from privtally.estimation.pooled import MOST_LABELS
from privtally.lab.compare import Comparison, Study, Variant, check_possible, study_variant
from privtally.lab.outlook import Attempt, Outlook, look_ahead
from privtally.lab.parallel import run_jobs
from privtally.learning import USUAL_PHASE1_SHARE
from privtally.names import MECHANISMS, TWO_PHASE, MechanismName
from privtally.plan import LARGEST_EPSILON, SMALLEST_EPSILON
from privtally.schema import Records, Schema

Curves = Mapping[str, Sequence[tuple[float, float]]]

SHARES = (0.05, 0.1, 0.2)
"""The shares of people in Phase I that are tried for a recommendation."""
LOOKED_AT = "pooled"
METHODS = (LOOKED_AT, "unbiased+simplex", "paper+simplex")
HIDDEN: tuple[MechanismName, ...] = ("spl", "rs-fd", "corr-rr")
"""What may be recommended while the pivot is to stay hidden: how well it can be guessed is bounded beforehand."""
COMPARED: tuple[MechanismName, ...] = (*HIDDEN, "smp")
"""What is compared with the same noise."""
SECOND_PHASE = 1.03
"""How much further behind the best a campaign of one phase may be than one of two to be preferred to it."""
LOOKS = 4
"""How often pilot data are looked at, where there is no other population."""
DRAWS = 4
"""How many times as often noise is drawn in each as campaigns are simulated."""
PRIOR_PEOPLE = 20_000
ENOUGH_LABELS = 16
"""With fewer labels in all, errors vary more from campaign to campaign, and more campaigns are run in proportion."""

PRIOR = (
    "uniform: every label of every attribute alike; "
    "alike: one draw from Dirichlet(1) for all attributes with the same labels; "
    "similar: each attribute from Dirichlet(20 × such a draw); "
    "unlike: each attribute its own draw from Dirichlet(1)"
)
_KINDS = ("uniform", "alike", "alike", "similar", "similar", "unlike", "unlike", "unlike")


@dataclass(frozen=True)
class Question:
    """What is asked: how many people, with which budget, how secret the pivot, and how hard to think about it."""

    users: int
    epsilon: float
    max_pivot_guess: float
    runs: int
    seed: int


@dataclass(frozen=True)
class Expected:
    """The error that a mechanism has under a method with a share of people in Phase I: the root of the mean square."""

    mechanism: MechanismName
    method: str
    phase1_share: float | None
    error: float
    by_population: tuple[float, ...]
    """The mean square in each population."""

    def body(self) -> dict[str, Any]:
        """Plain values."""
        body = asdict(self)
        del body["by_population"]
        return body


def populations(schema: Schema, seed: int) -> list[Records]:
    """People of the prior's kinds, their answers independent."""
    generator = np.random.default_rng(seed)
    return [_draw(schema, kind, generator) for kind in _KINDS]


def _draw(schema: Schema, kind: str, generator: np.random.Generator) -> Records:
    shared = {attribute.labels: generator.dirichlet(np.ones(attribute.size)) for attribute in schema.attributes}
    columns = []
    for attribute in schema.attributes:
        match kind:
            case "uniform":
                law = np.full(attribute.size, 1 / attribute.size)
            case "alike":
                law = shared[attribute.labels]
            case "similar":
                law = generator.dirichlet(20 * shared[attribute.labels] + 1e-3)
            case _:
                law = generator.dirichlet(np.ones(attribute.size))
        columns.append(generator.choice(attribute.size, PRIOR_PEOPLE, p=law))
    return Records(schema, np.column_stack(columns))


Simulation = tuple[Study, Variant, float, tuple[str, ...]]
Look = tuple[Records, Outlook, Sequence[Attempt]]


@dataclass(frozen=True)
class Work:
    """What there is to do to compare campaigns: a simulation of each in every population, and looks at all of them."""

    simulated: Mapping[Attempt, Sequence[Simulation]]
    ahead: Sequence[Attempt]
    looks: Sequence[Look]

    def __len__(self) -> int:
        return sum(map(len, self.simulated.values())) + len(self.looks)


def plan_work(
    people: Sequence[Records],
    question: Question,
    mechanisms: Sequence[MechanismName] = MECHANISMS,
    methods: Sequence[str] = METHODS,
    shares: Sequence[float] = SHARES,
) -> Work:
    """Every mechanism that fits the schema under every method."""
    tried = attempts(people[0], question, mechanisms, shares)
    small = sum(people[0].schema.sizes) <= MOST_LABELS
    ahead = [each for each in tried if each[0] in COMPARED and small and LOOKED_AT in methods]
    simulated = {}
    for mechanism, share in tried:
        left = tuple(method for method in methods if method != LOOKED_AT or (mechanism, share) not in ahead)
        if left:
            simulated[mechanism, share] = [
                (_study(records, question, place, share), _variant(mechanism), question.epsilon, left)
                for place, records in enumerate(people)
            ]
    often = LOOKS // len(people) or 1
    draws = DRAWS * _more_often(people[0].schema, question.runs)
    asked = (question.users, question.epsilon, question.max_pivot_guess, draws)
    looks = [
        (records, Outlook(*asked, _stream(question.seed, place, time)), ahead)
        for place, records in enumerate(people)
        for time in range(often)
    ]
    return Work(simulated, ahead, looks if ahead else [])


def expect(
    people: Sequence[Records],
    question: Question,
    *,
    mechanisms: Sequence[MechanismName] = MECHANISMS,
    methods: Sequence[str] = METHODS,
    shares: Sequence[float] = SHARES,
    workers: int = 1,
    advance: Callable[[int], None],
) -> list[Expected]:
    """What every mechanism that fits the schema is expected to score under every method with every share of Phase I,
    the best first.
    """
    work = plan_work(people, question, mechanisms, methods, shares)
    jobs = [job for jobs in work.simulated.values() for job in jobs]
    found: list[list[Comparison]] = run_jobs(study_variant, jobs, workers, advance)
    looked: list[list[float]] = run_jobs(look_ahead, work.looks, workers, lambda done: advance(len(jobs) + done))
    rows: list[Expected] = []
    for (mechanism, share), own in work.simulated.items():
        part, found = found[: len(own)], found[len(own) :]
        rows += [
            _expected(mechanism, row[0].method, share, [each.mse for each in row]) for row in zip(*part, strict=True)
        ]
    means = np.reshape(looked, (len(people), -1, len(work.ahead))).mean(axis=1) if looked else np.empty((0, 0))
    for (mechanism, share), squares in zip(work.ahead, means.T, strict=True):
        rows.append(_expected(mechanism, LOOKED_AT, share, squares.tolist()))
    return sorted(rows, key=lambda row: row.error)


def at_best_share(rows: Sequence[Expected]) -> list[Expected]:
    """Every mechanism and method once, the best first."""
    best: dict[tuple[str, str], Expected] = {}
    for row in sorted(rows, key=lambda row: row.error):
        best.setdefault((row.mechanism, row.method), row)
    return list(best.values())


def _expected(mechanism: MechanismName, method: str, share: float | None, errors: Sequence[float]) -> Expected:
    squares = tuple(max(each, NO_ERROR) for each in errors)
    return Expected(mechanism, method, share, math.exp(float(np.mean(np.log(squares))) / 2), squares)


def attempts(
    records: Records, question: Question, mechanisms: Sequence[MechanismName], shares: Sequence[float]
) -> list[Attempt]:
    """Every mechanism that can ask these people these questions, with every share of Phase I."""
    tried: list[Attempt] = []
    for mechanism in mechanisms:
        if fits(records, question, mechanism):
            tried += [(mechanism, share) for share in (shares if mechanism in TWO_PHASE else (None,))]
    if not tried:
        raise CampaignError("no mechanism can ask these people these questions")
    return tried


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
    best: list[float] = [min(squares) for squares in zip(*(row.by_population for row in hidden), strict=True)]

    def behind(row: Expected) -> tuple[float, int]:
        """To three digits, and then by the order in which mechanisms are named: rounding decides nothing."""
        trouble = SECOND_PHASE if row.mechanism in TWO_PHASE else 1.0
        worst = max(trouble * square / least for square, least in zip(row.by_population, best, strict=True))
        return round(worst, 3), COMPARED.index(row.mechanism)

    return min(hidden, key=behind)


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
    if fits(people[0], question, "corr-rr"):
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
    return expect(
        people,
        replace(question, runs=max(1, question.runs // DRAWS)),
        mechanisms=mechanisms,
        methods=[LOOKED_AT],
        shares=[USUAL_PHASE1_SHARE],
        workers=workers,
        advance=lambda _: None,
    )


BUDGET_FACTORS, GUESSES = (0.25, 0.5, 1.0, 2.0, 4.0), (0.3, 0.5, 0.7, 0.85, 1.0)
MOST_PEOPLE, MOST_EPSILON = 1_000_000, 16.0
NO_ERROR = 1e-12
"""A campaign can be exactly right, where everybody answers alike; logarithms need more than 0."""
_STEPS = 8


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


def fits(records: Records, question: Question, mechanism: MechanismName) -> bool:
    """Whether the mechanism can ask these people these questions."""
    try:
        for share in SHARES:
            check_possible(_study(records, question, 0, share), mechanism, question.epsilon)
    except PrivtallyError:
        return False
    return True


def _variant(mechanism: MechanismName) -> Variant:
    return Variant(mechanism, "robust" if mechanism == "corr-rr" else None)


def _study(records: Records, question: Question, place: int, share: float | None) -> Study:
    return Study(
        records,
        share or SHARES[0],
        _more_often(records.schema, question.runs),
        question.seed + place,
        question.users,
        max_pivot_guess=question.max_pivot_guess,
    )


def _stream(seed: int, place: int, time: int) -> int:
    """A seed of its own for each population and look."""
    return int(np.random.SeedSequence([seed, place, time]).generate_state(1, np.uint64)[0])


def _more_often(schema: Schema, runs: int) -> int:
    return runs * max(1, ENOUGH_LABELS // sum(schema.sizes))
