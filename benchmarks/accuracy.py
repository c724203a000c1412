"""The study: what `run` chooses by itself beside the classical mechanisms, on real tables and on simulated people.

`python -m benchmarks.accuracy [--tables DIR] [--runs 10] [--notes docs/notes]`

A cell is a population, a number of people and an ε. The score is the paper's: the mean over questions of the mean
squared error of an answer's frequency, next to that of the people asked. The classical mechanisms are SPL, RS+FD,
RS+RFD and Corr-RR by both of the paper's rules, each with the paper's estimate projected to proper frequencies, and the
best of them in each cell is the rival. The default is what `run` does, hidden among 2. Ratios are geometric means. With
`--tables` (files of one column a question, as `run` reads them) the tables are measured too. `--notes` writes a page of
tables. Every cell takes its random numbers from its own name.
"""

import argparse
import csv
import hashlib
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import msgspec
import numpy as np

from privtally.collector.estimate import estimate
from privtally.collector.inverse import project_to_simplex
from privtally.collector.learn import learn_with
from privtally.collector.tally import count
from privtally.documents.campaign import Asking, drive
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.exact.randomness import Source
from privtally.exact.types import Codes, Floats
from privtally.lab.advise import recommend
from privtally.lab.compare import run_jobs
from privtally.lab.population import Synthetic, seeded
from privtally.mechanisms.named import NAMED
from privtally.names import Method
from privtally.participant.respond import respond_many
from privtally.schema import Records, Schema, code_type

PEOPLE, EPSILONS = (1_000, 5_000, 20_000), (0.5, 1.0, 2.0, 4.0)
RUNS = 10
Ways = dict[str, tuple[Asking, Method]]
CLASSICAL: Ways = {
    "SPL": (Asking("spl"), "paper"),
    "RS+FD": (Asking("rs-fd"), "paper"),
    "RS+RFD": (Asking("rs-rfd"), "paper"),
    "Corr-RR, published": (Asking.of("corr-rr", rule="published"), "paper"),
    "Corr-RR, proposition": (Asking.of("corr-rr", rule="proposition"), "paper"),
}
OTHERS: Ways = {
    "SMP": (Asking("smp"), "likelihood"),
    "Corr-RR": (Asking("corr-rr"), "likelihood"),
    "Cond-RR": (Asking("cond-rr"), "likelihood"),
}
DEFAULT = "default"


