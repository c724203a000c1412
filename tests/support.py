"""What the tests share: plans of every kind, scripted randomness, and exact arithmetic that shares no code with src."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import factorial, prod
from typing import Any

import msgspec
import numpy as np
from scipy import stats

from privtally.collector.tally import count_times
from privtally.documents.counts import Counts
from privtally.documents.plan import Learned, LearnedFrom, Plan, design
from privtally.documents.sub_reports import SUB_REPORT_LIMIT
from privtally.exact.probability import nearest_distribution, nearest_probability
from privtally.exact.source import Words
from privtally.mechanisms import NAMED, Law, PartPlan
from privtally.mechanisms.fills import AnyFill, CopyFill, RowFill, Table, TableFill, table_places
from privtally.mechanisms.named import one_pivot
from privtally.names import MechanismName
from privtally.schema import Schema

SHAPES: tuple[tuple[int, ...], ...] = (
    *((size,) * attributes for attributes in (2, 3, 4) for size in (2, 3, 4)),
    (2, 3, 5),
    (5, 2),
    (3, 2, 4, 2),
)
MECHANISMS: tuple[MechanismName, ...] = ("spl", "smp", "rs-fd", "rs-rfd", "corr-rr", "cond-rr")


def cases(shapes: Sequence[tuple[int, ...]] = SHAPES) -> list[tuple[MechanismName, tuple[int, ...]]]:
    """Every mechanism on every shape that it takes."""
    return [
        (mechanism, sizes)
        for mechanism, sizes in product(MECHANISMS, shapes)
        if mechanism != "corr-rr" or len(set(sizes)) == 1
    ]


def schema_of(sizes: Sequence[int]) -> Schema:
    return Schema.of({f"q{own}": [f"a{code}" for code in range(size)] for own, size in enumerate(sizes)})


def first_plan(sizes: Sequence[int], epsilon: float = 1.0, mechanism: MechanismName = "spl", **fields: Any) -> Plan:
    """A first plan whose digest is the same in every run."""
    return design(schema_of(sizes), epsilon, mechanism, source=Scripted([7, 7]), **fields)


def plan_with(parts: tuple[PartPlan, ...], sizes: Sequence[int], epsilon: float = 1.0) -> Plan:
    """A first plan with any parts, whatever its name says."""
    return msgspec.structs.replace(first_plan(sizes, epsilon), parts=parts)


def plan_of(mechanism: MechanismName, sizes: Sequence[int], epsilon: float = 1.0, seed: int = 0) -> Plan:
    """A plan that runs the given mechanism, with made-up parameters where it needs some."""
    first = first_plan(sizes, epsilon, mechanism)
    fill = fill_of(mechanism, sizes, seed)
    return first if fill is None else later_plan(first, fill)


def later_plan(first: Plan, fill: AnyFill) -> Plan:
    """The second plan of a campaign with a made-up fill."""
    learned = Learned((LearnedFrom(first.digest, "0" * 64, 100),))
    return first.next(one_pivot(len(first.schema.attributes), fill), learned)


def fill_of(mechanism: MechanismName, sizes: Sequence[int], seed: int = 0) -> AnyFill | None:
    """A made-up fill of the kind that the mechanism learns, if it learns one."""
    made_up = np.random.default_rng(seed)
    kind = NAMED[mechanism].learned
    if kind is RowFill:
        return RowFill(tuple(nearest_distribution(made_up.dirichlet(np.ones(size))) for size in sizes))
    if kind is CopyFill:
        return CopyFill(
            tuple(
                tuple(1.0 if own == other else _any_probability(made_up) for other in range(len(sizes)))
                for own in range(len(sizes))
            )
        )
    if kind is TableFill:
        return table_fill(sizes, 1, made_up)
    return None


def table_fill(sizes: Sequence[int], pivots: int, made_up: np.random.Generator) -> TableFill:
    """Made-up tables of every attribute given any choice of so many pivots."""
    return TableFill(
        tuple(
            Table(
                chosen,
                other,
                tuple(
                    nearest_distribution(made_up.dirichlet(np.ones(sizes[other])))
                    for _ in range(prod(sizes[own] for own in chosen))
                ),
            )
            for chosen, other in table_places(len(sizes), pivots)
        )
    )


def _any_probability(made_up: np.random.Generator) -> float:
    """Any probability, the ends included: Phase I often chooses 0 or 1."""
    return float(made_up.choice([0.0, 1.0, nearest_probability(made_up.random())], p=[0.15, 0.1, 0.75]))


class Scripted:
    """A source that hands out the given words and then fails."""

    def __init__(self, words: Sequence[int]) -> None:
        self._words = list(words)

    def words(self, count: int) -> Words:
        taken, self._words = self._words[:count], self._words[count:]
        assert len(taken) == count, "the script has no more words"
        return np.array(taken, dtype=np.uint64)

    @property
    def left(self) -> int:
        return len(self._words)


def exp_below(power: Fraction, terms: int = 200) -> Fraction:
    """A rational just below e^power: a partial sum of its series."""
    return sum((power**index / factorial(index) for index in range(terms)), start=Fraction(0))


def records_of(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    return list(product(*map(range, sizes)))


def counts_of(plan: Plan, tensor: np.ndarray, limit: int = SUB_REPORT_LIMIT) -> Counts:
    """The counts of a table of reports; with a limit of 0 their one-way and pairwise counts alone."""
    return count_times(plan, np.argwhere(tensor), tensor[tensor > 0].astype(np.int64), limit)


def expected_counts(plan: Plan, answers: np.ndarray, people: float) -> Counts:
    """Counts of reports that are as frequent as expected, answers having these joint frequencies."""
    law = np.zeros(plan.sampler.outputs)
    for record in np.ndindex(answers.shape):
        for report, chance in plan.sampler.law(record).items():
            law[report] += answers[record] * float(chance)
    return counts_of(plan, np.round(law * people).astype(np.int64))


def worst_ratio(laws: Sequence[Law]) -> Fraction:
    """The largest likelihood ratio of any report between any two of the records whose laws are given."""
    reports = set().union(*laws)
    worst = Fraction(1)
    for report in reports:
        chances = [law.get(report, Fraction(0)) for law in laws]
        if max(chances) > 0:
            assert min(chances) > 0, "a report that only some records can give has an infinite ratio"
            worst = max(worst, max(chances) / min(chances))
    return worst


def chi_square_p(reports: np.ndarray, law: Law) -> float:
    """The p-value of reports (rows of codes) against a law; 0 if one occurs that the law excludes.

    Reports that are expected less than five times are taken together.
    """
    seen: dict[tuple[int, ...], int] = {}
    rows, times = np.unique(reports, axis=0, return_counts=True)
    for row, count in zip(rows.tolist(), times.tolist(), strict=True):
        seen[tuple(row)] = count
    if any(law.get(report, 0) == 0 for report in seen):
        return 0.0
    expected = {report: float(chance) * len(reports) for report, chance in law.items() if chance > 0}
    common = [report for report, times in expected.items() if times >= 5]
    observed = [float(seen.get(report, 0)) for report in common]
    wanted = [expected[report] for report in common]
    rest = len(reports) - sum(wanted)
    if rest >= 5:
        observed.append(len(reports) - sum(observed))
        wanted.append(rest)
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, wanted, strict=True))
    return float(stats.chi2.sf(statistic, len(wanted) - 1))
