"""Which mechanism and method would do best on a table of one's own: simulated campaigns, the product's own estimators.

Every campaign goes through `learn` and `estimate` as a real one would; only the counts are sampled without users,
exactly, wherever the table of different records is small enough for that.
"""

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from privtally.collector.estimate import Phase, estimate
from privtally.collector.learn import learn
from privtally.collector.simplex import project_to_simplex
from privtally.collector.tally import count, count_times
from privtally.documents.campaign import phase1_people
from privtally.documents.counts import Counts
from privtally.documents.estimate import NORMAL_95
from privtally.documents.plan import Plan, design
from privtally.documents.sub_reports import SubReports, add_up, distinct
from privtally.errors import CampaignError, EstimateError
from privtally.exact.arrays import Floats
from privtally.exact.source import Source
from privtally.lab.paper.experiment import mean_squared_error
from privtally.lab.parallel import run_jobs
from privtally.lab.seed import seeded
from privtally.lab.simulate import simulate
from privtally.lab.variants import Names, Variant
from privtally.mechanisms import NAMED
from privtally.names import METHODS, MechanismName, Method, Rule
from privtally.participant.respond import respond_many
from privtally.schema import Records, Schema, code_type

EXACT_CELLS, EXACT_LABELS = 1 << 16, 256
"""Schemas with more possible records, or with more labels in one attribute, are simulated user by user."""
MOST_ANSWERS_ONE_BY_ONE = 20_000_000
"""So many answers, people times attributes, take about a gigabyte."""

POINTS = 100 * NORMAL_95
"""Half the width of a 95 % interval in percentage points, for a standard error of 1."""
NO_ERROR = 1e-24
"""Logarithms need more than 0."""
SIMPLEX = "+simplex"
ALL_METHODS = ("likelihood", "unbiased", "unbiased" + SIMPLEX, "paper", "paper" + SIMPLEX)
"""The likelihood estimate is a proper distribution as it stands."""


@dataclass(frozen=True)
class Comparison:
    """The mean squared error of one variant under one method at one budget."""

    mechanism: MechanismName
    rule: Rule | None
    method: str
    epsilon: float
    mse: float
    standard_error: float | None
    groups: Names | None = None
    pivots: int = 1
    decoys: int | None = None
    without_answer: int = 0
    """Runs whose reports could not be estimated from, scored as if every label were equally likely."""

    @property
    def points(self) -> float:
        """Half the width of a 95 % interval, in percentage points."""
        return POINTS * math.sqrt(self.mse)

    def body(self) -> dict[str, Any]:
        body = {name: value for name, value in asdict(self).items() if name != "without_answer"}
        return {**body, "percentage_points": self.points}


@dataclass(frozen=True)
class Study:
    """What is compared: people, budgets, and how often each campaign is run."""

    records: Records
    phase1_share: float
    runs: int
    seed: int
    users: int | None = None

    @property
    def people(self) -> int:
        return self.users or len(self.records)


def check_possible(study: Study, mechanism: MechanismName, epsilon: float) -> None:
    """Refuse a mechanism that cannot ask these people these questions."""
    design(study.records.schema, epsilon, mechanism)
    if NAMED[mechanism].learns:
        phase1_people(study.people, study.phase1_share)
    schema = study.records.schema
    most = MOST_ANSWERS_ONE_BY_ONE // len(schema.attributes)
    if not _exactly(schema) and study.people > most:
        raise CampaignError(
            "with so many possible records people are simulated one by one, "
            f"at most {most:,} of them; ask for fewer, or merge answers"
        )


def _exactly(schema: Schema) -> bool:
    """Whether counts can be sampled without users."""
    return math.prod(schema.sizes) <= EXACT_CELLS and max(schema.sizes) <= EXACT_LABELS


def compare(
    studies: Sequence[Study],
    chosen: Sequence[tuple[Variant, float]],
    methods: Sequence[str],
    *,
    workers: int,
    advance: Callable[[int], None],
) -> list[Comparison]:
    """Every variant with its budget under every method, the best first; the seed alone decides every number.

    Errors are geometric means over the studies: none counts for more because its errors are larger.
    """
    jobs = [(study, variant, epsilon, tuple(methods)) for variant, epsilon in chosen for study in studies]
    found = run_jobs(study_variant, jobs, workers, advance)
    rows = []
    for place in range(0, len(found), len(studies)):
        rows += [_over(same) for same in zip(*found[place : place + len(studies)], strict=True)]
    return sorted(rows, key=lambda row: (row.epsilon, row.mse))


