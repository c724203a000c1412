"""Which mechanism and method would do best on a table of one's own: simulated campaigns, the product's own estimators.

Every campaign goes through `learn` and `estimate` as a real one would; only the counts are sampled without users,
exactly, wherever the table of different records is small enough for that.
"""

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from privtally.campaign import phase1_people
from privtally.channel import Keep
from privtally.client import respond_many
from privtally.counts import Counts, WholeReports, count, from_whole
from privtally.errors import PrivtallyError
from privtally.estimation import Phase, estimate
from privtally.lab.population import Tensor, marginals, resample, split_table, table_of
from privtally.lab.seed import seeded
from privtally.lab.simulate import Fills, pivot_whole, private_pivots, spl_whole
from privtally.learning import learn
from privtally.mechanisms import Pivot, Sample, Split
from privtally.names import METHODS, RULES, TWO_PHASE, MechanismName, Method, Rule
from privtally.plan import Plan, design
from privtally.schema import Records, Schema
from privtally.simplex import project_to_simplex

EXACT_CELLS = 1 << 16
"""Tables with more different records than this are simulated user by user."""

SIMPLEX = "+simplex"
ALL_METHODS: tuple[str, ...] = tuple(name for method in METHODS for name in (method, method + SIMPLEX))


People = TypeVar("People")


@dataclass(frozen=True)
class Variant:
    """A mechanism, with its learning rule where it has one."""

    mechanism: MechanismName
    rule: Rule | None = None


@dataclass(frozen=True)
class Comparison:
    """The mean squared error of one variant under one method at one budget."""

    mechanism: MechanismName
    rule: Rule | None
    method: str
    epsilon: float
    mse: float
    standard_error: float | None

    def body(self) -> dict[str, Any]:
        """The comparison as plain values."""
        return asdict(self)


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
        """How many people each campaign asks."""
        return self.users or len(self.records)

    @property
    def first_phase(self) -> int:
        """How many of them are asked in Phase I of two."""
        return phase1_people(self.people, self.phase1_share)


def variants(mechanisms: Sequence[MechanismName]) -> list[Variant]:
    """Every mechanism once, Corr-RR once for each rule."""
    return [
        Variant(mechanism, rule) for mechanism in mechanisms for rule in (RULES if mechanism == "corr-rr" else (None,))
    ]


def possible(schema: Schema, mechanism: MechanismName, epsilon: float) -> str | None:
    """Why a mechanism cannot ask this schema, or None if it can."""
    try:
        design(schema, epsilon, mechanism)
    except PrivtallyError as refusal:
        return str(refusal)
    return None


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
    found: list[list[Comparison]] = [[] for _ in jobs]
    if workers == 1:
        for done, job in enumerate(jobs, start=1):
            found[done - 1] = _study(*job)
            advance(done)
    else:
        with ProcessPoolExecutor(workers) as pool:
            running = {pool.submit(_study, *job): place for place, job in enumerate(jobs)}
            for done, future in enumerate(as_completed(running), start=1):
                found[running[future]] = future.result()
                advance(done)
    rows = [row for rows in found for row in rows]
    return sorted(rows, key=lambda row: (row.epsilon, row.mse))


def _study(study: Study, variant: Variant, epsilon: float, methods: Sequence[str]) -> list[Comparison]:
    """One variant at one budget: all its runs, under every method."""
    errors: dict[str, list[float]] = {method: [] for method in methods}
    for phases, truth in _campaigns(study, variant, epsilon):
        for method in METHODS:
            if method in errors or method + SIMPLEX in errors:
                _score(errors, phases, method, truth)
    return [
        Comparison(variant.mechanism, variant.rule, method, epsilon, *_mean_and_error(errors[method]))
        for method in methods
    ]


def _score(errors: dict[str, list[float]], phases: list[Phase], method: Method, truth: Sequence[Any]) -> None:
    found = [np.array(attribute.frequencies) for attribute in estimate(phases, method).attributes.values()]
    if method in errors:
        errors[method].append(_error(found, truth))
    if method + SIMPLEX in errors:
        errors[method + SIMPLEX].append(_error([project_to_simplex(values) for values in found], truth))


def _error(found: Sequence[Any], truth: Sequence[Any]) -> float:
    return float(np.mean([np.mean((one - two) ** 2) for one, two in zip(found, truth, strict=True)]))


def _mean_and_error(values: Sequence[float]) -> tuple[float, float | None]:
    spread = float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None
    return float(np.mean(values)), spread


def _campaigns(study: Study, variant: Variant, epsilon: float) -> Iterator[tuple[list[Phase], list[Any]]]:
    """The phases of each run's campaign, and the true frequencies of the people in it."""
    name = f"{study.seed} {variant} {epsilon!r}"
    digest = hashlib.sha256(name.encode()).digest()
    if math.prod(study.records.schema.sizes) <= EXACT_CELLS:
        return _run(_Exact(study, np.random.default_rng(int.from_bytes(digest))), study, variant, epsilon)
    return _run(_UserByUser(study, int.from_bytes(digest[:8])), study, variant, epsilon)


