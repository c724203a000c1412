"""Accuracy side by side: mean squared errors at the same ε, on the same population, over repeated collections."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.side_by_side.environments import MULTI_FREQ, PURE, MissingError, Peer
from benchmarks.side_by_side.running import Running, population_file

PEOPLE, EPSILON = 20_000, 1.0
LARGE_PEOPLE = 10_000
LARGE_SIZES = {64: 1, 1_024: 5}
"""Numbers of labels, and which part of the runs each has."""


@dataclass(frozen=True)
class Estimator:
    """A way of estimating: a driver's job, and what is done to its frequencies."""

    job: str
    name: str
    peer: Peer | None
    driven: str
    after: Callable[[NDArray[np.float64]], NDArray[np.float64]] = np.asarray


def clipped(frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each attribute without negative values, divided by its sum, as multi-freq-ldpy's matrix inversion does."""
    positive = frequencies.clip(0)
    whole: NDArray[np.float64] = positive / positive.sum(axis=1, keepdims=True)
    return whole


def _ours(job: str) -> list[Estimator]:
    return [
        Estimator(job, "privtally unbiased", None, f"{job}, unbiased"),
        Estimator(job, "privtally unbiased, clipped", None, f"{job}, unbiased", clipped),
        Estimator(job, "privtally likelihood", None, f"{job}, likelihood"),
    ]


FEW_LABELS = [
    Estimator("SPL", "multi-freq-ldpy MI", MULTI_FREQ, "SPL"),
    Estimator("SPL", "multi-freq-ldpy IBU", MULTI_FREQ, "SPL, IBU"),
    Estimator("SPL", "pure-ldp GRR", PURE, "GRR"),
    Estimator("SPL", "pure-ldp OUE", PURE, "OUE"),
    Estimator("SPL", "pure-ldp OLH", PURE, "OLH"),
    *_ours("SPL"),
    Estimator("SMP", "multi-freq-ldpy MI", MULTI_FREQ, "SMP"),
    Estimator("SMP", "multi-freq-ldpy IBU", MULTI_FREQ, "SMP, IBU"),
    *_ours("SMP"),
    Estimator("RS+FD", "multi-freq-ldpy MI", MULTI_FREQ, "RS+FD, same budget"),
    *_ours("RS+FD"),
]
MANY_LABELS = [
    Estimator("one question", "multi-freq-ldpy OUE", MULTI_FREQ, "OUE"),
    Estimator("one question", "multi-freq-ldpy OLH", MULTI_FREQ, "OLH"),
    Estimator("one question", "multi-freq-ldpy SS", MULTI_FREQ, "SS"),
    Estimator("one question", "multi-freq-ldpy SS, IBU", MULTI_FREQ, "SS, IBU"),
    Estimator("one question", "pure-ldp OUE", PURE, "OUE"),
    Estimator("one question", "pure-ldp OLH", PURE, "OLH"),
    Estimator("one question", "privtally unbiased", None, "SPL, unbiased"),
    Estimator("one question", "privtally unbiased, clipped", None, "SPL, unbiased", clipped),
    Estimator("one question", "privtally likelihood", None, "SPL, likelihood"),
]


def four_attributes(people: int) -> NDArray[np.uint16]:
    """Four attributes of four labels: the first as in the paper's synthetic data, the others copy it now and then."""
    generator = np.random.default_rng(1)
    first = generator.choice(4, people, p=(0.4, 0.3, 0.2, 0.1))
    others = [
        np.where(generator.random(people) < 0.3, first, generator.choice(4, people, p=shares))
        for shares in ((0.35, 0.3, 0.2, 0.15), (0.1, 0.2, 0.3, 0.4), (0.7, 0.1, 0.1, 0.1))
    ]
    return np.column_stack([first, *others]).astype(np.uint16)


def zipf(people: int, size: int) -> NDArray[np.uint16]:
    """One attribute whose labels are as frequent as words: the r-th has a share in proportion to 1/r."""
    shares = 1 / np.arange(1, size + 1)
    return np.random.default_rng(1).choice(size, (people, 1), p=shares / shares.sum()).astype(np.uint16)


def errors(estimators: Sequence[Estimator], codes: NDArray[np.uint16], size: int, runs: int) -> list[dict[str, Any]]:
    """The mean squared error of each estimator over the runs, with its standard error."""
    truth = np.array([np.bincount(own, minlength=size) for own in codes.T]) / len(codes)
    rows = []
    with population_file(codes, size) as data:
        for each in estimators:
            row: dict[str, Any] = {"job": each.job, "labels": size, "estimator": each.name}
            try:
                with Running(each.peer, each.driven, data) as driver:
                    found = [driver.run(len(codes), EPSILON)["frequencies"] for _ in range(runs)]
                squared = [float(np.mean((each.after(np.array(own)) - truth) ** 2)) for own in found]
                row |= {"mse": float(np.mean(squared)), "standard_error": float(np.std(squared) / sqrt(runs - 1))}
            except MissingError as why:
                row |= {"mse": None, "standard_error": None, "reason": str(why)}
            rows.append(row)
    return rows


def measure(runs: int) -> list[dict[str, Any]]:
    """Every comparison: few labels, then one question with many, where a collection takes some peers seconds."""
    rows = errors(FEW_LABELS, four_attributes(PEOPLE), 4, runs)
    for size, part in LARGE_SIZES.items():
        rows += errors(MANY_LABELS, zipf(LARGE_PEOPLE, size), size, max(2, runs // part))
    return rows
