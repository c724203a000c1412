"""Parts, plans, people and campaigns that the collector's tests share."""

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce

import numpy as np

from privtally.collector.learn import learn
from privtally.collector.pairs import PairEstimate
from privtally.collector.tally import count_times
from privtally.documents.campaign import Phase
from privtally.documents.counts import SUB_REPORT_LIMIT, Counts, SubReports
from privtally.documents.estimate import Estimate
from privtally.documents.plan import Plan
from privtally.exact.rational import nearest_probability
from privtally.lab.simulate import simulate
from privtally.mechanisms.channels import randomized_response
from privtally.mechanisms.fills import AnyFill, CopyFill, RowFill, UniformFill
from privtally.mechanisms.mechanism import Part
from privtally.mechanisms.projective import Geometry, Projective
from privtally.names import MechanismName
from tests.support import first_plan, later_plan, part_of, plan_of, plan_with, table_fill

SEVEN_CODES = Projective(3, 40, 1, Geometry(2, 3))
"""Three labels, seven output codes."""


def copying_plan(copy_probability: np.ndarray, size: int, epsilon: float = 1.0) -> Plan:
    """The second plan of a Corr-RR campaign with these copy probabilities."""
    first = first_plan((size,) * len(copy_probability), epsilon, "corr-rr")
    return later_plan(first, CopyFill(tuple(map(tuple, copy_probability.tolist()))))


def same_copies(attributes: int, probability: float) -> np.ndarray:
    """One copy probability for all pairs."""
    chances = np.full((attributes, attributes), nearest_probability(probability))
    np.fill_diagonal(chances, 1.0)
    return chances


def squared_scale(plan: Plan) -> float:
    """The square of the scale of the first attribute's randomized response."""
    scale = plan.mechanism.parts[0].asked[0].scale
    assert scale is not None
    return float(scale) ** 2


def copies(*rows: tuple[float, ...]) -> CopyFill:
    return CopyFill(rows)


def two_groups(first: AnyFill | None, second: AnyFill | None, sizes: tuple[int, ...], epsilon: float = 4.0) -> Plan:
    """Attributes 0 and 2 in one group, 1 and 3 in another, each with half of the budget."""
    return plan_with((part_of((0, 2), 1, first), part_of((1, 3), 1, second)), sizes, epsilon)


def copying_groups(epsilon: float = 4.0) -> Plan:
    return two_groups(
        copies((1.0, 0.625), (0.5, 1.0)), copies((1.0, 0.25), (0.75, 1.0)), (3, 2, 3, 2), epsilon
    )  # fmt: skip


def two_pivots(fill: AnyFill | None, sizes: tuple[int, ...] = (2, 3, 2), epsilon: float = 4.0) -> Plan:
    """Two attributes of three are asked, each with half of the budget."""
    return plan_with((part_of((0, 1, 2), 2, fill),), sizes, epsilon)


ROWS = RowFill(((0.25, 0.75), (0.5, 0.125, 0.375), (0.625, 0.375)))


def plans_of_every_kind() -> dict[str, Plan]:
    """The named mechanisms, two groups, and two pivots: small enough to enumerate."""
    plans: dict[str, Plan] = {
        "spl": plan_of("spl", (2, 3), 3.0),
        "smp": plan_of("smp", (2, 3), 3.0),
        "rs-fd": plan_of("rs-fd", (2, 3), 3.0),
        "rs-rfd": plan_of("rs-rfd", (2, 3), 3.0, seed=3),
        "corr-rr": plan_of("corr-rr", (3, 3), 3.0, seed=3),
        "cond-rr": plan_of("cond-rr", (2, 3), 3.0, seed=3),
        "copying groups": copying_groups(),
        "silent groups": two_groups(None, None, (2, 3, 2, 2)),
        "two pivots, silent": two_pivots(None),
        "two pivots, uniform": two_pivots(UniformFill()),
        "two pivots, rows": two_pivots(ROWS),
        "two pivots, tables": two_pivots(table_fill((2, 3, 2), 2, np.random.default_rng(5))),
    }
    return plans


