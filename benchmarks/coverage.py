"""How often 95 % intervals hold the truth, answer by answer, for every mechanism and option.

`python -m benchmarks.coverage [--runs 600] [--again 5000] [--people 300 1000 5000] [--epsilon 0.5 1 2 4] [--only TEXT]`

The truth is a fixed population, with answers of 85, 40, 5 and 1 %, alike and unlike questions, numbers in bins, a
question that may be skipped, and 87 labels with a long tail; people are drawn from it in every run, and answers go
together. Reports are drawn without users wherever the table of records is small, so that a run takes some milliseconds.
An answer whose intervals hold less than 93 % of the time is looked at once more, with `--again` new runs, and what was
seen then counts: it must reach 92 %, or 90 % where fewer than 50 people answer the question. Prints the worst answers
by name; exits with 1 if one is below its bar.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import msgspec
import numpy as np

from privtally.collector.estimate import estimate
from privtally.collector.learn import learn_with
from privtally.collector.tally import count, count_times
from privtally.documents.campaign import Asking, Learning, Phase, drive
from privtally.documents.counts import Counts, distinct
from privtally.documents.estimate import Estimate
from privtally.documents.plan import Plan, design
from privtally.exact.types import Floats, Integers
from privtally.lab import population as survey
from privtally.lab.compare import run_jobs
from privtally.lab.population import seeded
from privtally.lab.simulate import simulate
from privtally.mechanisms.named import NAMED
from privtally.mechanisms.together import Together
from privtally.names import MECHANISMS
from privtally.participant.respond import respond_many
from privtally.schema import Attribute, Records, Schema, code_type

RUNS, AGAIN = 600, 5_000
PEOPLE, EPSILONS = (300, 1_000, 5_000), (0.5, 1.0, 2.0, 4.0)
SUSPECT, BAR, BAR_OF_FEW, FEW = 0.93, 0.92, 0.90, 50
EXACT_RECORDS = 1 << 12
SHOWN = 12
SCALE = ("never", "rarely", "weekly", "daily")


@dataclass(frozen=True)
class Population:
    """Questions, and the law of the answers of two kinds of people, of whom `share` are of the first."""

    schema: Schema
    laws: Sequence[tuple[Floats, Floats]]
    share: float = 0.5

    @property
    def truth(self) -> list[Floats]:
        """The frequencies of every question."""
        return [self.share * one + (1 - self.share) * two for one, two in self.laws]

    def people(self, number: int, generator: np.random.Generator) -> Integers:
        """Records of people: the answers of one kind of people go together."""
        kind = (generator.random(number) >= self.share).astype(int)
        columns = []
        for own in self.laws:
            edges = np.cumsum(np.array(own), axis=1)[:, :-1]
            columns.append((generator.random(number)[:, None] > edges[kind]).sum(axis=1))
        return np.column_stack(columns)


def _around(*shares: float) -> tuple[Floats, Floats]:
    """Two kinds of people whose mean has these shares."""
    law = np.array(shares) / sum(shares)
    turned = np.roll(law, 1)
    away = 0.5 * min(1.0, float((law / np.maximum(turned, 1e-9)).min()), float(((1 - law) / (1 - turned + 1e-9)).min()))
    return law + away * (turned - law), law - away * (turned - law)


ALIKE = Population(
    Schema.of(dict.fromkeys(("sleep", "mood", "meals", "drinks"), SCALE)),
    [_around(85, 8, 5, 2), _around(40, 35, 20, 5), _around(54, 40, 5, 1), _around(25, 25, 25, 25)],
)
MIXED = Population(
    Schema(
        (
            Attribute("smokes", ("no", "yes")),
            Attribute("travel", ("walk", "bicycle", "bus", "car", "other")),
            Attribute("pet", ("cat", "dog", "none"), optional=True),
            Attribute("age", bins=(0, 18, 40, 65, 120)),
        )
    ),
    [_around(85, 15), _around(40, 25, 29, 5, 1), _around(30, 25, 30, 15), _around(15, 40, 30, 15)],
)
LONG = Population(
    Schema((Attribute("town", tuple(f"town {own}" for own in range(87))), Attribute("sleep", SCALE))),
    [_around(*(1 / rank for rank in range(1, 88))), _around(85, 8, 5, 2)],
)


@dataclass(frozen=True)
class Option:
    """A population, and how it is asked."""

    population: Population
    asking: Asking
    rounds: int = 1


PAIRS = (("smokes", "pet"), ("travel", "age"))
OPTIONS = {
    **{name: Option(ALIKE, Asking(name)) for name in MECHANISMS},
    **{f"{name}, unlike": Option(MIXED, Asking(name)) for name in MECHANISMS},
    **{f"rs-fd, {many} decoys": Option(ALIKE, Asking("rs-fd", decoys=many)) for many in (1, 2)},
    "rs-fd, one decoy, unlike": Option(MIXED, Asking("rs-fd", decoys=1)),
    "rs-rfd, one decoy, unlike": Option(MIXED, Asking("rs-rfd", decoys=1)),
    "cond-rr, one decoy, unlike": Option(MIXED, Asking("cond-rr", decoys=1)),
    "corr-rr, one decoy": Option(ALIKE, Asking("corr-rr", decoys=1)),
    "corr-rr, published": Option(ALIKE, Asking("corr-rr", learning=Learning(rule="published"))),
    "smp, groups": Option(MIXED, Asking("smp", PAIRS)),
    "rs-fd, groups": Option(MIXED, Asking("rs-fd", PAIRS)),
    "cond-rr, groups": Option(MIXED, Asking("cond-rr", PAIRS)),
    "smp, two pivots": Option(MIXED, Asking("smp", pivots=2)),
    "rs-fd, two pivots": Option(MIXED, Asking("rs-fd", pivots=2)),
    "spl, 87 labels": Option(LONG, Asking("spl")),
    "smp, 87 labels": Option(LONG, Asking("smp")),
    "rs-fd, 87 labels": Option(LONG, Asking("rs-fd")),
    "one decoy, three rounds": Option(MIXED, Asking("rs-fd", decoys=1), rounds=3),
}
Cell = tuple[str, int, float]


def plans_of(option: Option, epsilon: float) -> Plan:
    """The first plan of a campaign, the same in every run."""
    return option.asking.first_plan(option.population.schema, epsilon, source=seeded(1))


def counted(plan: Plan, codes: Integers, generator: np.random.Generator) -> Counts:
    """The counts of these people's reports."""
    if np.prod(plan.schema.sizes) <= EXACT_RECORDS:
        reports = simulate(plan.mechanism, distinct(plan.schema.sizes, codes, np.ones(len(codes), np.int64)), generator)
        return count_times(plan, reports.codes, reports.times)
    records = Records(plan.schema, codes.astype(code_type(plan.schema.sizes)))
    return count(plan, respond_many(plan, records, seeded(int(generator.integers(1 << 62)))).codes)


