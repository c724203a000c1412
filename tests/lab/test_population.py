from itertools import product

import numpy as np
import pytest

from privtally.errors import CampaignError
from privtally.lab.population import Synthetic, Uncopied, marginals, split_people, table_of
from privtally.schema import Records
from tests.lab.moments import agrees
from tests.support import schema_of

PI = np.array([0.4, 0.3, 0.2, 0.1])


def margin(law: np.ndarray, own: int) -> np.ndarray:
    found: np.ndarray = law.sum(axis=tuple(axis for axis in range(law.ndim) if axis != own))
    return found


@pytest.mark.parametrize(
    ("uncopied", "expected"),
    [
        ("domain", 0.3 * PI + 0.7 * 0.25),
        ("others", 0.3 * PI + 0.7 * (1 - PI) / 3),
        ("same", PI),
        ("reversed", 0.3 * PI + 0.7 * PI[::-1]),
    ],
)
def test_every_choice_of_what_is_not_copied(uncopied: Uncopied, expected: np.ndarray) -> None:
    law = Synthetic("SynA", 3, 4, 0.3, uncopied=uncopied).law()
    assert law.sum() == pytest.approx(1)
    np.testing.assert_allclose(margin(law, 0), PI)
    np.testing.assert_allclose(margin(law, 1), expected)
    np.testing.assert_allclose(margin(law, 2), expected)


def correlated(rho: float, size: int) -> np.ndarray:
    """The joint frequencies of two evenly spread answers that are the same with the chance rho, else independent."""
    return rho * np.eye(size) / size + (1 - rho) / size**2


def test_uniform_populations_have_the_correlation_they_are_named_for() -> None:
    law = Synthetic("SynA", 3, 4, 0.7, first="uniform").law()
    np.testing.assert_allclose(law.sum(axis=2), correlated(0.7, 4))
    np.testing.assert_allclose(law.sum(axis=0), correlated(0.7**2, 4))


def test_a_chain_of_parents() -> None:
    population = Synthetic("SynB", 4, 4, 0.5, first="uniform")
    chain = population.law((0, 1, 2))
    for own, rho in ((1, 0.5), (2, 0.25), (3, 0.125)):
        np.testing.assert_allclose(chain.sum(axis=tuple({1, 2, 3} - {own})), correlated(rho, 4))
    star = population.law((0, 0, 0))
    np.testing.assert_allclose(star, Synthetic("SynA", 4, 4, 0.5, first="uniform").law())


def test_parents_are_drawn_for_each_population() -> None:
    """All trees are equally likely: their numbers are within six standard deviations of that."""
    population, runs = Synthetic("SynB", 4, 3, 0.6), 6_000
    laws, which = population.draw_laws(runs, np.random.default_rng(1))
    trees = [population.law(tree) for tree in product(range(1), range(2), range(3))]
    np.testing.assert_allclose(laws, trees)
    assert np.abs(np.bincount(which) - runs / 6).max() < 6 * np.sqrt(runs * 5 / 36)


def test_people_of_both_phases_are_drawn() -> None:
    first, second = split_people(Synthetic("SynB", 3, 4, 0.5), 100, 900, 7, np.random.default_rng(1))
    assert first.shape == second.shape == (7, 4, 4, 4)
    assert first.sum(axis=(1, 2, 3)).tolist() == [100] * 7
    assert second.sum(axis=(1, 2, 3)).tolist() == [900] * 7


def test_a_table_counts_records() -> None:
    records = Records(schema_of((2, 3)), np.array([[0, 2], [1, 0], [0, 2]], dtype=np.uint8))
    table = table_of(records)
    assert table.tolist() == [[0, 0, 2], [1, 0, 0]]
    assert [row.tolist() for row in marginals(table[None])] == [[[2, 1]], [[1, 0, 2]]]


@pytest.mark.parametrize(
    "population",
    [(0, 4, 0.5), (2, 1, 0.5), (2, 4, 1.5), (30, 4, 0.5)],
)
def test_what_is_no_population_is_refused(population: tuple[int, int, float]) -> None:
    with pytest.raises(CampaignError):
        Synthetic("SynA", *population)


def test_a_random_split_is_hypergeometric() -> None:
    table, runs = np.array([[40, 5, 0], [12, 3, 60]]), 20_000
    people, taken = int(table.sum()), 50
    first, second = split_people(table, taken, people - taken, runs, np.random.default_rng(3))
    assert np.array_equal(first + second, np.broadcast_to(table, (runs, 2, 3)))
    shares = table.ravel() / people
    spread = taken * (people - taken) / (people - 1)
    assert agrees(first.reshape(runs, -1), taken * shares, spread * (np.diag(shares) - np.outer(shares, shares)))
    assert not agrees(first.reshape(runs, -1), taken * shares, taken * (np.diag(shares) - np.outer(shares, shares)))
