"""Two attributes together."""

import numpy as np
import pytest

from privtally.collector.learn.rules import learn
from privtally.collector.pairs import estimate_pair
from privtally.documents.counts import Counts, count, nothing
from privtally.documents.plan import Plan, design
from privtally.errors import EstimateError
from privtally.lab.seed import seeded
from privtally.participant.respond import respond_many
from privtally.schema import Records
from tests.support import plan_of, schema_of

TRUTH = np.array([[0.3, 0.1, 0.0], [0.05, 0.15, 0.4]])


def asked(people: int, epsilon: float, seed: int) -> tuple[Plan, Counts]:
    generator = np.random.default_rng(seed)
    plan = design(schema_of((2, 3, 2)), epsilon, "spl")
    one, two = np.unravel_index(generator.choice(6, people, p=TRUTH.ravel()), TRUTH.shape)
    codes = np.column_stack([one, two, generator.integers(0, 2, people)]).astype(np.uint8)
    return plan, count(plan, respond_many(plan, Records(plan.schema, codes), seeded(seed)).codes)


def test_a_table_is_found_again() -> None:
    """The projected table is no further off than the unbiased one, whose every cell is within six standard errors."""
    found = estimate_pair([asked(400_000, 6.0, 1)], "q0", "q1")
    errors = np.array(found.standard_errors)
    assert np.abs(np.array(found.frequencies) - TRUTH).max() < 6 * errors.max()
    assert errors.max() < 0.01
    assert np.array(found.frequencies).sum() == pytest.approx(1)
    assert np.array(found.frequencies).min() >= 0


def test_the_other_way_round_is_the_transpose() -> None:
    phase = asked(5_000, 3.0, 2)
    one, two = estimate_pair([phase], "q0", "q1"), estimate_pair([phase], "q1", "q0")
    assert np.array(one.frequencies) == pytest.approx(np.array(two.frequencies).T)
    assert np.array(one.standard_errors) == pytest.approx(np.array(two.standard_errors).T)


def test_standard_errors_are_the_spread_of_repeated_campaigns() -> None:
    """Far from the edges the projection does little; 60 runs tell a factor of 2 from 1 beyond five sigma."""
    runs = [np.array(estimate_pair([asked(20_000, 8.0, seed)], "q0", "q1").frequencies) for seed in range(60)]
    stated = np.array(estimate_pair([asked(20_000, 8.0, 0)], "q0", "q1").standard_errors)
    inside = TRUTH > 0.04
    ratio = np.std(runs, axis=0)[inside] / stated[inside]
    assert ratio.min() > 0.6
    assert ratio.max() < 1.5
    assert not (ratio.max() / 3 > 0.6)


def test_what_carries_nothing_says_so() -> None:
    plan = plan_of("corr-rr", (2, 2))
    counts = count(plan, np.zeros((5, 2), dtype=np.uint8))
    with pytest.raises(EstimateError, match="nothing about two attributes together"):
        estimate_pair([(plan, counts)], "q0", "q1")
    phase = asked(50, 1.0, 1)
    with pytest.raises(EstimateError, match="no attribute 'x'"):
        estimate_pair([phase], "q0", "x")
    with pytest.raises(EstimateError, match="two attributes"):
        estimate_pair([phase], "q0", "q0")
    with pytest.raises(EstimateError, match="no reports"):
        estimate_pair([(phase[0], nothing(phase[0]))], "q0", "q1")
    wide = design(schema_of((3_000, 3_000)), 1.0, "spl")
    many = np.random.default_rng(1).integers(0, 3_000, (9, 2)).astype(np.uint16)
    with pytest.raises(EstimateError, match="too many labels"):
        estimate_pair([(wide, count(wide, many))], "q0", "q1")


def test_both_phases_of_a_campaign_are_taken() -> None:
    first = design(schema_of((2, 2)), 1.0, "corr-rr")
    counts = count(first, np.random.default_rng(1).integers(0, 2, (400, 2)).astype(np.uint8))
    second = learn(first, counts)
    phases = [(second, count(second, np.zeros((5, 2), dtype=np.uint8))), (first, counts)]
    assert estimate_pair(phases, "q0", "q1").reports == 400