def parts_with_other_alphabets() -> dict[str, Part]:
    """Parts with a channel whose output codes are not its labels."""
    three = randomized_response(Fraction(4), 3)
    tables = table_fill((7, 3), 1, np.random.default_rng(6))
    return {
        "alone": Part((0,), 1, (SEVEN_CODES,)),
        "uniform": Part((0, 1), 1, (SEVEN_CODES, three), 1, UniformFill()),
        "silent": Part((0, 1), 1, (SEVEN_CODES, three)),
        "tables": Part((0, 1), 1, (SEVEN_CODES, three), 1, tables),
        "two pivots, silent": Part((0, 1, 2), 2, (SEVEN_CODES, three, SEVEN_CODES)),
    }


def made_up_law(sizes: tuple[int, ...], seed: int = 1) -> np.ndarray:
    """A distribution of records in which answers of one person go together."""
    return np.random.default_rng(seed).dirichlet(np.full(int(np.prod(sizes)), 0.5)).reshape(sizes)


def marginals_of(answers: np.ndarray) -> list[np.ndarray]:
    """The distribution of each attribute by itself."""
    axes = range(answers.ndim)
    return [answers.sum(axis=tuple(axis for axis in axes if axis != own)) for own in axes]


def drawn(answers: np.ndarray, people: int, generator: np.random.Generator) -> SubReports:
    """People whose records are drawn from a distribution, as distinct records with their numbers."""
    table = generator.multinomial(people, answers.ravel()).reshape(answers.shape)
    return SubReports(np.argwhere(table), table[table > 0])


def assert_covering(gaps: Sequence[float]) -> None:
    """Errors in standard errors: 93 % of the intervals hold at least, and of intervals half as wide fewer do."""
    assert np.mean(np.array(gaps) < 1.96) >= 0.93
    assert np.mean(np.array(gaps) < 0.98) < 0.93


def gaps_of(estimate: Estimate, answers: np.ndarray) -> list[float]:
    """How far all frequencies are from those of a population, in standard errors."""
    gaps: list[float] = []
    for own, truth in zip(estimate.attributes.values(), marginals_of(answers), strict=True):
        gaps += (np.abs(np.array(own.frequencies) - truth) / np.array(own.standard_errors)).tolist()
    return gaps


def cell_gaps(table: PairEstimate, answers: np.ndarray) -> list[float]:
    """The same of all cells of a table, whose attributes are named by their places."""
    places = [int(name[1:]) for name in table.attributes]
    truth = answers.sum(axis=tuple(axis for axis in range(answers.ndim) if axis not in places))
    found: list[float] = (
        (np.abs(np.array(table.frequencies) - truth) / np.array(table.standard_errors)).ravel().tolist()
    )
    return found


def simulated(
    plan: Plan, answers: np.ndarray, people: int, generator: np.random.Generator, limit: int = SUB_REPORT_LIMIT
) -> Counts:
    """The counts of the reports of people who are drawn from a distribution of records."""
    reports = simulate(plan.mechanism, drawn(answers, people, generator), generator)
    return count_times(plan, reports.codes, reports.times, limit)


def answered_independently(plan: Plan, frequencies: Sequence[np.ndarray], people: int, seed: int = 3) -> Counts:
    """The counts of the reports of people whose answers are independent of each other."""
    return simulated(plan, reduce(np.multiply.outer, frequencies), people, np.random.default_rng(seed))


def campaign(mechanism: MechanismName, phases: int, people: int = 4_000, seed: int = 1) -> list[Phase]:
    """The history of a campaign on two attributes of three labels, each phase learned from all before it."""
    generator, answers = np.random.default_rng(seed), made_up_law((3, 3))
    plan = first_plan((3, 3), 2.0, mechanism, answers=phases)
    history = [(plan, simulated(plan, answers, people, generator))]
    while len(history) < phases:
        plan = learn(history, people=people)
        history.append((plan, simulated(plan, answers, people, generator)))
    return history


def copying_campaign(probability: float, people: int = 5_000) -> list[Phase]:
    """Two phases of people who answer evenly; the second one copies with the given probability."""
    generator, answers = np.random.default_rng(2), np.full((3, 3), 1 / 9)
    first = first_plan((3, 3), 1.0, "corr-rr")
    second = later_plan(first, copies((1.0, probability), (probability, 1.0)))
    return [(plan, simulated(plan, answers, people, generator)) for plan in (first, second)]
