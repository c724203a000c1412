"""The counts of each attribute in many simulated campaigns at once, sampled exactly and without users.

People with the same record, pivot and private pivot behave alike, so multinomials over those groups have exactly the
law that counting users one by one would have. The first axis of every array is the run; the cost depends on the number
of different records and not on the number of people.
"""

from collections.abc import Callable, Sequence

import numpy as np

from privtally.exact.arrays import Floats, Integers
from privtally.lab.population import marginals


def response_matrix(scale: float, size: int) -> Floats:
    """Randomized response as a matrix: λ·identity plus a constant."""
    return scale * np.eye(size) + (1 - scale) / size


def copy_matrix(copy_probability: Floats, size: int) -> Floats:
    """Copying as a matrix, for each of an array of copy probabilities."""
    p = copy_probability[..., None, None]
    matrix: Floats = p * np.eye(size) + (1 - p) / (size - 1) * (1 - np.eye(size))
    return matrix


def push(counts: Integers, matrix: Floats, generator: np.random.Generator) -> Integers:
    """Pass counts (run, input) through a channel (input, output), with a run axis in front where runs differ."""
    matrix = np.broadcast_to(matrix, (*counts.shape, matrix.shape[-1]))
    outputs: Integers = generator.multinomial(counts, matrix).sum(axis=-2)
    return outputs


def respond(margins: Sequence[Integers], scales: Sequence[float], generator: np.random.Generator) -> list[Integers]:
    """Each attribute's counts after randomized response; given the records, attributes are randomised independently."""
    return [
        push(margin, response_matrix(scale, margin.shape[-1]), generator)
        for margin, scale in zip(margins, scales, strict=True)
    ]


def pivot_one_way(
    tables: Integers, scales: Sequence[float], fill: Callable[[int, int], Floats], generator: np.random.Generator
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
