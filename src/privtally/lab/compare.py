"""Which mechanism and method would do best on a table of one's own: simulated campaigns, the product's own estimators.

`compare` is the public function; a mechanism from a script is compared like one that has a name. Every campaign goes
through `learn` and `estimate` as a real one would; only the counts are sampled without users, exactly, wherever the
table of different records is small enough for that.
"""

import hashlib
import math
import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np

from privtally.collector.estimate import estimate
from privtally.collector.inverse import project_to_simplex
from privtally.collector.learn import learn_with
from privtally.collector.tally import count, count_times
from privtally.documents.campaign import USUAL_LEARNING, Asking, Learning, Phase, drive
from privtally.documents.counts import Counts, SubReports, add_up, distinct
from privtally.documents.estimate import NORMAL_95, Library, frame_of
from privtally.documents.plan import Plan, check_epsilon, mechanism_named
from privtally.errors import CampaignError, EstimateError, PrivtallyError, naming_arguments
from privtally.exact.randomness import Source
from privtally.exact.types import Floats, Integers
from privtally.files import silently
from privtally.lab.advise import layout, recommend
from privtally.lab.population import seeded
from privtally.lab.simulate import (
    Own,
    OwnMechanism,
    mean_squared_error,
    own_frequencies,
    own_mechanism,
    own_name,
    simulate,
)
from privtally.mechanisms.fills import label_by_label
from privtally.mechanisms.grouping import best_groups
from privtally.mechanisms.named import NAMED
from privtally.names import LEARNED_WITH, MECHANISMS, RULES, RULES_LABEL_BY_LABEL, MechanismName, Method, plain_name
from privtally.participant.respond import respond_many
from privtally.plots import estimate as picture
from privtally.plots.comparison import draw_comparison
from privtally.schema import Records, Schema, code_type
from privtally.tables.frames import Declared, Native, records_of, schema_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Result = TypeVar("Result")

LOOK_AGAIN = 0.5
"""Seconds after which a wait is begun anew. A signal that comes just before a wait begins does not end that wait."""


def run_jobs(
    work: Callable[..., Result], jobs: Sequence[tuple[Any, ...]], workers: int, advance: Callable[[int], None]
) -> list[Result]:
    """The result of each job, in order; `advance` hears how many are done."""
    found: list[Result] = []
    if min(workers, len(jobs)) <= 1:
        for job in jobs:
            found.append(work(*job))
            advance(len(found))
        return found
    others = multiprocessing.active_children()
    pool = ProcessPoolExecutor(min(workers, len(jobs)), initializer=_leave_signals_to_the_parent)
    # A signal waits until all processes are started; from then on whatever stops the work ends them.
    _hold_signals(held=True)
    try:
        futures = [pool.submit(work, *job) for job in jobs]
        _hold_signals(held=False)
        for future in futures:
            while not wait([future], LOOK_AGAIN).done:
                pass
            found.append(future.result())
            advance(len(found))
    except BaseException as stopped:
        for process in multiprocessing.active_children():
            if process not in others:
                process.terminate()
        if isinstance(stopped, BrokenProcessPool):
            raise CampaignError(
                "a process that shared the work was ended from outside, perhaps for want of memory; use fewer workers"
            ) from None
        raise
    finally:
        _hold_signals(held=False)
        pool.shutdown(cancel_futures=True)
    return found


def _hold_signals(*, held: bool) -> None:
    """Let the signals that end a program wait, or let them in, where the system can do so."""
    if hasattr(signal, "pthread_sigmask"):
        how = signal.SIG_BLOCK if held else signal.SIG_UNBLOCK
        signal.pthread_sigmask(how, {signal.SIGINT, signal.SIGTERM})


def _leave_signals_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _hold_signals(held=False)


Names = tuple[tuple[str, ...], ...]


