"""What error to expect of every mechanism and method, in populations that are given.

The default method's errors of the campaigns that are compared are looked ahead to with the same noise for all
(`lab/outlook`); the others are simulated report by report. Errors are stated as their geometric mean over the
populations: no population counts for more because its errors are larger.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from privtally.collector.estimate.pooled import MOST_LABELS
from privtally.errors import CampaignError, PrivtallyError
from privtally.lab.compare import Comparison, Study, Variant, check_possible, study_variant
from privtally.lab.outlook import Attempt, Outlook, look_ahead
from privtally.lab.parallel import run_jobs
from privtally.names import MECHANISMS, TWO_PHASE, MechanismName
from privtally.schema import Records, Schema

SHARES = (0.05, 0.1, 0.2)
"""The shares of people in Phase I that are tried."""
LOOKED_AT = "pooled"
METHODS = (LOOKED_AT, "unbiased+simplex", "paper+simplex")
COMPARED: tuple[MechanismName, ...] = ("spl", "rs-fd", "corr-rr", "smp")
"""What is compared with the same noise."""
LOOKS = 4
"""How often pilot data are looked at, where there is no other population."""
DRAWS = 4
"""How many times as often noise is drawn in each as campaigns are simulated."""
ENOUGH_LABELS = 16
"""With fewer labels in all, errors vary more from campaign to campaign, and more campaigns are run in proportion."""
NO_ERROR = 1e-12
"""A campaign can be exactly right, where everybody answers alike; logarithms need more than 0."""


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


Simulation = tuple[Study, Variant, float, tuple[str, ...]]
Look = tuple[Records, Outlook, Sequence[Attempt]]


class Expectation:
    """Every mechanism that fits the schema under every method with every share of Phase I: what there is to simulate
    and to look at, and what comes of it.
    """

    def __init__(
        self,
        people: Sequence[Records],
        question: Question,
        *,
        mechanisms: Sequence[MechanismName] = MECHANISMS,
        methods: Sequence[str] = METHODS,
        shares: Sequence[float] = SHARES,
    ) -> None:
        self._populations = len(people)
        tried = _attempts(people[0], question, mechanisms, shares)
        small = sum(people[0].schema.sizes) <= MOST_LABELS
        self._ahead = [each for each in tried if each[0] in COMPARED and small and LOOKED_AT in methods]
        self._looks = _looks(people, question, self._ahead) if self._ahead else []
        self._simulated: dict[Attempt, list[Simulation]] = {}
        for mechanism, share in tried:
            left = tuple(method for method in methods if method != LOOKED_AT or (mechanism, share) not in self._ahead)
            if left:
                self._simulated[mechanism, share] = [
                    (_study(records, question, place, share), _variant(mechanism), question.epsilon, left)
                    for place, records in enumerate(people)
                ]

    @property
    def steps(self) -> int:
        """How many steps of work there are, for a progress bar."""
        return sum(map(len, self._simulated.values())) + len(self._looks)

    def rows(self, workers: int = 1, advance: Callable[[int], None] = lambda _: None) -> list[Expected]:
        """What each is expected to score, the best first; `advance` is told how many steps are done."""
        jobs = [job for jobs in self._simulated.values() for job in jobs]
        found: list[list[Comparison]] = run_jobs(study_variant, jobs, workers, advance)
        looked: list[list[float]] = run_jobs(look_ahead, self._looks, workers, lambda done: advance(len(jobs) + done))
        rows: list[Expected] = []
        for (mechanism, share), own in self._simulated.items():
            part, found = found[: len(own)], found[len(own) :]
            rows += [
                _expected(mechanism, row[0].method, share, [each.mse for each in row])
                for row in zip(*part, strict=True)
            ]
        shape = (self._populations, -1, len(self._ahead))
        means = np.reshape(looked, shape).mean(axis=1) if looked else np.empty((0, 0))
        for (mechanism, share), squares in zip(self._ahead, means.T, strict=True):
            rows.append(_expected(mechanism, LOOKED_AT, share, squares.tolist()))
        return sorted(rows, key=lambda row: row.error)


def _looks(people: Sequence[Records], question: Question, attempts: Sequence[Attempt]) -> list[Look]:
    often = LOOKS // len(people) or 1
    draws = DRAWS * _more_often(people[0].schema, question.runs)
    asked = (question.users, question.epsilon, question.max_pivot_guess, draws)
    return [
        (records, Outlook(*asked, _stream(question.seed, place, time)), attempts)
        for place, records in enumerate(people)
        for time in range(often)
    ]


def at_best_share(rows: Sequence[Expected]) -> list[Expected]:
    """Every mechanism and method once, the best first."""
    best: dict[tuple[str, str], Expected] = {}
    for row in sorted(rows, key=lambda row: row.error):
        best.setdefault((row.mechanism, row.method), row)
    return list(best.values())


def _expected(mechanism: MechanismName, method: str, share: float | None, errors: Sequence[float]) -> Expected:
    squares = tuple(max(each, NO_ERROR) for each in errors)
    return Expected(mechanism, method, share, math.exp(float(np.mean(np.log(squares))) / 2), squares)


def _attempts(
    records: Records, question: Question, mechanisms: Sequence[MechanismName], shares: Sequence[float]
) -> list[Attempt]:
    """Every mechanism that can ask these people these questions, with every share of Phase I."""
    tried: list[Attempt] = []
    refusals = {mechanism: refusal(records, question, mechanism) for mechanism in mechanisms}
    for mechanism, refused in refusals.items():
        if refused is None:
            tried += [(mechanism, share) for share in (shares if mechanism in TWO_PHASE else (None,))]
    if not tried:
        mechanism, refused = next(iter(refusals.items()))
        raise CampaignError(f"no mechanism can ask these people these questions ({mechanism}: {refused})")
    return tried


def refusal(records: Records, question: Question, mechanism: MechanismName) -> PrivtallyError | None:
    """Why the mechanism cannot ask these people these questions, if it cannot."""
    try:
        for share in SHARES:
            check_possible(_study(records, question, 0, share), mechanism, question.epsilon)
    except PrivtallyError as error:
        return error
    return None


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