class _Collector(Protocol[People]):
    """People, and the counts of their reports."""

    def people(self, run: int) -> tuple[People, People]:
        """The people of both phases."""
        ...

    def all(self, people: tuple[People, People]) -> People:
        """Both phases' people together."""
        ...

    def truth(self, people: tuple[People, People]) -> list[Any]:
        """The true frequencies of every attribute among them."""
        ...

    def count(self, plan: Plan, people: People) -> Counts:
        """The counts of their reports to a plan."""
        ...


def _run(
    collector: _Collector[People], study: Study, variant: Variant, epsilon: float
) -> Iterator[tuple[list[Phase], list[Any]]]:
    first = design(study.records.schema, epsilon, variant.mechanism)
    for run in range(study.runs):
        people = collector.people(run)
        if variant.mechanism not in TWO_PHASE:
            yield [(first, collector.count(first, collector.all(people)))], collector.truth(people)
            continue
        one, two = people
        counts = collector.count(first, one)
        users = study.people - study.first_phase
        second = learn(first, counts, rule=variant.rule or RULES[0], phase2_users=users)
        yield [(first, counts), (second, collector.count(second, two))], collector.truth(people)


class _Exact:
    """People as tables of different records; counts from multinomials."""

    def __init__(self, study: Study, generator: np.random.Generator) -> None:
        self._generator = generator
        table = table_of(study.records)
        if study.users is None:
            tables = np.broadcast_to(table, (study.runs, *table.shape))
            self._first, self._second = split_table(tables, study.first_phase, generator)
        else:  # people drawn with replacement need no splitting: each phase draws its own
            self._first = resample(table, study.first_phase, study.runs, generator)
            self._second = resample(table, study.users - study.first_phase, study.runs, generator)

    def people(self, run: int) -> tuple[Tensor, Tensor]:
        return self._first[run], self._second[run]

    def all(self, people: tuple[Tensor, Tensor]) -> Tensor:
        return people[0] + people[1]

    def truth(self, people: tuple[Tensor, Tensor]) -> list[Any]:
        everybody = self.all(people)
        return [margin[0] / everybody.sum() for margin in marginals(everybody[None])]

    def count(self, plan: Plan, table: Tensor) -> Counts:
        sampler, tables = plan.sampler, table[None]
        if isinstance(sampler, Split):
            return _from_tensor(plan, spl_whole(tables, _scales(sampler.channels), self._generator)[0])
        if isinstance(sampler, Sample):
            return _from_answers(plan, private_pivots(tables, _scales(sampler.channels), self._generator))
        assert isinstance(sampler, Pivot)
        private = private_pivots(tables, _scales(sampler.channels), self._generator)
        return _from_tensor(plan, pivot_whole(private, _matrices(sampler), self._generator)[0])


class _UserByUser:
    """People as records; counts from privatising each of them."""

    def __init__(self, study: Study, seed: int) -> None:
        self._study = study
        self._generator = np.random.default_rng(seed)
        self._source = seeded(seed)

    def people(self, run: int) -> tuple[Records, Records]:  # noqa: ARG002  # every run draws anew
        study = self._study
        if study.users is None:
            order = self._generator.permutation(len(study.records))
        else:
            order = self._generator.integers(0, len(study.records), study.users)
        one, two = order[: study.first_phase], order[study.first_phase :]
        return self._chosen(one), self._chosen(two)

    def _chosen(self, places: Any) -> Records:
        return Records(self._study.records.schema, self._study.records.codes[places])

    def all(self, people: tuple[Records, Records]) -> Records:
        return Records(people[0].schema, np.concatenate([part.codes for part in people]))

    def truth(self, people: tuple[Records, Records]) -> list[Any]:
        return [np.array(values) for values in self.all(people).frequencies().values()]

    def count(self, plan: Plan, people: Records) -> Counts:
        return count(plan, respond_many(plan, people, self._source).codes)


def _scales(channels: Sequence[Keep]) -> list[float]:
    return [float(channel.scale) for channel in channels]


def _matrices(sampler: Pivot) -> Fills:
    """Each fill as a matrix: what it does to each certain code."""
    sizes = sampler.sizes
    return [
        [
            None if pivot == other else sampler.fills[pivot][other].push(np.eye(sizes[pivot]))
            for other in range(len(sizes))
        ]
        for pivot in range(len(sizes))
    ]


def _from_tensor(plan: Plan, tensor: Tensor) -> Counts:
    codes = np.argwhere(tensor)
    return from_whole(plan.digest, plan.sampler.outputs, WholeReports(codes, tensor[tensor > 0]), 100_000)


def _from_answers(plan: Plan, private: Sequence[Tensor]) -> Counts:
    """SMP: the private pivot is all there is, the rest says "not asked"."""
    sizes = np.array(plan.sampler.sizes)
    rows, times = [], []
    for pivot, margin in enumerate(private):
        for code in np.flatnonzero(margin[0]):
            rows.append([*sizes[:pivot], code, *sizes[pivot + 1 :]])
            times.append(margin[0, code])
    order = np.lexsort(np.array(rows).T[::-1])
    whole = WholeReports(np.array(rows, dtype=np.int64)[order], np.array(times, dtype=np.int64)[order])
    return from_whole(plan.digest, plan.sampler.outputs, whole, 100_000)
