"""The paper's experiments, point by point, over several processes; the seed alone decides every number."""

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.random import Generator

from privtally.collector.copies import COPY_RULES
from privtally.errors import DocumentError
from privtally.exact.types import Floats, Integers
from privtally.lab.compare import run_jobs
from privtally.lab.paper.data import load_dataset, published_error
from privtally.lab.population import First, Synthetic, marginals, split_people, table_of
from privtally.lab.simulate import mean_squared_error
from privtally.mechanisms.channels import Keep, randomized_response
from privtally.names import Rule

BLOCK_CELLS = 1 << 20
"""How many records' counts are held at once, over all runs of a block."""

PaperMethod = Literal["SPL", "RS+FD", "RS+RFD", "Corr-RR"]
PAPER_METHODS: tuple[PaperMethod, ...] = ("SPL", "RS+FD", "RS+RFD", "Corr-RR")


@dataclass(frozen=True)
class Setting:
    """Everything that a point depends on. `population` is synthetic, or the name of a real dataset."""

    population: Synthetic | str
    people: int
    epsilon: float
    phase1_share: float
    rule: Rule = "published"
    clip_rs_rfd: bool = True

    @property
    def phases(self) -> tuple[int, int]:
        first = round(self.phase1_share * self.people)
        return first, self.people - first

    def describe(self) -> dict[str, Any]:
        """Every convention by name."""
        if isinstance(self.population, str):
            population = {"dataset": self.population, "sampling": "the authors' rows, split at random"}
        else:
            short = {"kind": "dataset", "attributes": "d", "size": "k", "correlation": "rho"}
            population = {short.get(name, name): value for name, value in asdict(self.population).items()}
            population["parent"] = "attribute"
        return {
            **population,
            "n": self.people,
            "epsilon": self.epsilon,
            "phase1_share": self.phase1_share,
            "rule": self.rule,
            "budget": "nominal epsilon for every method",
            "phase1": "SPL, raw",
            "phases": "weighted by their numbers of people",
            "rs_rfd_priors": "Phase I clipped at 0 and divided by its sum",
            "rs_rfd_phase2": "clipped to [0, 1] and divided by its sum" if self.clip_rs_rfd else "raw",
        }


