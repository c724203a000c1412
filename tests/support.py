"""What the tests share: plans of every kind, scripted randomness, and exact arithmetic that shares no code with src."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import factorial, prod
from typing import Any

import msgspec
import numpy as np
from scipy import stats

from privtally.collector.tally import count_times
from privtally.documents.counts import SUB_REPORT_LIMIT, Counts
from privtally.documents.plan import Learned, LearnedFrom, Plan, design
from privtally.exact.randomness import Words
from privtally.exact.rational import nearest_distribution, nearest_probability
from privtally.mechanisms.fills import (
    AlignedFill,
    AlignedPair,
    AnyFill,
    CopyFill,
    RowFill,
    Table,
    TableFill,
    UniformFill,
    table_places,
)
from privtally.mechanisms.mechanism import Law, Mechanism, Part
from privtally.mechanisms.named import (
    NAMED,
    AnyChannel,
    PartPlan,
    RandomizedResponse,
    asking,
    build,
)
from privtally.mechanisms.projective import Geometry
from privtally.names import MechanismName
from privtally.schema import Schema

SHAPES: tuple[tuple[int, ...], ...] = (
    *((2, 2), (3, 3), (4, 4), (2, 2, 2), (3, 3, 3), (2, 2, 2, 2)),
    *((2, 3, 5), (5, 2), (3, 2, 4, 2)),
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
    sizes = first.schema.sizes
    return first.next((asking(tuple(range(len(sizes))), sizes, Fraction(first.epsilon), fill),), learned)


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


def aligned_fill(sizes: Sequence[int], made_up: np.random.Generator) -> AlignedFill:
    """Made-up classes and probabilities of every pair."""

    def classes(pair: tuple[int, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        most = made_up.integers(2, min(sizes[own] for own in pair) + 1)
        one, two = (tuple(made_up.permutation(np.arange(sizes[own]) % most).tolist()) for own in pair)
        return one, two

    return AlignedFill(
        tuple(
            AlignedPair(pair, classes(pair), (_any_probability(made_up), None if made_up.random() < 0.3 else 0.25))
            for pair in combinations(range(len(sizes)), 2)
        )
    )


def _any_probability(made_up: np.random.Generator) -> float:
    """Any probability, the ends included: Phase I often chooses 0 or 1."""
    return float(made_up.choice([0.0, 1.0, nearest_probability(made_up.random())], p=[0.15, 0.1, 0.75]))


Plans = tuple[tuple[PartPlan, ...], tuple[int, ...]]
"""The parts of a plan, and the numbers of labels of its attributes."""

GROUPED = (3, 2, 3, 2)
GROUPS = ((2, 0), (1, 3))
"""Two groups of two attributes that stand neither side by side nor in order, of other sizes in each group."""
THREE = (2, 3, 2)
MIXED = (2, 4, 3)


def part_of(
    attributes: tuple[int, ...],
    pivots: int,
    fill: AnyFill | None,
    decoys: int | None = None,
    channels: tuple[AnyChannel, ...] | None = None,
) -> PartPlan:
    """A part that asks `pivots` of its attributes by randomized response; a fill shows all others unless told."""
    others = len(attributes) - pivots
    shown = 0 if fill is None else others if decoys is None else decoys
    return PartPlan(attributes, pivots, channels or (RandomizedResponse(),) * len(attributes), shown, fill)


def grouped(*fills: AnyFill | None) -> Plans:
    """The two groups, one attribute of each asked with half the budget."""
    return tuple(part_of(group, 1, fill) for group, fill in zip(GROUPS, fills, strict=True)), GROUPED


def two_of_three(fill: AnyFill | None) -> Plans:
    """One part of three attributes of which two are asked, with half the budget each."""
    return (part_of((0, 1, 2), 2, fill),), THREE


def aligned(sizes: Sequence[int]) -> TableFill:
    """Each label of one attribute goes with a label of every other one, and now and then with its neighbour."""

    def rows(own: int, other: int) -> tuple[tuple[float, ...], ...]:
        chances = np.zeros((sizes[own], sizes[other]))
        for code in range(sizes[own]):
            place = code * sizes[other] // sizes[own]
            chances[code, place] += 0.875
            chances[code, (place + 1) % sizes[other]] += 0.125
        return tuple(map(tuple, chances.tolist()))

    places = table_places(len(sizes), 1)
    return TableFill(tuple(Table(pivots, other, rows(pivots[0], other)) for pivots, other in places))


def _tables(sizes: Sequence[int], pivots: int) -> TableFill:
    return table_fill(sizes, pivots, np.random.default_rng(3))


def _rows_of(sizes: Sequence[int]) -> RowFill:
    made_up = np.random.default_rng(4)
    return RowFill(tuple(nearest_distribution(made_up.dirichlet(np.ones(size))) for size in sizes))


PLANE: tuple[AnyChannel, ...] = (Geometry(2, 3),)
"""The channel for large domains at its smallest: seven codes for at most seven labels."""
LABELS: tuple[AnyChannel, ...] = (RandomizedResponse(),)
LARGE = (5, 3)


def large(fill: AnyFill | None) -> Plans:
    """One of two attributes asked, the first through the channel for large domains."""
    return (part_of((0, 1), 1, fill, channels=PLANE + LABELS),), LARGE


def decoys(number: int, fill: AnyFill | None, sizes: tuple[int, ...] = MIXED, pivots: int = 1) -> Plans:
    """One part with so many decoys."""
    return (part_of(tuple(range(len(sizes))), pivots, fill, number),), sizes


def classed(*probabilities: tuple[float | None, float | None]) -> AlignedFill:
    """Two, four and three labels in classes of unequal sizes; the last attribute has a class that no other one has."""
    pairs = {(0, 1): ((0, 1), (0, 1, 1, 1)), (0, 2): ((1, 0), (0, 2, 1)), (1, 2): ((1, 0, 1, 2), (3, 1, 2))}
    return AlignedFill(
        tuple(AlignedPair(pair, pairs[pair], own) for pair, own in zip(pairs, probabilities, strict=True))
    )


EXTENDED_PLANS: dict[str, Plans] = {
    "aligned": ((part_of((0, 1, 2), 1, classed((0.75, 0.125), (None, 0.0), (1.0, 0.25))),), MIXED),
    "aligned, groups": (
        (
            part_of((2, 0), 1, AlignedFill((AlignedPair((0, 1), ((0, 1, 0), (1, 0)), (0.875, 0.25)),))),
            part_of((1, 3), 1, UniformFill()),
        ),
        (2, 2, 3, 2),
    ),
    "aligned, large": large(AlignedFill((AlignedPair((0, 1), ((0, 0, 1, 2, 1), (2, 0, 1)), (None, 0.625)),))),
    "large, silent": large(None),
    "large, uniform": large(UniformFill()),
    "large, row": large(_rows_of(LARGE)),
    "large, copy": ((part_of((0, 1), 1, CopyFill(((1.0, 0.75), (0.25, 1.0))), channels=PLANE * 2),), (4, 4)),
    "large, one decoy": (
        (part_of((0, 1, 2), 1, UniformFill(), 1, channels=PLANE + LABELS + PLANE),),
        (5, 3, 4),
    ),
    "large, each alone": ((PartPlan((0,), 1, PLANE), PartPlan((1,), 1, LABELS)), LARGE),
    "one decoy, uniform": decoys(1, UniformFill()),
    "two decoys, uniform": decoys(2, UniformFill(), (2, 3, 2, 2)),
    "one decoy, copy": decoys(1, CopyFill(((1.0, 0.75, 0.5), (0.25, 1.0, 0.0), (0.125, 0.5, 1.0))), (3, 3, 3)),
    "one decoy, aligned": decoys(1, classed((0.75, 0.125), (None, 0.0), (1.0, 0.25))),
    "one decoy, table": decoys(1, _tables(MIXED, 1)),
    "one decoy, groups": (
        (part_of((4, 0, 2), 1, UniformFill(), 1), part_of((1, 3), 1, UniformFill())),
        (2, 2, 3, 2, 2),
    ),
    "two pivots, one decoy, uniform": decoys(1, UniformFill(), (2, 3, 2, 2), 2),
    "two pivots, one decoy, table": decoys(1, _tables((2, 3, 2, 2), 2), (2, 3, 2, 2), 2),
    "row": decoys(2, _rows_of(MIXED)),
    "one decoy, row": decoys(1, _rows_of(MIXED)),
    "groups, row": grouped(_rows_of((3, 3)), _rows_of((2, 2))),
    "groups, uniform": grouped(UniformFill(), UniformFill()),
    "groups, copy": grouped(CopyFill(((1.0, 0.75), (0.25, 1.0))), CopyFill(((1.0, 0.125), (0.5, 1.0)))),
    "groups, table": grouped(_tables((3, 3), 1), _tables((2, 2), 1)),
    "groups, silent": grouped(None, None),
    "groups, silent and table": grouped(None, _tables((2, 2), 1)),
    "two pivots, silent": two_of_three(None),
    "two pivots, uniform": two_of_three(UniformFill()),
    "two pivots, row": two_of_three(_rows_of(THREE)),
    "two pivots, table": two_of_three(_tables(THREE, 2)),
    "three pivots, table": ((part_of((0, 1, 2, 3), 3, _tables((2, 3, 2, 2), 3)),), (2, 3, 2, 2)),
    "two pivots in a group, table": (
        (part_of((3, 0, 2), 2, _tables((2, 2, 3), 2)), part_of((1,), 1, None)),
        (2, 3, 3, 2),
    ),
    "mixed sizes, aligned table": ((part_of((0, 1, 2), 1, aligned(MIXED)),), MIXED),
}
"""What a plan can state beyond the named mechanisms."""


def planned(plans: Plans) -> Callable[[float], Mechanism]:
    """The mechanism that parts describe."""
    return lambda epsilon: build(*plans, Fraction(epsilon))


EXTENSIONS: dict[str, Callable[[float], Mechanism]] = {name: planned(plans) for name, plans in EXTENDED_PLANS.items()}
"""The mechanisms of these plans, by their epsilon."""


@cache
def laws_of(name: str, epsilon: float) -> dict[tuple[int, ...], Law]:
    """The law of every record under one of the extensions."""
    return all_laws(EXTENSIONS[name](epsilon))


def all_laws(mechanism: Mechanism) -> dict[tuple[int, ...], Law]:
    """The law of every record; what a branch contributes to a report is computed once for each answer of its pivots."""
    for part in mechanism.parts:
        part.__dict__["branch_probability"] = cache(part.branch_probability)
    return {record: mechanism.law(record) for record in records_of(mechanism.sizes)}


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


@cache
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
    law = np.zeros(plan.mechanism.outputs)
    for record in np.ndindex(answers.shape):
        for report, chance in plan.mechanism.law(record).items():
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
    shape = tuple(int(top) + 1 for top in reports.max(axis=0))
    times = np.bincount(np.ravel_multi_index(tuple(reports.T.astype(np.int64)), shape), minlength=prod(shape))
    seen = {
        tuple(row): int(times[np.ravel_multi_index(row, shape)]) for row in np.argwhere(times.reshape(shape)).tolist()
    }
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


def exact_guess(part: Part, marginals: Sequence[Sequence[Fraction]]) -> Fraction:
    """How often the most probable branch of a part, given the sub-report, is the right one, in exact arithmetic."""

    def private(own: int, output: int) -> Fraction:
        known = enumerate(marginals[own])
        return sum((part.asked[own].probability(code, output) * chance for code, chance in known), start=Fraction(0))

    total = Fraction(0)
    for report in part.reports():
        codes = [private(own, output) for own, output in enumerate(report)]
        total += max(
            prod((codes[own] for own in branch), start=part.rest_probability(branch, report))
            for branch in part.branches
        )
    return total / len(part.branches)
