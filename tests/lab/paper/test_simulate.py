"""The counts of single attributes, sampled without users, have the law that counting users has.

Given the records, the counts are a sum over independent people, so their mean and covariance follow from the enumerated
law of one report. Bounds are those of `tests/lab/test_simulate.py`.
"""

from collections.abc import Sequence

import numpy as np
import pytest

from privtally.lab.paper.experiments import copy_matrix, pivot_one_way, respond
from privtally.lab.population import marginals
from privtally.mechanisms.channels import Keep
from tests.lab.moments import agrees
from tests.support import records_of

RUNS = 20_000
TABLE = np.array([[50, 4, 1], [0, 20, 9], [3, 2, 31]])
ASKED = (Keep(3, 8, 1), Keep(3, 3, 1))
FILLS = {
    "uniform": (np.full((3, 3), 1 / 3), np.full((3, 3), 1 / 3)),
    "prior": (np.tile([0.5, 0.3, 0.2], (3, 1)), np.tile([0.1, 0.1, 0.8], (3, 1))),
    "copy": (copy_matrix(np.array(0.8), 3), copy_matrix(np.array(0.1), 3)),
}


def moments(laws: dict[tuple[int, ...], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The mean and covariance of both attributes' counts, from the law of a report (a 3 × 3 table) for each record."""
    one_way = np.array([(np.indices((3, 3))[own] == code).ravel() for own in range(2) for code in range(3)], float)
    mean, covariance = np.zeros(6), np.zeros((6, 6))
    for record, law in laws.items():
        flat = law.ravel()
        mean += TABLE[record] * one_way @ flat
        covariance += TABLE[record] * one_way @ (np.diag(flat) - np.outer(flat, flat)) @ one_way.T
    return mean, covariance


def answered(record: Sequence[int]) -> list[np.ndarray]:
    """The law of each private answer."""
    return [channel.push(np.eye(3))[code] for channel, code in zip(ASKED, record, strict=True)]


def test_spl() -> None:
    mean, covariance = moments({record: np.outer(*answered(record)) for record in records_of((3, 3))})
    counts = respond(marginals(np.broadcast_to(TABLE, (RUNS, 3, 3))), ASKED, np.random.default_rng(4))
    assert agrees(np.hstack(counts), mean, covariance)
    assert not agrees(np.hstack(counts)[:, ::-1], mean, covariance)


@pytest.mark.parametrize("name", FILLS)
def test_one_pivot(name: str) -> None:
    from_first, from_second = FILLS[name]
    laws = {}
    for record in records_of((3, 3)):
        first, second = answered(record)
        laws[record] = (first[:, None] * from_first + (second[:, None] * from_second).T) / 2
    tables, fills = np.broadcast_to(TABLE, (RUNS, 3, 3)), {(0, 1): from_first, (1, 0): from_second}
    counts = np.hstack(pivot_one_way(tables, ASKED, lambda *pair: fills[pair], np.random.default_rng(4)))
    mean, covariance = moments(laws)
    own = np.kron(np.eye(2), np.ones((3, 3))) > 0
    assert agrees(counts, mean, covariance)
    assert not agrees(counts, mean, np.where(own, covariance, covariance + 5))