def _over(rows: Sequence[Comparison]) -> Comparison:
    """The same comparison over several studies."""
    if len(rows) == 1:
        return rows[0]
    mse = math.exp(math.fsum(math.log(max(row.mse, NO_ERROR)) for row in rows) / len(rows))
    spread = math.hypot(*((row.standard_error or 0) / max(row.mse, NO_ERROR) for row in rows)) / len(rows)
    without = sum(row.without_answer for row in rows)
    return replace(rows[0], mse=mse, standard_error=mse * spread, without_answer=without)


def study_variant(study: Study, variant: Variant, epsilon: float, methods: Sequence[str]) -> list[Comparison]:
    """One variant at one budget: all its runs, under every method."""
    errors: dict[str, list[float]] = {method: [] for method in methods}
    uniform = [np.full(size, 1 / size) for size in study.records.schema.sizes]
    without_answer = 0
    for phases, truth in _campaigns(study, variant, epsilon):
        found: dict[str, list[Floats] | None] = {
            method: _frequencies(phases, method) for method in METHODS if {method, method + SIMPLEX} & errors.keys()
        }
        without_answer += None in found.values()
        for name, values in errors.items():
            frequencies = found[name.removesuffix(SIMPLEX)] or uniform
            if name.endswith(SIMPLEX):
                frequencies = [project_to_simplex(own) for own in frequencies]
            values.append(float(mean_squared_error(frequencies, truth)))
    return [
        Comparison(
            variant.mechanism,
            variant.rule,
            method,
            epsilon,
            *_mean_and_error(values),
            groups=variant.groups,
            pivots=variant.pivots,
            decoys=variant.decoys,
            without_answer=without_answer,
        )
        for method, values in errors.items()
    ]


def _mean_and_error(values: Sequence[float]) -> tuple[float, float | None]:
    spread = float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None
    return float(np.mean(values)), spread


def _frequencies(phases: list[Phase], method: Method) -> list[Floats] | None:
    """The estimated frequencies of every attribute; None if nothing can be estimated."""
    try:
        return [np.array(attribute.frequencies) for attribute in estimate(phases, method).attributes.values()]
    except EstimateError:
        return None


def _campaigns(study: Study, variant: Variant, epsilon: float) -> Iterator[tuple[list[Phase], list[Floats]]]:
    """The phases of each run's campaign, and the true frequencies of the people in it."""
    digest = hashlib.sha256(f"{study.seed} {variant} {epsilon!r}".encode()).digest()
    generator, source = np.random.default_rng(int.from_bytes(digest)), seeded(int.from_bytes(digest[:8]))
    schema, asked = study.records.schema, [study.people]
    if NAMED[variant.mechanism].learns:
        asked = [phase1_people(study.people, study.phase1_share)]
        asked.append(study.people - asked[0])
    plan_1 = design(
        schema,
        epsilon,
        variant.mechanism,
        groups=variant.groups,
        pivots=variant.pivots,
        decoys=variant.decoys,
        source=seeded(study.seed),
    )
    table = distinct(schema.sizes, study.records.codes, np.ones(len(study.records), dtype=np.int64))
    for _ in range(study.runs):
        phases: list[Phase] = []
        if study.users is None:
            first = generator.multivariate_hypergeometric(table.times, asked[0], method="marginals")
            by_phase = [first, table.times - first][: len(asked)]
        else:
            by_phase = list(generator.multinomial(asked, table.times / len(study.records)))
        for times in by_phase:
            plan = _next(phases, variant, asked[1]) if phases else plan_1
            people = SubReports(table.codes[times > 0], times[times > 0])
            phases.append((plan, _counts(plan, people, generator, source)))
        yield (
            phases,
            [
                add_up(column, np.sum(by_phase, axis=0), size) / study.people
                for column, size in zip(table.codes.T, schema.sizes, strict=True)
            ],
        )


def _next(phases: list[Phase], variant: Variant, people: int) -> Plan:
    return learn(phases, people=people, rule=variant.rule)


def _counts(plan: Plan, people: SubReports, generator: np.random.Generator, source: Source) -> Counts:
    """The counts of the reports of people, who are given as distinct records with their numbers."""
    if _exactly(plan.schema):
        reports = simulate(plan.sampler, people, generator)
        return count_times(plan, reports.codes, reports.times)
    codes = np.repeat(people.codes.astype(code_type(plan.schema.sizes)), people.times, axis=0)
    return count(plan, respond_many(plan, Records(plan.schema, codes), source).codes)
