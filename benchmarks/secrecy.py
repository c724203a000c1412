"""What hiding the question costs: Corr-RR, Cond-RR and RS+RFD at the same bound on guessing which question was used.

`PRIVTALLY_DATA_DIR=data python -m benchmarks.secrecy [--runs 16] [--tables]` prints the tables of
docs/notes/secrecy.md: root mean squared errors in percentage points of the `pooled` estimate, both phases
simulated, a tenth of the people in Phase I, with their standard errors over the runs. With `--tables` it compares the
smoothing of Cond-RR's tables with none.
"""

import argparse
import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from unittest import mock

import msgspec
import numpy as np
from numpy.typing import NDArray

from privtally.collector.estimate import History, Phase, estimate
from privtally.collector.joint import shrunk
from privtally.collector.learn import learn, tables
from privtally.collector.tally import count_times
from privtally.documents.plan import Plan, design
from privtally.documents.sub_reports import SubReports, distinct
from privtally.errors import PlanError
from privtally.lab.paper.datasets import data_directory, read_lines
from privtally.lab.simulate import simulate
from privtally.mechanisms.fills import TableFill
from privtally.names import MechanismName
from privtally.schema import Records, Schema

Floats = NDArray[np.float64]

PHASE1_SHARE = 0.1
BOUNDS = (0.5, 1.0)
CAMPAIGNS = ((2_000, 1.0), (20_000, 2.0))
"""Numbers of people and budgets."""
MECHANISMS: tuple[MechanismName, ...] = ("corr-rr", "cond-rr", "rs-rfd")


@dataclass(frozen=True)
class Population:
    """Answers that people are drawn from."""

    name: str
    records: Records

    @property
    def frequencies(self) -> list[Floats]:
        """How frequent each answer is."""
        columns = zip(self.records.codes.T, self.records.schema.sizes, strict=True)
        return [np.bincount(column, minlength=size) / len(self.records) for column, size in columns]


def populations() -> Iterator[Population]:
    """Columns of the paper's files, and synthetic answers that copy the first one with probability ρ."""
    directory = data_directory(None)
    adult = [line.split(", ") for line in read_lines("adult/adult.data", directory)]
    mushroom = [line.split(",") for line in read_lines("mushroom/agaricus-lepiota.data", directory)]
    clave = [line.split() for line in read_lines("clave/ClaveVectors_Firm-Teacher_Model.txt", directory)]
    yield _of_columns("Adult: sex, race, marital status, relationship", adult, (9, 8, 5, 7))
    yield _of_columns("Adult: sex, income, relationship", adult, (9, 14, 7))
    yield _of_columns("Mushroom: class, bruises, gill size, stalk shape", mushroom, (0, 4, 8, 10))
    yield _of_columns("Mushroom: class, ring number, habitat, gill size", mushroom, (0, 18, 22, 8))
    yield _of_columns("Clave: four of sixteen beats", clave, (0, 4, 8, 12))
    for attributes, size, correlation in ((2, 4, 0.8), (4, 3, 0.8), (4, 4, 0.0)):
        yield synthetic(attributes, size, correlation)


def _of_columns(name: str, rows: Sequence[Sequence[str]], columns: Sequence[int]) -> Population:
    found = {f"q{column}": [row[column] for row in rows] for column in columns}
    labels = {question: sorted(set(answers)) for question, answers in found.items()}
    codes = [[labels[question].index(answer) for answer in answers] for question, answers in found.items()]
    return Population(name, Records(Schema.of(labels), np.array(codes, dtype=np.uint8).T))


def synthetic(attributes: int, size: int, correlation: float) -> Population:
    """Answers that copy a first one, or are drawn from frequencies of their own."""
    made_up = np.random.default_rng([attributes, size, int(10 * correlation)])
    laws = made_up.dirichlet(np.full(size, 2.0), attributes)
    fresh = [made_up.choice(size, 50_000, p=law) for law in laws]
    copied = made_up.random((attributes, 50_000)) < correlation
    columns = [np.where(copies, fresh[0], own) for copies, own in zip(copied, fresh, strict=True)]
    labels = [f"a{code}" for code in range(size)]
    schema = Schema.of({f"q{own}": labels for own in range(attributes)})
    name = f"{attributes} synthetic questions, {size} labels, ρ = {correlation:g}"
    return Population(name, Records(schema, np.column_stack(columns).astype(np.uint8)))


def campaign(
    population: Population, mechanism: MechanismName, people: int, epsilon: float, bound: float, run: int
) -> list[Phase]:
    """Both phases of a campaign. The same run has the same people whatever the mechanism and the bound."""
    digest = hashlib.sha256(f"{population.name} {people} {epsilon} {run}".encode()).digest()
    generator = np.random.default_rng(int.from_bytes(digest))
    records = population.records
    table = distinct(records.schema.sizes, records.codes, np.ones(len(records), dtype=np.int64))
    asked = [round(PHASE1_SHARE * people), people - round(PHASE1_SHARE * people)]
    history: list[Phase] = []
    for times in generator.multinomial(asked, table.times / len(records)):
        plan = design(records.schema, epsilon, mechanism)
        if history:
            plan = learn(history, people=asked[1], max_pivot_guess=bound)
        reports = simulate(plan.sampler, SubReports(table.codes[times > 0], times[times > 0]), generator)
        history.append((plan, count_times(plan, reports.codes, reports.times)))
    return history