def run_errors(
    setting: Setting,
    methods: Sequence[PaperMethod],
    runs: int,
    generator: Generator,
    table: Integers | None = None,
) -> Mapping[PaperMethod, Floats]:
    """The mean squared error of each method in each run; `table` are the records of a real dataset.

    Runs are simulated in blocks, so that memory does not grow with their number.
    """
    population = setting.population if isinstance(setting.population, Synthetic) else table
    assert population is not None
    block = max(BLOCK_CELLS // math.prod(population.shape), 1)
    uniform = [np.full((1, size), 1 / size) for size in population.shape]
    errors: dict[PaperMethod, list[Floats]] = {method: [] for method in methods}
    for start in range(0, runs, block):
        first, second = split_people(population, *setting.phases, min(block, runs - start), generator)
        everybody = first + second
        truth = [margin / setting.people for margin in marginals(everybody)]
        for method in methods:
            if method == "SPL":
                found = _spl(everybody, setting.epsilon, generator)
            elif method == "RS+FD":
                found = _known_fills(everybody, setting.epsilon, uniform, generator)
            else:
                found = _two_phases(setting, method, first, second, generator)
            errors[method].append(mean_squared_error(found, truth))
    return {method: np.concatenate(blocks) for method, blocks in errors.items()}


def debias(counts: Integers, asked: Keep, attributes: int = 1, fill: Floats | float = 0.0) -> Floats:
    """Frequencies from counts of reports (…, label). Randomized response is undone: (reported − q)/(p − q). What is
    randomised is the pivot, one of the attributes; the others are filled from a known distribution, which is removed.
    """
    size = counts.shape[-1]
    reported = attributes * (counts / counts.sum(axis=-1, keepdims=True)) - (attributes - 1) * fill
    frequencies: Floats = (reported - 1 / size) / float(asked.scale) + 1 / size
    return frequencies


def normalised(frequencies: Floats, most: float | None = None) -> Floats:
    """Clipped at 0 (and at `most`), and divided by its sum."""
    held = np.clip(frequencies, 0, most)
    normal: Floats = held / held.sum(axis=-1, keepdims=True)
    return normal


def _responses(epsilon: float, people: Integers) -> list[Keep]:
    return [randomized_response(Fraction(epsilon), size) for size in people.shape[1:]]


def _spl(people: Integers, epsilon: float, generator: Generator) -> list[Floats]:
    asked = _responses(epsilon / (people.ndim - 1), people)
    return list(map(debias, respond(marginals(people), asked, generator), asked))


def _known_fills(people: Integers, epsilon: float, fills: Sequence[Floats], generator: Generator) -> list[Floats]:
    """One pivot, the others filled from distributions (run, label)."""
    asked = _responses(epsilon, people)
    counts = pivot_one_way(people, asked, lambda _, other: fills[other][:, None, :], generator)
    return [debias(count, channel, len(fills), fill) for count, channel, fill in zip(counts, asked, fills, strict=True)]


def _two_phases(
    setting: Setting, method: PaperMethod, people_1: Integers, people_2: Integers, generator: Generator
) -> list[Floats]:
    first = _spl(people_1, setting.epsilon, generator)
    if method == "RS+RFD":
        priors = [normalised(frequencies) for frequencies in first]
        second = _known_fills(people_2, setting.epsilon, priors, generator)
        if setting.clip_rs_rfd:
            second = [normalised(frequencies, 1) for frequencies in second]
    else:
        asked = _responses(setting.epsilon, people_2)

        def fill(pivot: int, other: int) -> Floats:
            copies = COPY_RULES[setting.rule](first[pivot], first[other], float(asked[0].scale), setting.phases[1])
            return copy_matrix(copies, people_2.shape[-1])

        second = list(map(debias, pivot_one_way(people_2, asked, fill, generator), asked))
    share = setting.phases[0] / setting.people
    return [share * one + (1 - share) * two for one, two in zip(first, second, strict=True)]


def copy_matrix(copy_probability: Floats, size: int) -> Floats:
    """Copying as a matrix, for each of an array of copy probabilities."""
    p = copy_probability[..., None, None]
    matrix: Floats = p * np.eye(size) + (1 - p) / (size - 1) * (1 - np.eye(size))
    return matrix


def push(counts: Integers, matrix: Floats, generator: Generator) -> Integers:
    """Pass counts (run, input) through a channel (input, output), with a run axis in front where runs differ."""
    matrix = np.broadcast_to(matrix, (*counts.shape, matrix.shape[-1]))
    outputs: Integers = generator.multinomial(counts, matrix).sum(axis=-2)
    return outputs


def respond(margins: Sequence[Integers], asked: Sequence[Keep], generator: Generator) -> list[Integers]:
    """Each attribute's counts after randomized response; given the records, attributes are randomised independently."""
    matrices = (channel.push(np.eye(channel.inputs)) for channel in asked)
    return [push(margin, matrix, generator) for margin, matrix in zip(margins, matrices, strict=True)]


def pivot_one_way(
    tables: Integers, asked: Sequence[Keep], fill: Callable[[int, int], Floats], generator: Generator
) -> list[Integers]:
    """Each attribute's counts of reports with one pivot. Given the private pivot, the others are filled independently,
    through the channel fill(pivot, other).
    """
    attributes = range(tables.ndim - 1)
    by_pivot = generator.multinomial(tables, np.full(len(attributes), 1 / len(attributes)))
    private = respond([marginals(by_pivot[..., pivot])[pivot] for pivot in attributes], asked, generator)
    counts = [margin.copy() for margin in private]
    for pivot in attributes:
        for other in attributes:
            if other != pivot:
                counts[other] += push(private[pivot], fill(pivot, other), generator)
    return counts


Conventions = Literal["published", "as-written"]
"""What the published numbers do, or what the text says, wherever these differ."""

EPSILONS, THREE_EPSILONS = (0.1, 0.2, 0.3, 0.4, 0.5), (0.1, 0.3, 0.5)
Axis = tuple[str, tuple[float, ...]]
BY_EPSILON: Axis = "epsilon", EPSILONS
BY_DIMENSION: Axis = "attributes", (2.0, 3.0, 4.0, 5.0, 6.0)
BY_CORRELATION: Axis = "correlation", (0.1, 0.3, 0.5, 0.7, 0.9)
BY_FIVES: Axis = "phase1_percent", (5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0)
BY_TENS: Axis = "phase1_percent", (10.0, 20.0, 30.0, 40.0, 50.0)
DEFAULTS = {"people": 20_000, "phase1_percent": 20, "attributes": 4, "correlation": 0.1, "first": "falling"}
REAL = {"a": ("Clave", 10_000), "b": ("Mushroom", 8_000), "c": ("Adult", 10_000)}
SYMBOLS = {"attributes": "d", "correlation": "ρ", "epsilon": "ε", "people": "n"}
X_LABELS = {
    "epsilon": "privacy budget ε",
    "attributes": "number of attributes d",
    "correlation": "correlation ρ",
    "phase1_percent": "share of Phase I, %",
}


@dataclass(frozen=True)
class Panel:
    """One panel of a figure, or one budget's rows of a table. `shown` stands in the title, `fixed` does not."""

    conventions: Conventions
    id: str
    data: str
    x_name: str
    x: tuple[float, ...]
    shown: Mapping[str, Any]
    fixed: Mapping[str, Any]
    methods: tuple[PaperMethod, ...] = PAPER_METHODS
    published_runs: int = 50

    @property
    def key(self) -> str:
        """What names the panel among all: a table has a panel for each budget."""
        return f"{self.id}/{self.shown['epsilon']}" if self.id.startswith("table") else self.id

    @property
    def figure(self) -> str:
        return self.id.rstrip("abc")

    @property
    def title(self) -> str:
        """The population and what is the same at every point."""
        return ", ".join([self.data, *(f"{SYMBOLS[name]} = {value:,}" for name, value in self.shown.items())])

    def setting(self, x: float) -> Setting:
        chosen = {**DEFAULTS, **self.shown, **self.fixed, self.x_name: x}
        population: Synthetic | str = self.data
        if self.data in ("SynA", "SynB"):
            drawn = chosen["attributes"], chosen["correlation"], chosen["first"]
            population = synthetic(self.conventions, self.data, *drawn)
        choices: Any = {"rule": "proposition", "clip_rs_rfd": False} if self.conventions == "as-written" else {}
        return Setting(population, chosen["people"], chosen["epsilon"], chosen["phase1_percent"] / 100, **choices)


def synthetic(conventions: Conventions, kind: str, attributes: float, correlation: float, first: First) -> Synthetic:
    """SynA or SynB with four labels."""
    choices: Any = {"uncopied": "others"} if conventions == "as-written" else {"first": first}
    return Synthetic("SynA" if kind == "SynA" else "SynB", int(attributes), 4, correlation, **choices)


def figure_name(figure: str) -> str:
    """As the paper writes it: Figure 4 for fig_4."""
    kind, number = figure.split("_")
    return f"{'Figure' if kind == 'fig' else 'Table'} {number}"


def panels(conventions: Conventions) -> list[Panel]:
    """Every panel whose points are mean squared errors."""

    def figure(
        number: int, data: str, axis: Axis, shown: Sequence[Mapping[str, Any]], published_runs: int = 50, **fixed: Any
    ) -> list[Panel]:
        return [
            Panel(conventions, f"fig_{number}{letter}", data, *axis, each, fixed, published_runs=published_runs)
            for letter, each in zip("abc", shown, strict=True)
        ]

    rho = [{"correlation": rho} for rho in (0.1, 0.5, 0.9)]
    low, high = ([{"correlation": rho, "epsilon": epsilon} for epsilon in THREE_EPSILONS] for rho in (0.1, 0.9))
    dimension = [{"attributes": attributes, "epsilon": 0.5} for attributes in (2, 3, 4)]
    two = [{"attributes": 2, "epsilon": epsilon} for epsilon in THREE_EPSILONS]
    two_uniform = {"attributes": 2, "first": "uniform"}
    return [
        *figure(3, "SynA", BY_EPSILON, rho),
        *figure(4, "SynB", BY_EPSILON, rho, phase1_percent=10),
        *figure(5, "SynA", BY_DIMENSION, high),
        *figure(6, "SynB", BY_DIMENSION, high),
        *figure(7, "SynA", BY_CORRELATION, dimension, published_runs=200),
        *figure(8, "SynB", BY_CORRELATION, dimension, published_runs=200),
        *figure(9, "SynA", BY_TENS, two, first="uniform"),
        *figure(10, "SynB", BY_TENS, two, published_runs=8, first="uniform"),  # its curves are jagged
        *(
            Panel(conventions, f"fig_11{own}", name, *BY_EPSILON, {}, {"people": people, "phase1_percent": 10})
            for own, (name, people) in REAL.items()
        ),
        *figure(13, "SynA", BY_DIMENSION, low),
        *figure(14, "SynB", BY_DIMENSION, low),
        *(
            Panel(conventions, f"table_{number}", data, *BY_FIVES, shown, two_uniform, ("RS+RFD", "Corr-RR"), 100)
            for number, (data, people) in enumerate(product(("SynA", "SynB"), (200, 2_000, 20_000)), start=4)
            for shown in ({"people": people, "epsilon": epsilon} for epsilon in THREE_EPSILONS)
        ),
    ]


OTHER_IDS = ("fig_2", "fig_12a", "fig_12b", "fig_12c", "table_2", "table_3")
"""Figures and tables that show something else than errors."""


@dataclass(frozen=True)
class Result:
    """The mean squared error of one method at one point, next to the published one."""

    id: str
    dataset: str
    method: PaperMethod
    x: float
    x_name: str
    settings: Mapping[str, Any]
    mse: float
    standard_error: float | None
    published: float | None
    z: float | None

    @property
    def figure(self) -> str:
        return self.id.rstrip("abc")


def choose_ids(wanted: Sequence[str]) -> list[str]:
    """The ids that are wanted: all, in the paper's order, if none is named; `fig_3` stands for its three panels."""
    ids = {*(panel.id for panel in panels("published")), *OTHER_IDS}
    known = sorted(ids, key=lambda name: (name.split("_")[0], int(name.split("_")[1].rstrip("abc")), name))
    chosen = []
    for name in wanted or known:
        found = [one for one in known if name in (one, one.rstrip("abc"))]
        if not found:
            raise DocumentError(f"there is no {name!r}; the ids are {', '.join(known)}")
        chosen += found
    return list(dict.fromkeys(chosen))


def reproduce(
    ids: Iterable[str],
    conventions: Conventions,
    *,
    runs: int,
    seed: int,
    directory: Path | None,
    workers: int,
    advance: Callable[[int], None],
) -> list[Result]:
    """Every result of the panels named; the order and the numbers do not depend on the workers."""
    wanted = set(ids)
    jobs = [(panel, x, runs, seed, directory) for panel in panels(conventions) if panel.id in wanted for x in panel.x]
    return [result for results in run_jobs(_point, jobs, workers, advance) for result in results]


def point_count(ids: Iterable[str]) -> int:
    """How many points a call will compute."""
    wanted = set(ids)
    return sum(len(panel.x) for panel in panels("published") if panel.id in wanted)


def _point(panel: Panel, x: float, runs: int, seed: int, directory: Path | None) -> list[Result]:
    setting = panel.setting(x)
    table = table_of(load_dataset(setting.population, directory)) if isinstance(setting.population, str) else None
    # Each point has a generator of its own, from the seed and the point's name.
    name = f"{seed} {panel.conventions} {panel.key} {x:g}"
    generator = np.random.default_rng(int.from_bytes(hashlib.sha256(name.encode()).digest()))
    described = setting.describe() | {"conventions": panel.conventions, "runs": runs, "seed": seed}
    described["published_runs"] = panel.published_runs
    results = []
    for method, errors in run_errors(setting, panel.methods, runs, generator, table).items():
        mean = float(np.mean(errors))
        spread = float(np.std(errors, ddof=1)) if runs > 1 else None
        error = None if spread is None else spread / math.sqrt(runs)
        published, z = published_error(panel.key, method, x), None
        if published is not None and spread:
            z = (published - mean) / (spread * math.sqrt(1 / runs + 1 / panel.published_runs))
        results.append(Result(panel.id, panel.data, method, x, panel.x_name, described, mean, error, published, z))
    return results


def root_mean_square_z(results: Iterable[Result]) -> dict[str, dict[str, float]]:
    """How far the published numbers are from ours, in standard errors: by method, for the tables and for the figures.

    Figure 10, drawn from few runs, is left out, and the lines that are flat in Figure 9 count once.
    """
    groups: dict[str, dict[str, list[float]]] = {}
    for result in results:
        flat = result.figure == "fig_9" and result.method in ("SPL", "RS+FD") and result.x != 10
        if result.z is not None and not flat and result.figure != "fig_10":
            kind = "figures" if result.id.startswith("fig") else "tables"
            groups.setdefault(kind, {}).setdefault(result.method, []).append(result.z)
    return {
        kind: {method: math.sqrt(sum(z * z for z in values) / len(values)) for method, values in by_method.items()}
        for kind, by_method in groups.items()
    }


def needs_data(name: str) -> bool:
    """Whether a figure or table needs the real datasets."""
    return name.startswith(("fig_11", "fig_12")) or name == "table_3"
