"""Attributes with many labels, whose codes are not labels: unbiased totals, honest intervals, and rare labels."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from privtally.collector.estimate import estimate
from privtally.collector.sparse import shrink
from privtally.collector.tally import count
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.exact.types import Floats
from privtally.lab.population import seeded
from privtally.mechanisms.fills import CopyFill
from privtally.mechanisms.projective import Projective
from privtally.names import MechanismName
from privtally.participant.respond import respond_many
from privtally.schema import Records, code_type
from tests.scale import scaled
from tests.support import first_plan, later_plan, plan_of

LIKELY: tuple[MechanismName, ...] = ("spl", "smp", "rs-fd", "corr-rr")
PEOPLE, RUNS = 20_000, 8


def large_plan(mechanism: MechanismName, size: int) -> Plan:
    """Two attributes with the same labels, and codes that are not labels."""
    if mechanism == "corr-rr":
        plan = later_plan(first_plan((size, size), 2.0, "corr-rr"), CopyFill(((1.0, 0.25), (0.125, 1.0))))
    else:
        plan = plan_of(mechanism, (size, size), 2.0)
    assert all(isinstance(channel, Projective) for part in plan.mechanism.parts for channel in part.asked)
    return plan


def laws(size: int) -> list[Floats]:
    """A few frequent labels and many rare ones; the attributes differ."""
    falling = 1 / np.arange(1, size + 1)
    return [falling / falling.sum(), np.roll(falling, 3)[::-1] / falling.sum()]


def runs(plan: Plan) -> Iterator[Counts]:
    size = plan.schema.sizes[0]
    for seed in range(RUNS):
        generator = np.random.default_rng(seed)
        first = generator.choice(size, PEOPLE, p=laws(size)[0])
        second = generator.choice(size, PEOPLE, p=laws(size)[1])
        codes = np.column_stack([first, second]).astype(code_type((size,)))
        yield count(plan, respond_many(plan, Records(plan.schema, codes), seeded(seed)).codes)


@pytest.mark.parametrize(
    ("mechanism", "size"),
    [*product(LIKELY, (42,)), *product(scaled(("smp",), LIKELY), (1_024,))],
)
def test_intervals_hold_and_rare_labels_are_shrunk(mechanism: MechanismName, size: int) -> None:
    """Fixed seeds."""
    plan = large_plan(mechanism, size)
    held, errors = [], {"likelihood": 0.0, "unbiased": 0.0}
    for counts in list(runs(plan))[:3]:
        results = {method: estimate([(plan, counts)], method) for method in ("likelihood", "unbiased")}
        for name, law in zip(plan.schema.names, laws(size), strict=True):
            own = results["likelihood"].attributes[name]
            held.append((np.array(own.low) <= law) & (law <= np.array(own.high)))
            for method, result in results.items():
                errors[method] += float(((np.array(result.attributes[name].frequencies) - law) ** 2).sum())
    assert np.mean(held) >= 0.93
    assert errors["likelihood"] < 0.8 * errors["unbiased"]


def sparse_truth(size: int = 2_000) -> Floats:
    """Ten labels that half of the people give, and many that nearly nobody does."""
    truth = np.full(size, 0.5 / (size - 10))
    truth[:10] = 0.05
    return truth


def test_few_frequent_labels_stay_and_noise_is_pulled_to_even() -> None:
    """The control is one normal distribution for all labels, which pulls the frequent ones as far as the others."""
    truth, deviation = sparse_truth(), 0.005
    seen = truth + deviation * np.random.default_rng(1).standard_normal(len(truth))
    mean, variance = shrink(seen, deviation**2)
    assert np.abs(mean[:10] - truth[:10]).max() < 4 * deviation
    assert np.quantile(np.abs(mean[10:] - 1 / len(truth)), 0.99) < 0.2 * deviation
    assert np.mean((mean - truth) ** 2) < 0.1 * deviation**2
    spread = max(float(np.mean((seen - 1 / len(truth)) ** 2)) - deviation**2, 0.0)
    one_normal = 1 / len(truth) + spread / (spread + deviation**2) * (seen - 1 / len(truth))
    assert np.abs(one_normal[:10] - truth[:10]).max() > 4 * deviation
    assert np.mean((mean - truth) ** 2) < 0.3 * np.mean((one_normal - truth) ** 2)
    assert (variance >= 0).all()


def test_shrunk_intervals_hold() -> None:
    """All labels, and the frequent ones by themselves: 190 or more of 200 at 95 %; fixed seeds."""
    truth, deviation = sparse_truth(), 0.005
    everything, frequent = [], []
    for seed in range(20):
        seen = truth + deviation * np.random.default_rng(seed).standard_normal(len(truth))
        mean, variance = shrink(seen, deviation**2)
        held = np.abs(mean - truth) < 1.96 * np.sqrt(variance)
        everything.append(held.mean())
        frequent.append(held[:10].mean())
    assert np.mean(everything) >= 0.93
    assert np.mean(frequent) >= 0.9


def test_where_everything_is_noise_nothing_stands_out() -> None:
    deviation = 0.01
    seen = 1 / 5_000 + deviation * np.random.default_rng(3).standard_normal(5_000)
    mean, _ = shrink(seen, deviation**2)
    assert np.abs(mean - 1 / 5_000).max() < deviation