def campaign(option: Option, first: Plan, people: int, generator: np.random.Generator) -> list[Phase]:
    """A campaign of people drawn from the population."""
    learning, asked = option.asking.learning, [people]
    if NAMED[option.asking.mechanism].learns:
        asked = [learning.phase1_people(people)]
        asked.append(people - asked[0])
        learning = msgspec.structs.replace(learning, people=asked[1])

    def collect(plan: Plan) -> Counts:
        return counted(plan, option.population.people(asked[plan.learned is not None], generator), generator)

    return drive(first, collect, partial(learn_with, learning), rounds=option.rounds)


def held_in(found: Estimate, population: Population) -> Iterator[tuple[str, bool]]:
    """Whether each interval of an estimate holds, by the name of what it is about."""
    for attribute, true in zip(population.schema.attributes, population.truth, strict=True):
        own = found.attributes[attribute.name]
        assert own.low
        assert own.high
        for label, low, share, high in zip(own.labels, own.low, true, own.high, strict=True):
            yield f"{attribute.name}: {label}", low <= share <= high
        if own.answered is not msgspec.UNSET:
            assert own.answered.low
            assert own.answered.high
            among = true[:-1] / true[:-1].sum()
            for label, low, share, high in zip(own.labels, own.answered.low, among, own.answered.high, strict=False):
                yield f"{attribute.name}: {label} among those who answered", low <= share <= high
        if own.mean is not msgspec.UNSET and attribute.ranges is not None:
            middle = [
                (low + high) / 2 for low, high in zip(attribute.ranges.lowest, attribute.ranges.highest, strict=True)
            ]
            yield f"{attribute.name}: mean", own.mean.low <= float(true @ middle) <= own.mean.high
        if own.quantiles is not msgspec.UNSET and attribute.ranges is not None:
            for each in own.quantiles:
                code = int(np.searchsorted(np.cumsum(true), each.share - 1e-9))
                low, high = attribute.ranges.lowest[code], attribute.ranges.highest[code]
                yield f"{attribute.name}: quantile {each.share}", each.low <= high and low <= each.high


def coverage(cell: Cell, runs: int, seed: int) -> dict[str, float]:
    """The share of runs in which each interval of a cell holds."""
    name, people, epsilon = cell
    option = OPTIONS[name]
    generator = np.random.default_rng([seed, people, round(1000 * epsilon), sum(map(ord, name))])
    first = plans_of(option, epsilon)
    held: dict[str, list[bool]] = {}
    for _ in range(runs):
        for what, holds in held_in(estimate(campaign(option, first, people, generator)), option.population):
            held.setdefault(what, []).append(holds)
    return {what: float(np.mean(each)) for what, each in held.items()}


