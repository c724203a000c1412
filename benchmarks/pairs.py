"""What asking pairs together, and what several pivots are worth for two-way tables.

`python -m benchmarks.pairs` prints the table of docs/notes/two-way-tables.md: the variance of one entry of a two-way
table at uniform answers, from one report, by the exact laws. `measured` compares some of them with simulated reports.
`python -m benchmarks.pairs campaigns` prints the second table: the errors of two-way tables of whole campaigns.
`python -m benchmarks.pairs tables DIR` prints the third: the same on the tables of a directory, 20,000 people drawn
from each, pairs beside the better of spl and two pivots.
"""

import sys
from math import comb
from pathlib import Path

import numpy as np

from benchmarks.accuracy import Table
from privtally.collector.inverse import information, table_matrix
from privtally.collector.learn import learn
from privtally.collector.pairs import carried, estimate_pairs
from privtally.collector.tally import count_times
from privtally.collector.together import answers_of
from privtally.documents.campaign import Asking
from privtally.documents.counts import Counts, SubReports
from privtally.documents.plan import Plan, design
from privtally.lab.advise import Question, ways
from privtally.lab.population import seeded
from privtally.lab.simulate import simulate
from privtally.mechanisms.channels import Asked
from privtally.mechanisms.named import NAMED
from privtally.names import MechanismName
from privtally.schema import Schema

SHAPES = ((4, 2), (4, 4), (6, 4), (8, 3))
"""Questions, labels."""
BUDGETS = (1.0, 2.0, 4.0)
PEOPLE = 20_000


def plan_of(shape: tuple[int, int], epsilon: float, mechanism: MechanismName, pivots: int = 1) -> Plan:
    """A plan for questions with the same labels."""
    questions, labels = shape
    schema = Schema.of({f"q{own}": [f"a{code}" for code in range(labels)] for own in range(questions)})
    return design(schema, epsilon, mechanism, pivots=pivots, source=seeded(1))


def _answered(channel: Asked) -> float:
    """The variance of an entry from one report that answers both questions through this channel."""
    labels = channel.inputs
    back = np.linalg.inv(channel.push(np.eye(labels)).T)
    single = float(np.mean(back**2))
    return single**2 - 1 / labels**4


def exact(shape: tuple[int, int], epsilon: float, mechanism: MechanismName) -> float:
    """The variance of an entry at uniform answers, from one report."""
    if mechanism == "pairs":
        schema = plan_of(shape, epsilon, "spl").schema
        found = ways(schema, Question(1, epsilon, 1, pairs=True))
        return next(own.variances[0] for own in found if own.design.options == Asking("pairs").options)
    if mechanism == "spl":
        return _answered(plan_of(shape, epsilon, "spl").mechanism.parts[0].asked[0])
    (part,) = plan_of(shape, epsilon, mechanism, 2).mechanism.parts
    if part.silent:
        return comb(shape[0], 2) * _answered(part.asked[0])
    cells = table_matrix(part.sizes, part.pivots, (0, 1))
    spread = cells @ np.linalg.inv(information(part)) @ cells.T
    return float(spread.diagonal().mean())


def measured(shape: tuple[int, int], epsilon: float, mechanism: MechanismName, runs: int = 400) -> float:
    """The same from simulated reports: the spread of the first table over runs, times the people."""
    plan = plan_of(shape, epsilon, mechanism, pivots_of(mechanism))
    generator = np.random.default_rng(1)
    squares = []
    for _ in range(runs):
        codes = generator.integers(0, shape[1], (PEOPLE, shape[0]))
        history = [(plan, _counts(plan, codes, generator))]
        together = answers_of(history)
        found = carried(history[0], 0, 1) if together is None else together.table(0, 1)
        assert found is not None
        squares.append((found.frequencies - 1 / shape[1] ** 2) ** 2)
    return PEOPLE * float(np.mean(squares))


def _counts(plan: Plan, codes: np.ndarray, generator: np.random.Generator) -> Counts:
    reports = simulate(plan.mechanism, SubReports(*np.unique(codes, axis=0, return_counts=True)), generator)
    return count_times(plan, reports.codes, reports.times)


def going_together(generator: np.random.Generator, questions: int = 4, labels: int = 3) -> np.ndarray:
    """Answers that half of the time are those to the question before."""
    codes = generator.choice(labels, (PEOPLE, questions), p=generator.dirichlet(np.ones(labels)))
    for own in range(1, questions):
        same = generator.random(PEOPLE) < 0.5
        codes[same, own] = codes[same, own - 1]
    return codes


def pivots_of(mechanism: MechanismName) -> int:
    """How many pivots the first plan has where two answers are wanted of every report."""
    return 2 if mechanism in ("smp", "rs-fd") else 1


