"""What the benchmark of synthetic tables measures is what it says."""

import numpy as np
import pytest
from benchmarks.synthetic import LEVELS, chosen, coarser, distance

from privtally.schema import Schema


def test_the_distance_of_two_tables() -> None:
    """A fifth of the people answer the second question otherwise."""
    truth = np.array([[0, 0], [1, 1]] * 5, dtype=np.uint8)
    other = truth.copy()
    other[[0, 1], 1] = other[[1, 0], 1]
    assert distance(truth, truth, (2, 2), 2) == 0
    assert distance(other, truth, (2, 2), 2) == pytest.approx(20)
    assert distance(other, truth, (2, 2), 1) == 0


def test_levels_of_education_are_merged_in_order() -> None:
    names = ["sex", "marital-status", "relationship", "education"]
    schema = Schema.of({name: [f"a{code}" for code in range(16)] for name in names})
    codes = np.zeros((16, 4), dtype=np.uint8)
    codes[:, 3] = np.arange(16)
    coarse, merged = coarser(schema, codes)
    assert coarse.attributes[3].labels == tuple(LEVELS)
    assert merged[:, 3].tolist() == [0] * 8 + [1] + [2] * 3 + [3] * 4


def test_strong_connections_are_always_chosen() -> None:
    *_, strong = chosen(runs=2, people=50_000)
    assert "| 2 of 2 |" in strong