@dataclass(frozen=True)
class Table:
    """Records with a name: those of a file, or a large number drawn from a simulated population."""

    name: str
    schema: Schema
    codes: np.ndarray

    @classmethod
    def read(cls, path: Path) -> "Table":
        """A file of one column a question; its labels are the distinct values."""
        with path.open(newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        labels = [sorted({row[own] for row in rows}) for own in range(len(header))]
        codes = [[labels[own].index(cell) for own, cell in enumerate(row)] for row in rows]
        return cls(path.stem, Schema.of(dict(zip(header, labels, strict=True))), np.array(codes))

    @classmethod
    def drawn(cls, name: str, law: Floats) -> "Table":
        """Records of a law, questions with the same labels."""
        cells = np.random.default_rng(1).choice(law.size, 200_000, p=law.ravel())
        labels = [f"a{code}" for code in range(law.shape[0])]
        schema = Schema.of({f"q{own}": labels for own in range(law.ndim)})
        return cls(name, schema, np.stack(np.unravel_index(cells, law.shape), axis=1))


def simulated() -> list[Table]:
    """The paper's populations, alike and unlike, and unlike questions with frequencies of their own."""
    found = []
    for (attributes, size), uncopied in product(((2, 4), (4, 4), (6, 2)), ("domain", "same", "reversed")):
        law = Synthetic("SynA", attributes, size, 0.5, "falling", uncopied).law()  # type: ignore[arg-type]
        found.append(Table.drawn(f"SynA, d = {attributes}, k = {size}, {uncopied}", law))
    for attributes, size in ((4, 4), (8, 3)):
        generator = np.random.default_rng(attributes)
        law = np.ones(())
        for _ in range(attributes):
            law = np.multiply.outer(law, generator.dirichlet(np.ones(size)))
        found.append(Table.drawn(f"Dirichlet(1), d = {attributes}, k = {size}", law))
    return found


def errors_of(table: Table, people: int, epsilon: float, runs: int) -> dict[str, float | None]:
    """The mean squared error of every way on one cell; None where a mechanism does not take these questions."""
    chosen = recommend(table.schema, epsilon, people).design
    ways: Ways = {**CLASSICAL, **OTHERS, DEFAULT: (chosen, "likelihood")}
    return {name: _error_of(table, people, epsilon, runs, name, *way) for name, way in ways.items()}


def _error_of(
    table: Table, people: int, epsilon: float, runs: int, name: str, asking: Asking, method: Method
) -> float | None:
    digest = hashlib.sha256(f"{table.name} {people} {epsilon} {name}".encode()).digest()
    generator, source = np.random.default_rng(int.from_bytes(digest)), seeded(int.from_bytes(digest[:8]))
    first = asking.learning.phase1_people(people)
    learning = msgspec.structs.replace(asking.learning, people=people - first)
    squares = []
    for _ in range(runs):
        codes = table.codes[generator.integers(len(table.codes), size=people)].astype(code_type(table.schema.sizes))
        try:
            plan = asking.first_plan(table.schema, epsilon, source=seeded(1))
            phases = [codes[:first], codes[first:]] if NAMED[plan.name].learns else [codes]
            history = drive(plan, partial(_collect, phases=phases, source=source), partial(learn_with, learning))
        except ValueError:  # equal labels are needed, or tables would be too large
            return None
        found = estimate(history, method).attributes.values()
        own = [project_to_simplex(np.array(each.frequencies)) for each in found]
        truth = [
            np.bincount(column, minlength=size) / people
            for column, size in zip(codes.T, table.schema.sizes, strict=True)
        ]
        squares.append(np.mean([np.mean((one - two) ** 2) for one, two in zip(own, truth, strict=True)]))
    return float(np.mean(squares))


def _collect(plan: Plan, phases: Sequence[Codes], source: Source) -> Counts:
    return count(plan, respond_many(plan, Records(plan.schema, phases[plan.phase - 1]), source).codes)


def ratios(errors: dict[str, float | None]) -> dict[str, float]:
    """Every way's error divided by that of the best classical mechanism."""
    known = {name: error for name, error in errors.items() if error is not None}
    rival = min(error for name, error in known.items() if name in CLASSICAL)
    return {name: error / rival for name, error in known.items()}


def mean(values: Sequence[float]) -> float:
    """The geometric mean."""
    return float(np.exp(np.mean(np.log(values))))


def lines_of(found: dict[tuple[str, int, float], dict[str, float]]) -> list[str]:
    """The study as a table: a row for each population, then by ε and by people."""
    names = [DEFAULT, *OTHERS]
    rows: dict[str, list[dict[str, float]]] = {}
    for (table, people, epsilon), own in found.items():
        for row in (table, f"ε = {epsilon:g}", f"{people:,} people", "all"):
            rows.setdefault(row, []).append(own)
    lines = [f"| | {' | '.join(names)} |", f"|---{'|---:' * len(names)}|"]
    for row, cells in sorted(rows.items(), key=lambda item: (item[0] == "all", item[0][0] in "ε0123456789", item[0])):
        values = [[cell[name] for cell in cells if name in cell] for name in names]
        lines.append(f"| {row} | {' | '.join(f'{mean(own):.2f}' if own else '–' for own in values)} |")
    return lines


def rewrite(path: Path, program: str, tables: str) -> None:
    """Replace what a program wrote on a page before."""
    head, begin, rest = path.read_text().partition(f"<!-- written by {program} -->")
    _, end, tail = rest.partition("<!-- end -->")
    if not begin or not end:
        raise SystemExit(f"{path} has no place for {program}")
    path.write_text(f"{head}{begin}\n\n{tables}\n\n{end}{tail}")


def main() -> None:
    """Run the study and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--notes", type=Path)
    chosen = parser.parse_args()
    begin = time.perf_counter()
    tables = [Table.read(path) for path in sorted(chosen.tables.glob("*.csv"))] if chosen.tables else []
    pages = []
    for title, own in (("Real tables", tables), ("Simulated people", simulated())):
        jobs = [(table, people, epsilon, chosen.runs) for table, people, epsilon in product(own, PEOPLE, EPSILONS)]

        def progress(done: int, many: int = len(jobs)) -> None:
            print(f"\r{done} of {many} cells", end="", file=sys.stderr, flush=True)

        errors = run_jobs(errors_of, jobs, os.cpu_count() or 1, progress)
        found = {(job[0].name, job[1], job[2]): ratios(each) for job, each in zip(jobs, errors, strict=True)}
        if found:
            pages += [f"### {title}", "", *lines_of(found), ""]
            print("\n" + "\n".join(pages[-len(lines_of(found)) - 3 :]))
    print(f"{time.perf_counter() - begin:.0f} s on {os.cpu_count()} cores")
    if chosen.notes:
        rewrite(chosen.notes / "accuracy.md", "benchmarks.accuracy", "\n".join(pages).strip())


if __name__ == "__main__":
    main()