def error_of(schema: Schema, codes: np.ndarray, mechanism: MechanismName, epsilon: float, run: int) -> float:
    """The mean squared error of all two-way tables (likelihood) of a campaign with these people."""
    generator = np.random.default_rng(run)
    codes = codes[generator.integers(len(codes), size=PEOPLE)]
    learns = NAMED[mechanism].learns
    plan = design(schema, epsilon, mechanism, pivots=pivots_of(mechanism), source=seeded(1))
    people = PEOPLE // 10 if learns else PEOPLE
    history = [(plan, _counts(plan, codes[:people], generator))]
    if learns:
        plan = learn(history, people=PEOPLE - people, pivots=2)
        history.append((plan, _counts(plan, codes[people:], generator)))
    squares = []
    for found in estimate_pairs(history).tables:
        one, two = (schema.names.index(name) for name in found.attributes)
        shape = schema.sizes[one], schema.sizes[two]
        cells = np.bincount(codes[:, one] * shape[1] + codes[:, two], minlength=shape[0] * shape[1])
        squares.append(np.mean((np.array(found.frequencies) - cells.reshape(shape) / PEOPLE) ** 2))
    return float(np.mean(squares))


def campaign_error(mechanism: MechanismName, epsilon: float, run: int) -> float:
    """The same for four questions of three labels that go together."""
    schema = plan_of((4, 3), epsilon, "spl").schema
    return error_of(schema, going_together(np.random.default_rng(run)), mechanism, epsilon, run)


def campaigns(runs: int = 12) -> list[str]:
    """The lines of the table of simulated campaigns: root mean squared errors in percentage points."""
    names: tuple[MechanismName, ...] = ("pairs", "spl", "smp", "rs-fd", "rs-rfd", "cond-rr")
    lines = ["| ε | " + " | ".join(names) + " |", "|---" * (1 + len(names)) + "|"]
    for epsilon in (*BUDGETS, 8.0):
        errors = [np.mean([campaign_error(name, epsilon, run) for run in range(runs)]) for name in names]
        lines.append(f"| {epsilon:g} | " + " | ".join(f"{100 * np.sqrt(error):.2g}" for error in errors) + " |")
    return lines


def on_tables(directory: Path, runs: int = 4) -> list[str]:
    """The lines of the table of real tables: the error of pairs divided by that of the better of spl and two pivots."""
    lines, ratios = ["| | ε = 1 | ε = 2 |", "|---|---:|---:|"], []
    for path in sorted(directory.glob("*.csv")):
        table, cells = Table.read(path), []
        for epsilon in (1.0, 2.0):
            names: tuple[MechanismName, ...] = (
                ("pairs", "spl", "smp") if len(table.schema.names) > 2 else ("pairs", "spl")
            )
            errors = {
                name: np.mean([error_of(table.schema, table.codes, name, epsilon, run) for run in range(runs)])
                for name in names
            }
            cells.append(errors["pairs"] / min(errors[name] for name in names[1:]))
        ratios.append(cells)
        lines.append(f"| {table.name} | " + " | ".join(f"{ratio:.2f}" for ratio in cells) + " |")
    means = np.exp(np.mean(np.log(ratios), axis=0))
    return [*lines, "| all | " + " | ".join(f"{mean:.2f}" for mean in means) + " |"]


def table() -> list[str]:
    """The lines of the table."""
    lines = [
        "| d, k | ε = 1: pairs | spl | two pivots (smp) | hidden (rs-fd) | spl / pairs: ε = 1 | ε = 2 | ε = 4 "
        "| smp / pairs: ε = 1 | ε = 2 | ε = 4 |",
        "|---" * 11 + "|",
    ]
    names: tuple[MechanismName, ...] = ("pairs", "spl", "smp", "rs-fd")
    for shape in SHAPES:
        found = {(name, epsilon): exact(shape, epsilon, name) for name in names for epsilon in BUDGETS}
        cells = [", ".join(map(str, shape)), *(f"{found[name, 1.0]:,.0f}" for name in names)]
        for name in ("spl", "smp"):
            cells += [f"{found[name, epsilon] / found['pairs', epsilon]:.2g}" for epsilon in BUDGETS]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


if __name__ == "__main__":
    if sys.argv[1:] == ["measured"]:
        for shape in SHAPES[:2]:
            for mechanism in ("pairs", "spl", "smp", "rs-fd"):
                found = measured(shape, 2.0, mechanism)
                print(f"{shape}, ε = 2, {mechanism}: {exact(shape, 2.0, mechanism):.4g}, simulated {found:.4g}")
    elif sys.argv[1:] == ["campaigns"]:
        print("\n".join(campaigns()))
    elif sys.argv[1:2] == ["tables"]:
        print("\n".join(on_tables(Path(sys.argv[2]))))
    else:
        print("\n".join(table()))
