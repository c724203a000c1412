"""Which mechanism and method would do best on a table of one's own: simulated campaigns, the product's own estimators.

Every campaign goes through `learn` and `estimate` as a real one would; only the counts are sampled without users,
exactly, wherever the table of different records is small enough for that.
"""

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from privtally.collector.estimate import Phase, estimate
from privtally.collector.learn import learn
from privtally.collector.simplex import project_to_simplex
from privtally.documents.campaign import phase1_people
from privtally.documents.plan import design
from privtally.errors import CampaignError, EstimateError
from privtally.lab.collectors import Collector, Exact, People, UserByUser
from privtally.lab.paper.experiment import mean_squared_error
from privtally.lab.parallel import run_jobs
from privtally.lab.seed import seeded
from privtally.lab.variants import Variant, learns
from privtally.names import MAX_PIVOT_GUESS, METHODS, RULES, MechanismName, Method, Rule
from privtally.schema import Records, Schema

EXACT_CELLS, EXACT_LABELS = 1 << 16, 256
"""Schemas with more possible records, or with more labels in one attribute, are simulated user by user."""
MOST_ANSWERS_ONE_BY_ONE = 20_000_000
"""So many answers, people times attributes, take about a gigabyte."""

SIMPLEX = "+simplex"
ALL_METHODS = ("pooled", "unbiased", "unbiased" + SIMPLEX, "paper", "paper" + SIMPLEX)
"""The pooled estimate is a proper distribution as it stands."""


@dataclass(frozen=True)
class Comparison:
    """The mean squared error of one variant under one method at one budget."""

    mechanism: MechanismName
    rule: Rule | None
    method: str
    epsilon: float
    mse: float
    standard_error: float | None
    without_answer: int = 0
    """Runs whose reports could not be estimated from, scored as if every label were equally likely."""

    def body(self) -> dict[str, Any]:
        """The comparison as plain values."""
        body = asdict(self)
        del body["without_answer"]
        return body


@dataclass(frozen=True)
class Study:
    """What is compared: people, budgets, and how often each campaign is run."""

    records: Records
    phase1_share: float
    runs: int
    seed: int
    users: int | None = None
    max_pivot_guess: float = MAX_PIVOT_GUESS

    @property
    def people(self) -> int:
        """How many people each campaign asks."""
        return self.users or len(self.records)


def check_possible(study: Study, mechanism: MechanismName, epsilon: float) -> None:
    """Refuse a mechanism that cannot ask these people these questions."""
    design(study.records.schema, epsilon, mechanism)
    if learns(mechanism):
        phase1_people(study.people, study.phase1_share)
    schema = study.records.schema
    most = MOST_ANSWERS_ONE_BY_ONE // len(schema.attributes)
    if not _exactly(schema) and study.people > most:
        raise CampaignError(
            "with so many possible records people are simulated one by one, "
            f"at most {most:,} of them; ask for fewer, or merge labels"
        )


def _exactly(schema: Schema) -> bool:
    """Whether counts can be sampled without users."""
    return math.prod(schema.sizes) <= EXACT_CELLS and max(schema.sizes) <= EXACT_LABELS


def compare(
    study: Study,
    chosen: Sequence[Variant],
    epsilons: Sequence[float],
    methods: Sequence[str],
    *,
    workers: int,
    advance: Callable[[int], None],
) -> list[Comparison]:
    """Every variant under every method at every budget, the best first; the seed alone decides every number."""
    jobs = [(study, variant, epsilon, tuple(methods)) for epsilon in epsilons for variant in chosen]
    found = run_jobs(study_variant, jobs, workers, advance)
    rows = [row for rows in found for row in rows]
    return sorted(rows, key=lambda row: (row.epsilon, row.mse))


def study_variant(study: Study, variant: Variant, epsilon: float, methods: Sequence[str]) -> list[Comparison]:
    """One variant at one budget: all its runs, under every method."""
    errors: dict[str, list[float]] = {method: [] for method in methods}
    without_answer = 0
    for phases, truth in _campaigns(study, variant, epsilon):
        answered = True
        for method in METHODS:
            if method in errors or method + SIMPLEX in errors:
                answered &= _score(errors, phases, method, truth)
        without_answer += not answered
    return [
        Comparison(variant.mechanism, variant.rule, method, epsilon, *_mean_and_error(errors[method]), without_answer)
        for method in methods
    ]


def _score(errors: dict[str, list[float]], phases: list[Phase], method: Method, truth: Sequence[Any]) -> bool:
    """Add a run's errors; False if there was no estimate and the guess "all labels alike" was scored."""
    try:
        attributes = estimate(phases, method).attributes.values()
        found, answered = [np.array(attribute.frequencies) for attribute in attributes], True
    except EstimateError:
        found, answered = [np.full(len(values), 1 / len(values)) for values in truth], False
    if method in errors:
        errors[method].append(float(mean_squared_error(found, truth)))
    if method + SIMPLEX in errors:
        errors[method + SIMPLEX].append(float(mean_squared_error(list(map(project_to_simplex, found)), truth)))
    return answered


def _mean_and_error(values: Sequence[float]) -> tuple[float, float | None]:
    spread = float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None
    return float(np.mean(values)), spread


def _campaigns(study: Study, variant: Variant, epsilon: float) -> Iterator[tuple[list[Phase], list[Any]]]:
    """The phases of each run's campaign, and the true frequencies of the people in it."""
    name = f"{study.seed} {variant} {epsilon!r}"
    digest = hashlib.sha256(name.encode()).digest()
    if _exactly(study.records.schema):
        exact = Exact(study.records, study.users, np.random.default_rng(int.from_bytes(digest)))
        return _run(exact, study, variant, epsilon)
    return _run(UserByUser(study.records, study.users, int.from_bytes(digest[:8])), study, variant, epsilon)


def _run(
    collector: Collector[People], study: Study, variant: Variant, epsilon: float
) -> Iterator[tuple[list[Phase], list[Any]]]:
    first = design(study.records.schema, epsilon, variant.mechanism, source=seeded(study.seed))
    for _ in range(study.runs):
        if not learns(variant.mechanism):
            people = collector.everybody()
            yield [(first, collector.count(first, people))], collector.truth(people)
            continue
        people_1, people_2 = collector.phases(phase1_people(study.people, study.phase1_share))
        counts = collector.count(first, people_1)
        users = study.people - counts.reports
        second = learn(
            [(first, counts)],
            rule=variant.rule or RULES[0],
            people=users,
            max_pivot_guess=study.max_pivot_guess,
        )
        yield [(first, counts), (second, collector.count(second, people_2))], collector.truth(people_1, people_2)