def _of_phase(plan: Plan, asked: Sequence[Integers], generator: np.random.Generator) -> Counts:
    return counted(plan, asked[plan.phase - 1], generator)


def demo(runs: int, seed: int) -> dict[str, float]:
    """The demo with 500 people: corr-rr at ε = 2, its survey's own law."""
    many = survey.simulate(2_000_000, seeded(seed)).frequencies()
    generator, source = np.random.default_rng(seed), seeded(seed + 1)
    first = design(survey.SCHEMA, 2.0, "corr-rr", source=seeded(1))
    held: dict[str, list[bool]] = {}
    for _ in range(runs):
        codes = survey.simulate(500, source).codes.astype(np.int64)
        asked = codes[:50], codes[50:]
        collect = partial(_of_phase, asked=asked, generator=generator)
        history = drive(first, collect, partial(learn_with, Learning(people=450)))
        for name, own in estimate(history).attributes.items():
            for label, low, true, high in zip(own.labels, own.low or (), many[name], own.high or (), strict=True):
                held.setdefault(f"{name}: {label}", []).append(low <= true <= high)
    return {what: float(np.mean(each)) for what, each in held.items()}


def answering(cell: Cell) -> float:
    """How many people answer a question of a cell, on average."""
    name, people, epsilon = cell
    mechanism = plans_of(OPTIONS[name], epsilon).mechanism
    if isinstance(mechanism, Together):
        return people * len(mechanism.sets[0]) / len(mechanism.sizes)
    part = mechanism.parts[0]
    return people * part.pivots / len(part.attributes)


def main() -> None:
    """Measure every cell, look at suspects again, and say what is below its bar."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--again", type=int, default=AGAIN)
    parser.add_argument("--people", type=int, nargs="+", default=PEOPLE)
    parser.add_argument("--epsilon", type=float, nargs="+", default=EPSILONS)
    parser.add_argument("--only", default="", help="options whose name has this text")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    begin = time.perf_counter()
    cells = [(name, *own) for name, *own in product(OPTIONS, chosen.people, chosen.epsilon) if chosen.only in name]
    workers = os.cpu_count() or 1

    def progress(done: int) -> None:
        print(f"\r{done} of {len(cells)} cells", end="", file=sys.stderr, flush=True)

    first = run_jobs(coverage, [(cell, chosen.runs, chosen.seed) for cell in cells], workers, progress)
    found: dict[tuple[str, str], tuple[float, float]] = {}
    suspects = []
    for cell, held in zip(cells, first, strict=True):
        where = f"{cell[0]}, {cell[1]:,} people, ε = {cell[2]:g}"
        bar = BAR if answering(cell) >= FEW else BAR_OF_FEW
        found |= {(where, what): (share, bar) for what, share in held.items()}
        if min(held.values()) < SUSPECT:
            suspects.append((cell, where, bar, [what for what, share in held.items() if share < SUSPECT]))
    least = sorted((share, where, what) for (where, what), (share, _) in found.items())[:SHOWN]
    print(
        f"{len(found):,} intervals in {chosen.runs} runs each, {np.mean([own[0] for own in found.values()]):.1%} held"
    )
    print("\n".join(f"  {share:.1%}  {what}  ({where})" for share, where, what in least))
    print(f"{len(suspects)} of {len(cells)} cells have one below {SUSPECT:.0%} and are looked at again.", flush=True)
    again = run_jobs(coverage, [(own[0], chosen.again, chosen.seed + 1) for own in suspects], workers, lambda _: None)
    for (_, where, bar, names), held in zip(suspects, again, strict=True):
        found |= {(where, what): (held[what], bar) for what in names}
    if not chosen.only or chosen.only in "demo":
        found |= {("demo, 500 people", what): (share, BAR_OF_FEW) for what, share in demo(chosen.runs, 1).items()}
    shares = sorted((share, where, what) for (where, what), (share, _) in found.items())
    below = [(share, where, what) for share, where, what in shares if share < found[where, what][1]]
    print(
        f"{len(cells)} cells, {len(found):,} intervals, {chosen.runs} runs each; {len(suspects)} cells looked at again."
    )
    print(f"Mean {np.mean([own[0] for own in shares]):.1%}; the worst:")
    for share, where, what in shares[:SHOWN]:
        print(f"  {share:.1%}  {what}  ({where})")
    print(f"{len(below)} below their bar; {time.perf_counter() - begin:.0f} s on {workers} cores.")
    sys.exit(1 if below else 0)


if __name__ == "__main__":
    main()
