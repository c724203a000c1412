"""Corr-RR through alignments against doing without: even fills, Cond-RR and SMP, on questions of different lengths.

`python -m benchmarks.alignments [--population alike] [--runs 20] [--people 20000] [--seed 1]` prints the tables of
docs/notes/alignments.md. Adult needs the UCI files, in the directory that PRIVTALLY_DATA_DIR names. Errors are mean
squared errors, over labels, then over questions, then over runs.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import privtally
from privtally.exact.randomness import SystemSource
from privtally.exact.types import Floats
from privtally.lab.paper.data import data_directory, read_lines
from privtally.lab.population import seeded
from privtally.mechanisms.named import coarsened
from privtally.names import MechanismName, Method, Rule
from privtally.schema import Attribute, Records, Schema

BUDGETS = (0.5, 1.0, 2.0, 4.0)
SIZES = (4, 6, 8)


@dataclass(frozen=True)
class Campaign:
    """A mechanism with what it needs to know."""

    mechanism: MechanismName
    rule: Rule | None = None
    method: Method = "likelihood"
    coarse: bool = False


CAMPAIGNS: Mapping[str, Campaign] = {
    "rs-fd": Campaign("rs-fd"),
    "corr-rr, robust": Campaign("corr-rr"),
    "corr-rr, proposition": Campaign("corr-rr", "proposition"),
    "corr-rr, proposition, `paper`": Campaign("corr-rr", "proposition", method="paper"),
    "cond-rr": Campaign("cond-rr"),
    "smp": Campaign("smp"),
}
COARSE: Mapping[str, Campaign] = {
    "rs-fd, labels added up": Campaign("rs-fd"),
    "corr-rr, labels added up": Campaign("corr-rr"),
    "--coarsen, robust": Campaign("corr-rr", coarse=True),
    "--coarsen, published, `paper`": Campaign("corr-rr", "published", method="paper", coarse=True),
    "smp, labels added up": Campaign("smp"),
}

Draw = Callable[[int, np.random.Generator], Records]


def ordered(name: str, size: int) -> Attribute:
    """An ordered question with labels of its own."""
    return Attribute(name, tuple(f"{name}{code}" for code in range(size)), ordered=True)


MADE_UP = Schema(tuple(ordered(name, size) for name, size in zip("abc", SIZES, strict=True)))


def alike(people: int, generator: np.random.Generator) -> Records:
    """The same totals of four classes in every question, and within a class all labels as frequent."""
    totals = generator.dirichlet(np.ones(min(SIZES)))
    laws = []
    for size in SIZES:
        classes = np.arange(size) * min(SIZES) // size
        laws.append(totals[classes] / np.bincount(classes)[classes])
    return _drawn(laws, people, generator)


def unlike(people: int, generator: np.random.Generator) -> Records:
    """Every question with a distribution of its own."""
    return _drawn([generator.dirichlet(np.ones(size)) for size in SIZES], people, generator)


def _drawn(laws: Sequence[Floats], people: int, generator: np.random.Generator) -> Records:
    columns = [generator.choice(len(law), people, p=law) for law in laws]
    return Records(MADE_UP, np.column_stack(columns).astype(np.uint8))


def adult() -> Draw:
    """Education (16 levels, in order), age and working hours in bins, of people drawn from the census."""
    directory = data_directory(None)
    lines = [*read_lines("adult/adult.data", directory), *read_lines("adult/adult.test", directory)[1:]]
    rows = [line.split(", ") for line in lines]
    level = {row[3]: int(row[4]) for row in rows}
    schema = Schema(
        (
            Attribute("education", tuple(sorted(level, key=lambda label: level[label])), ordered=True),
            Attribute("age", bins=(17, 25, 35, 45, 55, 65, 91)),
            Attribute("hours", bins=(1, 20, 36, 41, 50, 100)),
        )
    )
    codes = np.array([schema.codes_of((row[3], row[0], row[12]), SystemSource()) for row in rows], dtype=np.uint8)
    return lambda people, generator: Records(schema, codes[generator.choice(len(codes), people, replace=False)])


POPULATIONS: Mapping[str, Callable[[], Draw]] = {"alike": lambda: alike, "unlike": lambda: unlike, "adult": adult}


def class_totals(schema: Schema) -> list[Floats]:
    """For each question the matrix from frequencies of labels to those of classes."""
    coarse = coarsened(schema)
    found = []
    for own, merged in zip(schema.attributes, coarse.attributes, strict=True):
        answers = own.labels if own.numbers is None else tuple(map(str, own.numbers.edges[:-1]))
        found.append(np.eye(merged.size)[[int(merged.place_of[answer]) for answer in answers]].T)
    return found


def error(people: Records, epsilon: float, campaign: Campaign, seed: int, *, classes: bool) -> float:
    """The mean squared error of one campaign, of frequencies of labels or of classes."""
    truth = [np.array(own) for own in people.frequencies().values()]
    asked = people
    if classes:
        sums = class_totals(people.schema)
        truth = [matrix @ own for matrix, own in zip(sums, truth, strict=True)]
        if campaign.coarse:
            merged = [matrix.argmax(axis=0)[own] for matrix, own in zip(sums, people.codes.T, strict=True)]
            asked = Records(coarsened(people.schema), np.column_stack(merged))
    mechanism, method, source = campaign.mechanism, campaign.method, seeded(seed)
    result = privtally.run(
        asked, asked.schema, epsilon, mechanism=mechanism, method=method, source=source, rule=campaign.rule
    )
    found = [np.array(own.frequencies) for own in result.estimate.attributes.values()]
    if classes and not campaign.coarse:
        found = [matrix @ own for matrix, own in zip(sums, found, strict=True)]
    return float(np.mean([np.mean((one - two) ** 2) for one, two in zip(found, truth, strict=True)]))


def table(
    draw: Draw, campaigns: Mapping[str, Campaign], people: int, runs: int, seed: int, *, classes: bool = False
) -> Iterator[str]:
    """The lines of a table: the first campaign's error, and the others' divided by it."""
    yield "| | " + " | ".join(f"ε = {epsilon:g}" for epsilon in BUDGETS) + " |"
    yield "|---" * (1 + len(BUDGETS)) + "|"
    errors = {name: np.zeros((len(BUDGETS), runs)) for name in campaigns}
    for place, epsilon in enumerate(BUDGETS):
        for run in range(runs):
            drawn = draw(people, np.random.default_rng((seed, run)))
            for name, campaign in campaigns.items():
                errors[name][place, run] = error(drawn, epsilon, campaign, seed * 1_000 + run, classes=classes)
    first = next(iter(errors.values())).mean(axis=1)
    for number, (name, own) in enumerate(errors.items()):
        cells = [
            f"{value:.2g}" if not number else f"{value:.2f}" for value in own.mean(axis=1) / (first ** bool(number))
        ]
        yield f"| {name} | " + " | ".join(cells) + " |"


def main() -> None:
    """Print every table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--population", choices=POPULATIONS, nargs="*", default=list(POPULATIONS))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for name in options.population:
        draw = POPULATIONS[name]()
        for title, campaigns, classes in (("labels", CAMPAIGNS, False), ("class totals", COARSE, True)):
            print(f"\n{name}, {title}\n", flush=True)
            lines = table(draw, campaigns, options.people, options.runs, options.seed, classes=classes)
            print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main()
