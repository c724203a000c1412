"""One point of the paper's experiments: a population, a budget, a Phase I share; each method's error over many runs.

The first axis of every array is the run. The estimators are the paper's; `tests/lab` holds them against
`privtally.collector.estimate`. Counts are sampled without users: people with the same record, pivot and private pivot
behave alike, so multinomials over those groups have exactly the law that counting users one by one would have.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.random import Generator

from privtally.collector.learn.rules import COPY_RULES
from privtally.exact.arrays import Floats, Integers
from privtally.lab.population import Synthetic, marginals, split_people
from privtally.mechanisms.channel import randomized_response
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


def debias(counts: Integers, scale: float, attributes: int = 1, fill: Floats | float = 0.0) -> Floats:
    """Frequencies from counts of reports (…, label). Randomized response is undone: (reported − q)/(p − q). What is
    randomised is the pivot, one of the attributes; the others are filled from a known distribution, which is removed.
    """
    size = counts.shape[-1]
    reported = attributes * (counts / counts.sum(axis=-1, keepdims=True)) - (attributes - 1) * fill
    frequencies: Floats = (reported - 1 / size) / scale + 1 / size
    return frequencies


def normalised(frequencies: Floats, most: float | None = None) -> Floats:
    """Clipped at 0 (and at `most`), and divided by its sum."""
    held = np.clip(frequencies, 0, most)
    normal: Floats = held / held.sum(axis=-1, keepdims=True)
    return normal


def _scales(epsilon: float, sizes: Sequence[int]) -> list[float]:
    return [float(randomized_response(Fraction(epsilon), size).scale) for size in sizes]


def _spl(people: Integers, epsilon: float, generator: Generator) -> list[Floats]:
    scales = _scales(epsilon / (people.ndim - 1), people.shape[1:])
    return list(map(debias, respond(marginals(people), scales, generator), scales))


def _known_fills(people: Integers, epsilon: float, fills: Sequence[Floats], generator: Generator) -> list[Floats]:
    """One pivot, the others filled from distributions (run, label)."""
    scales = _scales(epsilon, people.shape[1:])
    counts = pivot_one_way(people, scales, lambda _, other: fills[other][:, None, :], generator)
    return [debias(count, scale, len(fills), fill) for count, scale, fill in zip(counts, scales, fills, strict=True)]


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
        scales = _scales(setting.epsilon, people_2.shape[1:])

        def fill(pivot: int, other: int) -> Floats:
            copies = COPY_RULES[setting.rule](first[pivot], first[other], scales[0], setting.phases[1])
            return copy_matrix(copies, people_2.shape[-1])

        second = list(map(debias, pivot_one_way(people_2, scales, fill, generator), scales))
    share = setting.phases[0] / setting.people
    return [share * one + (1 - share) * two for one, two in zip(first, second, strict=True)]


def response_matrix(scale: float, size: int) -> Floats:
    """Randomized response as a matrix: λ·identity plus a constant."""
    return scale * np.eye(size) + (1 - scale) / size


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


def respond(margins: Sequence[Integers], scales: Sequence[float], generator: Generator) -> list[Integers]:
    """Each attribute's counts after randomized response; given the records, attributes are randomised independently."""
    return [
        push(margin, response_matrix(scale, margin.shape[-1]), generator)
        for margin, scale in zip(margins, scales, strict=True)
    ]


def pivot_one_way(
    tables: Integers, scales: Sequence[float], fill: Callable[[int, int], Floats], generator: Generator
) -> list[Integers]:
    """Each attribute's counts of reports with one pivot. Given the private pivot, the others are filled independently,
    through the channel fill(pivot, other).
    """
    attributes = range(tables.ndim - 1)
    by_pivot = generator.multinomial(tables, np.full(len(attributes), 1 / len(attributes)))
    private = respond([marginals(by_pivot[..., pivot])[pivot] for pivot in attributes], scales, generator)
    counts = [margin.copy() for margin in private]
    for pivot in attributes:
        for other in attributes:
            if other != pivot:
                counts[other] += push(private[pivot], fill(pivot, other), generator)
    return counts


def mean_squared_error(found: Sequence[Floats], truth: Sequence[Floats]) -> Floats:
    """The paper's metric: the mean over labels, then over attributes, for each run."""
    errors = [np.mean((one - two) ** 2, axis=-1) for one, two in zip(found, truth, strict=True)]
    mean: Floats = np.mean(errors, axis=0)
    return mean