def variants(mechanisms: Sequence[MechanismName]) -> list[Asking]:
    """Every mechanism with each of its rules, the default first."""
    return [
        Asking(mechanism, learning=Learning(rule=rule))
        for mechanism in mechanisms
        for rule in (RULES if "rule" in LEARNED_WITH.get(mechanism, ()) else (None,))
    ]


def fits(variant: Asking, schema: Schema) -> bool:
    """Whether a variant's rule is for these questions."""
    return variant.learning.rule not in RULES_LABEL_BY_LABEL or label_by_label(schema, range(len(schema.attributes)))


def chosen_groups(schema: Schema, epsilon: float, mechanism: MechanismName) -> Names | None:
    """The groups that `--groups auto` takes; None if that is one group, or the mechanism has none."""
    with suppress(PrivtallyError):
        named = NAMED[mechanism]
        named.check_takes_groups()
        groups = best_groups(schema.sizes, Fraction(epsilon), named.hidden_among(), named.learned).groups
        if len(groups) > 1:
            names = schema.names
            return tuple(tuple(names[own] for own in group) for group in groups)
    return None


def extended(schema: Schema, epsilon: float, one: Asking, groups: Names | None, pivots: int) -> Iterator[Asking]:
    """A variant in these groups and with so many pivots, where the mechanism takes them."""
    more = [msgspec.structs.replace(one, groups=groups)] if groups is not None else []
    more += [msgspec.structs.replace(one, pivots=pivots)] if pivots > 1 else []
    for variant in more:
        with suppress(PrivtallyError):
            variant.first_plan(schema, epsilon)
            yield variant


EXACT_CELLS, EXACT_LABELS = 1 << 16, 256
"""Schemas with more possible records, or with more labels in one attribute, are simulated user by user."""
MOST_ANSWERS_ONE_BY_ONE = 20_000_000
"""So many answers, people times attributes, take about a gigabyte."""

POINTS = 100 * NORMAL_95
"""Half the width of a 95 % interval in percentage points, for a standard error of 1."""
NO_ERROR = 1e-24
"""Logarithms need more than 0."""
SIMPLEX = "+simplex"
ITS_OWN = "its own"
"""The method of a mechanism that estimates by itself."""
ALL_METHODS = ("likelihood", "unbiased", "unbiased" + SIMPLEX, "paper", "paper" + SIMPLEX)
"""The likelihood estimate is a proper distribution as it stands."""


@dataclass(frozen=True)
class OwnAsking:
    """A mechanism of one's own among those that are compared, with what `Asking` says of a named one."""

    mechanism: str
    made: Own
    learning: Learning = USUAL_LEARNING

    @property
    def options(self) -> dict[str, Any]:
        return {"mechanism": self.mechanism, "groups": None, "pivots": 1, "decoys": None}

    def __str__(self) -> str:
        return self.mechanism


@dataclass(frozen=True)
class Score:
    """The mean squared error of one variant under one method at one budget."""

    asking: Asking | OwnAsking
    method: str
    epsilon: float
    mse: float
    standard_error: float | None
    without_answer: int = 0
    """Runs whose reports could not be estimated from, scored as if every label were equally likely."""

    @property
    def name(self) -> str:
        """The mechanism in words, with what it is combined with."""
        rule = self.asking.learning.rule
        return layout(self.asking) + (f", {rule}" if rule else "")

    @property
    def points(self) -> float:
        """Half the width of a 95 % interval, in percentage points."""
        return POINTS * math.sqrt(self.mse)

    def worse_than(self, other: "Score") -> bool:
        """Whether the error is larger by more than two standard errors of the difference; one run does not say."""
        if self.standard_error is None or other.standard_error is None:
            return False
        return self.mse - other.mse > 2 * math.hypot(self.standard_error, other.standard_error)

    def body(self) -> dict[str, Any]:
        return {
            **self.asking.options,
            "rule": self.asking.learning.rule,
            "method": self.method,
            "epsilon": self.epsilon,
            "mse": self.mse,
            "standard_error": self.standard_error,
            "percentage_points": self.points,
        }