def squared_error(population: Population, history: History) -> float:
    """The mean squared error of the frequencies of the pooled estimate."""
    found = estimate(history, "pooled").attributes.values()
    differences = [np.array(own.frequencies) - true for own, true in zip(found, population.frequencies, strict=True)]
    return float(np.mean([np.mean(own**2) for own in differences]))


def table_error(population: Population, plan: Plan) -> float:
    """The mean squared error of the rows of a plan's tables, each pivot's label counting as often as it occurs."""
    fill = plan.parts[0].fill
    assert isinstance(fill, TableFill)
    codes, sizes = population.records.codes, population.records.schema.sizes
    errors = []
    for table in fill.tables:
        joint = np.zeros((sizes[table.pivots[0]], sizes[table.other]))
        np.add.at(joint, (codes[:, table.pivots[0]], codes[:, table.other]), 1 / len(codes))
        marginal = joint.sum(axis=1)
        errors.append(float(marginal @ ((np.array(table.rows) - joint / marginal[:, None]) ** 2).mean(axis=1)))
    return float(np.mean(errors))


def points(squares: Sequence[float]) -> str:
    """A root mean squared error in percentage points, with its standard error over the runs."""
    root = float(np.sqrt(np.mean(squares)))
    spread = float(np.std(squares, ddof=1)) / len(squares) ** 0.5 / (2 * root)
    return f"{100 * root:.2f} ± {100 * spread:.2f}"


def row(population: Population, people: int, epsilon: float, cells: Sequence[str]) -> str:
    """A line of a table."""
    return f"| {population.name} | {people:,}, {epsilon:g} | " + " | ".join(cells) + " |"


def at_the_same_bound(runs: int) -> Iterator[str]:
    """The lines of the table of mechanisms."""
    titles = [f"{name}, G = {bound:g}" for bound in BOUNDS for name in MECHANISMS]
    yield "| answers | people, ε | " + " | ".join(titles) + " |"
    yield "|---" * (2 + len(titles)) + "|"
    for population in populations():
        for people, epsilon in CAMPAIGNS:
            yield row(
                population,
                people,
                epsilon,
                [_error(population, name, people, epsilon, bound, runs) for bound in BOUNDS for name in MECHANISMS],
            )


def _error(
    population: Population, mechanism: MechanismName, people: int, epsilon: float, bound: float, runs: int
) -> str:
    """A mechanism's error; none where the numbers of labels differ and the mechanism does not take that."""
    try:
        design(population.records.schema, epsilon, mechanism)
    except PlanError:
        return "–"
    histories = (campaign(population, mechanism, people, epsilon, bound, run) for run in range(runs))
    return points([squared_error(population, history) for history in histories])


def smoothing(runs: int) -> Iterator[str]:
    """The lines of the table of smoothing."""
    titles = [f"{what}: {how}" for what in ("tables", "guess", "G = 0.5", "G = 1") for how in ("as seen", "smoothed")]
    yield "| answers | people, ε | " + " | ".join(titles) + " |"
    yield "|---" * (2 + len(titles)) + "|"
    for population in populations():
        for people, epsilon in CAMPAIGNS:
            seen, smoothed = (_smoothed(population, people, epsilon, runs, how) for how in (_as_seen, shrunk))
            yield row(population, people, epsilon, [cell for both in zip(seen, smoothed, strict=True) for cell in both])


def _as_seen(noisy: Floats, _noise: float, _first: Floats, _second: Floats) -> Floats:
    return noisy


def _smoothed(
    population: Population,
    people: int,
    epsilon: float,
    runs: int,
    how: Callable[[Floats, float, Floats, Floats], Floats],
) -> list[str]:
    """With tables smoothed in this way: their error and guess without a bound, and the errors of the estimate."""
    with mock.patch.object(tables, "shrunk", how):
        bound, free = (
            [campaign(population, "cond-rr", people, epsilon, most, run) for run in range(runs)] for most in (0.5, 1.0)
        )
    learned = [history[1][0].learned for history in free]
    guesses = [float(own.pivot_guess) for own in learned if own and own.pivot_guess is not msgspec.UNSET]
    return [
        points([table_error(population, history[1][0]) for history in free]),
        f"{np.mean(guesses):.0%}",
        *(points([squared_error(population, history) for history in found]) for found in (bound, free)),
    ]


def main(arguments: Sequence[str]) -> None:
    """Print one of the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--tables", action="store_true")
    chosen = parser.parse_args(arguments)
    for line in (smoothing if chosen.tables else at_the_same_bound)(chosen.runs):
        print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
