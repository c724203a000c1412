"""One point of the paper's experiments: a population, a budget, a Phase I share; each method's error over many runs.

The estimators are the paper's, on arrays of runs. `tests/lab` holds them against `privtally.collector.estimate`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import Any, Literal

import numpy as np

from privtally.collector.learn.rules import COPY_RULES
from privtally.lab.paper.simulate import Fills, copy_matrix, pivot_one_way, private_pivots, spl_one_way
from privtally.lab.population import Floats, Synthetic, Tensor, marginals, split_synthetic, split_table
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
        """How many people each phase has."""
        first = round(self.phase1_share * self.people)
        return first, self.people - first

    def describe(self) -> dict[str, Any]:
        """Every convention by name."""
        if isinstance(self.population, str):
            population: dict[str, Any] = {"dataset": self.population, "sampling": "the authors' rows, split at random"}
        else:
            population = {
                "dataset": self.population.kind,
                "d": self.population.attributes,
                "k": self.population.size,
                "rho": self.population.correlation,
                "first": self.population.first,
                "uncopied": self.population.uncopied,
                "parent": self.population.parent,
            }
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
    generator: np.random.Generator,
    table: Tensor | None = None,
) -> Mapping[PaperMethod, Floats]:
    """The mean squared error of each method in each run; `table` are the records of a real dataset.

    Runs are simulated in blocks, so that memory does not grow with their number.
    """
    if isinstance(setting.population, Synthetic):
        cells = setting.population.size**setting.population.attributes
    else:
        assert table is not None
        cells = table.size
    block = max(BLOCK_CELLS // cells, 1)
    parts = [
        _run_block(setting, methods, min(block, runs - start), generator, table) for start in range(0, runs, block)
    ]
    return {method: np.concatenate([part[method] for part in parts]) for method in methods}


def _run_block(
    setting: Setting,
    methods: Sequence[PaperMethod],
    runs: int,
    generator: np.random.Generator,
    table: Tensor | None,
) -> Mapping[PaperMethod, Floats]:
    first, second = setting.phases
    if isinstance(setting.population, Synthetic):
        people_1, people_2 = split_synthetic(setting.population, first, second, runs, generator)
    else:
        assert table is not None
        people_1, people_2 = split_table(np.broadcast_to(table, (runs, *table.shape)), first, generator)
    everybody = people_1 + people_2
    truth = [margin / setting.people for margin in marginals(everybody)]
    sizes = everybody.shape[1:]
    simulate = {
        "SPL": lambda: _spl(everybody, _scales(setting.epsilon / len(sizes), sizes), generator),
        "RS+FD": lambda: _rs_fd(everybody, _scales(setting.epsilon, sizes), generator),
        "RS+RFD": lambda: _two_phases(setting, people_1, people_2, generator, _rs_rfd),
        "Corr-RR": lambda: _two_phases(setting, people_1, people_2, generator, _corr_rr),
    }
    return {method: mean_squared_error(simulate[method](), truth) for method in methods}


def debias(reported: Floats, scale: float) -> Floats:
    """Undo randomized response: (reported − q)/(p − q), along the last axis."""
    size = reported.shape[-1]
    undone: Floats = (reported - 1 / size) / scale + 1 / size
    return undone


def remove_fill(reported: Floats, attributes: int, fill: Floats | float) -> Floats:
    """What the pivot itself reported, where the other attributes were filled from a known distribution."""
    return attributes * reported - (attributes - 1) * fill


def normalised(frequencies: Floats, most: float | None = None) -> Floats:
    """Clipped at 0 (and at `most`), and divided by its sum."""
    held = np.clip(frequencies, 0, most)
    normal: Floats = held / held.sum(axis=-1, keepdims=True)
    return normal


def copy_probabilities(frequencies: Sequence[Floats], scale: float, users: int, rule: Rule) -> dict[Any, Floats]:
    """copy_probability[pivot, other] for each run."""
    pairs = permutations(range(len(frequencies)), 2)
    return {pair: COPY_RULES[rule](frequencies[pair[0]], frequencies[pair[1]], scale, users) for pair in pairs}


def _scales(epsilon: float, sizes: Sequence[int]) -> list[float]:
    return [float(randomized_response(Fraction(epsilon), size).scale) for size in sizes]


def _spl(people: Tensor, scales: Sequence[float], generator: np.random.Generator) -> list[Floats]:
    counts = spl_one_way(people, scales, generator)
    return [debias(count / _total(count), scale) for count, scale in zip(counts, scales, strict=True)]


def _rs_fd(people: Tensor, scales: Sequence[float], generator: np.random.Generator) -> list[Floats]:
    sizes = people.shape[1:]
    uniform = [np.full((1, size), 1 / size) for size in sizes]
    counts = pivot_one_way(private_pivots(people, scales, generator), _constant_fills(uniform), generator)
    return [
        debias(remove_fill(count / _total(count), len(sizes), 1 / size), scale)
        for count, size, scale in zip(counts, sizes, scales, strict=True)
    ]


def _two_phases(
    setting: Setting, people_1: Tensor, people_2: Tensor, generator: np.random.Generator, second_phase: Any
) -> list[Floats]:
    sizes = people_1.shape[1:]
    first = _spl(people_1, _scales(setting.epsilon / len(sizes), sizes), generator)
    second = second_phase(setting, first, people_2, generator)
    share = setting.phases[0] / setting.people
    return [share * one + (1 - share) * two for one, two in zip(first, second, strict=True)]


def _rs_rfd(setting: Setting, first: Sequence[Floats], people: Tensor, generator: np.random.Generator) -> list[Floats]:
    scales = _scales(setting.epsilon, people.shape[1:])
    priors = [normalised(frequencies) for frequencies in first]
    counts = pivot_one_way(private_pivots(people, scales, generator), _constant_fills(priors), generator)
    raw = [
        debias(remove_fill(count / _total(count), len(scales), prior), scale)
        for count, prior, scale in zip(counts, priors, scales, strict=True)
    ]
    return [normalised(frequencies, 1) for frequencies in raw] if setting.clip_rs_rfd else raw


def _corr_rr(setting: Setting, first: Sequence[Floats], people: Tensor, generator: np.random.Generator) -> list[Floats]:
    sizes = people.shape[1:]
    scales = _scales(setting.epsilon, sizes)
    copies = copy_probabilities(first, scales[0], setting.phases[1], setting.rule)
    fills: Fills = [
        [None if own == other else copy_matrix(copies[own, other], sizes[0]) for other in range(len(sizes))]
        for own in range(len(sizes))
    ]
    counts = pivot_one_way(private_pivots(people, scales, generator), fills, generator)
    return [debias(count / _total(count), scale) for count, scale in zip(counts, scales, strict=True)]


def _constant_fills(distributions: Sequence[Floats]) -> Fills:
    """Fills that ignore the pivot: for each attribute a distribution, (run, code)."""
    attributes = range(len(distributions))
    return [[None if pivot == own else distributions[own][:, None, :] for own in attributes] for pivot in attributes]


def _total(count: Tensor) -> Tensor:
    total: Tensor = count.sum(axis=-1, keepdims=True)
    return total


def mean_squared_error(found: Sequence[Floats], truth: Sequence[Floats]) -> Floats:
    """The paper's metric: the mean over labels, then over attributes, for each run."""
    errors = [np.mean((one - two) ** 2, axis=-1) for one, two in zip(found, truth, strict=True)]
    mean: Floats = np.mean(errors, axis=0)
    return mean