class Tabular:
    """What is a table of results."""

    def table(self) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        """The columns and rows of a table."""
        raise NotImplementedError

    def to_frame(self, library: Library | None = None) -> Any:
        """The table as a frame of pandas, Polars or PyArrow, whichever is there, unless one is named."""
        return frame_of(*self.table(), library)

    def to_pandas(self) -> Any:
        """The same in pandas."""
        return self.to_frame("pandas")

    def __repr__(self) -> str:
        columns, rows = self.table()
        cells = [list(columns), *(list(map(_cell, row)) for row in rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in cells)


@dataclass(frozen=True, repr=False)
class Comparison(Tabular):
    """How mechanisms did on the same people, the best first at each budget; it prints itself as a table."""

    scores: Sequence[Score]
    people: int
    runs: int

    def table(self) -> tuple[list[str], list[tuple[Any, ...]]]:
        columns = ["epsilon", "mechanism", "method", "mse", "standard_error", "percentage_points"]
        rows = [(s.epsilon, s.name, s.method, s.mse, s.standard_error, s.points) for s in self.scores]
        return columns, rows

    def plot(self, path: str | Path | None = None) -> "Figure":
        """The mean squared error against ε, a line for each mechanism with its best method; at one budget a row for
        each mechanism instead, with all methods. Written to a .png or .svg file if one is named. Needs the extra
        `plot`.
        """
        picture.check_drawing(path)
        rows = [{"name": score.name, **score.body()} for score in self.scores]
        return picture.written(draw_comparison(rows), path)

    def __repr__(self) -> str:
        title = f"{self.people:,} people, {self.runs} simulated {'run' if self.runs == 1 else 'runs'}"
        return f"{title}; the smaller the mean squared error (mse) the better\n{super().__repr__()}"


def _cell(value: Any) -> str:
    """A number with three digits and without an exponent; anything else as its text, nothing for None."""
    if isinstance(value, float):
        return np.format_float_positional(value, precision=3, fractional=False, trim="-")
    return "" if value is None else str(value)


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
    if Asking(mechanism).first_plan(study.records.schema, epsilon).learns:
        Learning(phase1_share=study.phase1_share).phase1_people(study.people)
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


@naming_arguments
def compare(
    data: Native | str | Path | Records,
    schema: Declared | None = None,
    epsilon: float | Sequence[float] = 1.0,
    mechanisms: str | Own | Sequence[str | Own] | None = None,
    *,
    methods: str | Sequence[str] = "likelihood",
    runs: int = 20,
    people: int | None = None,
    phase1_share: float = 0.1,
    seed: int = 1,
    workers: int = 1,
    codes: bool = False,
) -> Comparison:
    """Simulate mechanisms on public or pilot data, which is what `run` takes, and compare their errors.

    Mechanisms are named, "auto" being the one that `advise` recommends, or are one's own, as `run` takes them; without
    any, all that fit these people and questions. So many `people` are drawn from the data with replacement if a number
    is given. The seed alone decides every number.
    """
    the_schema = schema_of(schema, data)
    budgets = list(epsilon) if isinstance(epsilon, Iterable) and not isinstance(epsilon, str) else [epsilon]
    for budget in budgets:
        check_epsilon(budget)
    named = [methods] if isinstance(methods, str) else list(methods)
    if not budgets or not named or not set(named) <= set(ALL_METHODS):
        raise CampaignError(f"compare needs a budget ε, and methods that are among {', '.join(ALL_METHODS)}")
    if type(runs) is not int or runs < 1:
        raise CampaignError(f"the number of runs must be a whole number from 1, got {runs}")
    study = Study(records_of(data, the_schema, seeded(seed), codes=codes)[0], phase1_share, runs, seed, people)
    ways = _ways(study, mechanisms, budgets[0])
    chosen = [(way, budget) for budget in dict.fromkeys(budgets) for way in ways]
    scores = compare_studies([study], chosen, named, workers=workers, advance=silently)
    return Comparison(scores, study.people, runs)


def _ways(study: Study, mechanisms: str | Own | Sequence[str | Own] | None, epsilon: float) -> list[Asking | OwnAsking]:
    """What is compared: the mechanisms that were given, each once, or all that are possible."""

    def auto(schema: Schema, epsilon: float) -> Plan:
        return recommend(schema, epsilon, study.people).design.first_plan(schema, epsilon)

    if mechanisms is None:
        possible: list[Asking | OwnAsking] = [OwnAsking("auto", auto)]
        for name in MECHANISMS:
            with suppress(PrivtallyError):
                check_possible(study, name, epsilon)
                possible.append(Asking(name))
        return possible
    ways: list[Asking | OwnAsking] = []
    one = isinstance(mechanisms, str) or not isinstance(mechanisms, Sequence)
    wanted: Any = [mechanisms] if one else mechanisms
    for given in wanted:
        if not isinstance(given, str):
            ways.append(OwnAsking(own_name(given), given))
        elif plain_name(given) == "auto":
            ways.append(OwnAsking("auto", auto))
        else:
            ways.append(Asking.of(given))
            check_possible(study, mechanism_named(given), epsilon)
    names = [way.mechanism for way in ways]
    if not names or len(set(names)) < len(names):
        raise CampaignError("compare needs mechanisms of different names; give one of your own an attribute 'name'")
    return ways


def compare_studies(
    studies: Sequence[Study],
    chosen: Sequence[tuple[Asking | OwnAsking, float]],
    methods: Sequence[str],
    *,
    workers: int,
    advance: Callable[[int], None],
) -> list[Score]:
    """Every variant with its budget under every method, the best first; the seed alone decides every number.

    Errors are geometric means over the studies: none counts for more because its errors are larger.
    """
    jobs = [(study, variant, epsilon, tuple(methods)) for variant, epsilon in chosen for study in studies]
    found = run_jobs(study_variant, jobs, workers, advance)
    rows = []
    for place in range(0, len(found), len(studies)):
        rows += [_over(same) for same in zip(*found[place : place + len(studies)], strict=True)]
    return sorted(rows, key=lambda row: (row.epsilon, row.mse))


def _over(rows: Sequence[Score]) -> Score:
    """The same comparison over several studies."""
    if len(rows) == 1:
        return rows[0]
    mse = math.exp(math.fsum(math.log(max(row.mse, NO_ERROR)) for row in rows) / len(rows))
    spread = math.hypot(*((row.standard_error or 0) / max(row.mse, NO_ERROR) for row in rows)) / len(rows)
    without = sum(row.without_answer for row in rows)
    return replace(rows[0], mse=mse, standard_error=mse * spread, without_answer=without)


def study_variant(study: Study, variant: Asking | OwnAsking, epsilon: float, methods: Sequence[str]) -> list[Score]:
    """One variant at one budget: all its runs, under every method; a mechanism of one's own may have its own method."""
    schema = study.records.schema
    digest = hashlib.sha256(f"{study.seed} {variant} {epsilon!r}".encode()).digest()
    chance = np.random.default_rng(int.from_bytes(digest)), seeded(int.from_bytes(digest[:8]))
    if isinstance(variant, Asking):
        first: Plan | OwnMechanism = variant.first_plan(schema, epsilon, source=seeded(study.seed))
    else:
        first = own_mechanism(variant.made, schema, epsilon)
    if not isinstance(first, Plan):
        methods = [ITS_OWN]
    elif first.together is not None:  # the paper asks no questions together
        methods = [method for method in methods if not method.startswith("paper")] or ["unbiased"]
    errors: dict[str, list[float]] = {method: [] for method in methods}
    uniform = [np.full(size, 1 / size) for size in schema.sizes]
    without_answer = 0
    for frequencies_by, truth in _runs(study, first, variant.learning, *chance):
        found = {method: frequencies_by(method) for method in {name.removesuffix(SIMPLEX) for name in errors}}
        without_answer += None in found.values()
        for name, values in errors.items():
            frequencies = found[name.removesuffix(SIMPLEX)] or uniform
            if name.endswith(SIMPLEX):
                frequencies = [project_to_simplex(own) for own in frequencies]
            values.append(float(mean_squared_error(frequencies, truth)))
    return [
        Score(variant, method, epsilon, *_mean_and_error(values), without_answer=without_answer)
        for method, values in errors.items()
    ]


def _mean_and_error(values: Sequence[float]) -> tuple[float, float | None]:
    spread = float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None
    return float(np.mean(values)), spread


Run = tuple[Callable[[Any], list[Floats] | None], list[Floats]]
"""What a method finds in the reports of one run, None if nothing can be estimated, and the true frequencies."""


def _frequencies(phases: list[Phase], method: Method) -> list[Floats] | None:
    """The estimated frequencies of every attribute; None if nothing can be estimated."""
    try:
        return [np.array(attribute.frequencies) for attribute in estimate(phases, method).attributes.values()]
    except EstimateError:
        return None


def _runs(
    study: Study, first: Plan | OwnMechanism, learning: Learning, generator: np.random.Generator, source: Source
) -> Iterator[Run]:
    """A campaign in every run; through a mechanism of one's own the people one by one, in an order of chance."""
    schema, asked = study.records.schema, [study.people]
    if isinstance(first, Plan) and first.learns:
        asked = [Learning(phase1_share=study.phase1_share).phase1_people(study.people)]
        asked.append(study.people - asked[0])
        learning = msgspec.structs.replace(learning, people=asked[1])
    table = _distinct(study)
    for _ in range(study.runs):
        times = _drawn(study, table, asked, generator)

        def collect(plan: Plan, times: Sequence[Integers] = times) -> Counts:
            people = times[plan.phase - 1]
            return _counts(plan, SubReports(table.codes[people > 0], people[people > 0]), generator, source)

        frequencies_by: Callable[[Any], list[Floats] | None]
        if isinstance(first, Plan):
            frequencies_by = partial(_frequencies, drive(first, collect, partial(learn_with, learning)))
        else:
            codes = generator.permutation(np.repeat(table.codes.astype(code_type(schema.sizes)), times[0], axis=0))
            found = own_frequencies(first, Records(schema, codes), source)
            frequencies_by = partial(lambda frequencies, _: frequencies, found)
        everybody = np.sum(times, axis=0)
        columns = zip(table.codes.T, schema.sizes, strict=True)
        yield frequencies_by, [add_up(column, everybody, size) / study.people for column, size in columns]


def _distinct(study: Study) -> SubReports:
    """The distinct records of a study, and how many people have each."""
    records = study.records
    return distinct(records.schema.sizes, records.codes, np.ones(len(records), dtype=np.int64))


def _drawn(study: Study, table: SubReports, asked: Sequence[int], generator: np.random.Generator) -> Sequence[Integers]:
    """How many of each phase's people have each of the distinct records."""
    if study.users is not None:
        return list(generator.multinomial(asked, table.times / len(study.records)))
    first = generator.multivariate_hypergeometric(table.times, asked[0], method="marginals")
    return [first, table.times - first][: len(asked)]


def _counts(plan: Plan, people: SubReports, generator: np.random.Generator, source: Source) -> Counts:
    """The counts of the reports of people, who are given as distinct records with their numbers."""
    if _exactly(plan.schema):
        reports = simulate(plan.mechanism, people, generator)
        return count_times(plan, reports.codes, reports.times)
    codes = np.repeat(people.codes.astype(code_type(plan.schema.sizes)), people.times, axis=0)
    return count(plan, respond_many(plan, Records(plan.schema, codes), source).codes)
