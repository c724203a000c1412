"""The pooled estimate: its likelihood against enumerated laws, and what it does with the answer."""

import inspect
from functools import reduce
from itertools import product
from pathlib import Path
from typing import get_args

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from privtally.collector.estimate import Phase, estimate, pooled
from privtally.collector.estimate.large import pool_large
from privtally.collector.estimate.likelihood import Answers, Likelihood, OneWay, Whole, likelihood_of
from privtally.collector.estimate.phase import invert
from privtally.collector.estimate.pooled import pool
from privtally.collector.simplex import project_to_simplex
from privtally.documents.counts import Counts, count
from privtally.documents.plan import Plan, design
from privtally.exact.arrays import Floats
from privtally.lab.collectors import Exact
from privtally.lab.seed import seeded
from privtally.mechanisms import Pivot
from privtally.names import MechanismName, Method
from privtally.participant.respond import respond_many
from privtally.schema import Records, Schema
from tests.support import plan_of, schema_of

PIVOTS: list[tuple[MechanismName, tuple[int, ...]]] = [
    ("rs-fd", (2, 3)),
    ("rs-rfd", (3, 2, 2)),
    ("corr-rr", (3, 3, 3)),
    ("cond-rr", (2, 4)),
]


def report_probabilities(plan: Plan, frequencies: Floats) -> Floats:
    """The probability of every report if answers are independent: their marginals are all that matters."""
    parts = np.split(frequencies, np.cumsum(plan.schema.sizes)[:-1])
    total = np.zeros(int(np.prod(plan.sampler.outputs)))
    for record in product(*map(range, plan.schema.sizes)):
        chance = np.prod([part[code] for part, code in zip(parts, record, strict=True)])
        law = plan.sampler.law(record)
        total += chance * np.array([float(law[report]) for report in product(*map(range, plan.sampler.outputs))])
    return total


def some_frequencies(sizes: tuple[int, ...], seed: int = 1) -> Floats:
    made_up = np.random.default_rng(seed)
    return np.concatenate([made_up.dirichlet(np.full(size, 5.0)) for size in sizes])


def zero_sum(sizes: tuple[int, ...], seed: int) -> Floats:
    made_up = np.random.default_rng(seed)
    return np.concatenate([part - part.mean() for part in (made_up.normal(size=size) for size in sizes)])


@pytest.mark.parametrize(("mechanism", "sizes"), PIVOTS)
def test_the_slope_is_that_of_the_whole_reports_likelihood(mechanism: MechanismName, sizes: tuple[int, ...]) -> None:
    plan = plan_of(mechanism, sizes)
    codes = np.random.default_rng(2).integers(0, sizes, (50, len(sizes))).astype(np.uint8)
    counts = count(plan, codes)
    seen = np.zeros(sizes)
    np.add.at(seen, tuple(codes.T), 1)
    likelihood, point = likelihood_of(plan, counts), some_frequencies(sizes)
    assert isinstance(likelihood, Whole)
    slope, _ = likelihood.at(point)
    for seed in range(3):
        step = 1e-5 * zero_sum(sizes, seed)
        up, down = (np.log(report_probabilities(plan, point + sign * step)) @ seen.ravel() for sign in (1, -1))
        assert slope @ step == pytest.approx((up - down) / 2, rel=1e-5)


@pytest.mark.parametrize(("mechanism", "sizes"), PIVOTS)
def test_the_information_is_the_mean_squared_slope(mechanism: MechanismName, sizes: tuple[int, ...]) -> None:
    plan = plan_of(mechanism, sizes)
    counts = count(plan, np.zeros((7, len(sizes)), dtype=np.uint8))
    point = some_frequencies(sizes)
    _, information = likelihood_of(plan, counts).at(point)
    for seed in range(3):
        step = 1e-4 * zero_sum(sizes, seed)
        up, down, here = (report_probabilities(plan, point + sign * step) for sign in (1, -1, 0))
        assert step @ information @ step == pytest.approx(7 * (((up - down) / 2) ** 2 / here).sum(), rel=1e-4)


def test_counts_without_whole_reports_use_their_operator() -> None:
    plan = plan_of("corr-rr", (3, 3, 3))
    assert isinstance(plan.sampler, Pivot)
    counts = count(plan, np.random.default_rng(2).integers(0, 3, (400, 3)).astype(np.uint8), whole_report_limit=2)
    likelihood = likelihood_of(plan, counts)
    assert isinstance(likelihood, OneWay)
    unbiased = np.concatenate(list(invert(plan, counts).frequencies))
    slope, _ = likelihood.at(unbiased)
    for seed in range(3):
        assert slope @ zero_sum((3, 3, 3), seed) == pytest.approx(0, abs=1e-6)
    assert "pairwise tables" in estimate([(plan, counts)]).notes[0]


def simulated(plan: Plan, frequencies: list[Floats], people: int, seed: int = 3) -> Counts:
    """Reports of people whose answers are independent."""
    generator = np.random.default_rng(seed)
    law = reduce(np.multiply.outer, frequencies)
    table = generator.multinomial(people, law.ravel()).reshape(law.shape)
    nobody = Records(plan.schema, np.zeros((1, len(frequencies)), dtype=np.uint8))
    return Exact(nobody, None, generator).count(plan, table)


@pytest.mark.parametrize("mechanism", ["spl", "smp", "rs-fd", "rs-rfd", "corr-rr", "cond-rr"])
def test_where_attributes_differ_strongly_it_is_the_unbiased_answer(mechanism: MechanismName) -> None:
    plan = plan_of(mechanism, (3, 3), epsilon=2.0)
    truth = [np.array([0.7, 0.2, 0.1]), np.array([0.1, 0.3, 0.6])]
    phase = (plan, simulated(plan, truth, 2_000_000))
    pooled, unbiased = estimate([phase]), estimate([phase], "unbiased")
    for name, own in zip(plan.schema.names, truth, strict=True):
        one, two = pooled.attributes[name], unbiased.attributes[name]
        assert np.abs(np.array(one.frequencies) - two.frequencies) == pytest.approx(0, abs=2 * max(two.standard_errors))
        assert np.array(one.frequencies) == pytest.approx(own, abs=6 * max(one.standard_errors))
        assert max(one.standard_errors) <= 1.05 * max(two.standard_errors)


@pytest.mark.parametrize("mechanism", ["spl", "smp", "rs-fd", "corr-rr"])
def test_where_nothing_differs_it_is_much_closer(mechanism: MechanismName) -> None:
    """Fixed seeds; the factor is about ten on average."""
    plan = plan_of(mechanism, (4, 4, 4))
    truth = [np.full(4, 0.25)] * 3
    errors = {"pooled": 0.0, "unbiased": 0.0}
    for seed in range(5):
        phase = (plan, simulated(plan, truth, 3_000, seed))
        for method in ("pooled", "unbiased"):
            found = estimate([phase], method).attributes.values()
            errors[method] += sum(((np.array(each.frequencies) - 0.25) ** 2).sum() for each in found)
    assert errors["pooled"] < errors["unbiased"] / 2


def test_it_gives_distributions_with_intervals_around_them() -> None:
    plan = plan_of("corr-rr", (4, 4))
    result = estimate([(plan, count(plan, np.zeros((30, 2), dtype=np.uint8)))])
    for attribute in result.attributes.values():
        assert sum(attribute.frequencies) == pytest.approx(1)
        assert attribute.low is not msgspec.UNSET
        assert attribute.high is not msgspec.UNSET
        for low, frequency, high in zip(attribute.low, attribute.frequencies, attribute.high, strict=True):
            assert 0 <= low <= frequency <= high <= 1


def test_large_schemas_are_pooled_by_the_same_model() -> None:
    """SPL on near-uniform answers is what the short cut assumes, and that every attribute has the same variances."""
    plan = design(schema_of((4, 4, 4, 4)), 2.0, "spl")
    truth = [np.array([0.27, 0.25, 0.24, 0.24])] * 4
    counts = simulated(plan, truth, 20_000)
    labels = [attribute.labels for attribute in plan.schema.attributes]
    likelihoods: list[Likelihood] = [likelihood_of(plan, counts)]
    found = pool(likelihoods, labels)
    mean, variance = found.mean, found.variance
    part = invert(plan, counts)
    means, variances = pool_large(part.frequencies, part.variances, labels)
    assert np.concatenate(means) == pytest.approx(mean, abs=0.05 * np.sqrt(variance.max()))
    assert np.concatenate(variances) == pytest.approx(variance, rel=0.05)


def test_an_attribute_with_very_many_labels_takes_no_matrix() -> None:
    plan = design(schema_of((65_536, 2)), 2.0, "rs-fd")
    codes = np.random.default_rng(1).integers(0, (65_536, 2), (500, 2)).astype(np.uint16)
    result = estimate([(plan, count(plan, codes))])
    assert sum(result.attributes["q0"].frequencies) == pytest.approx(1)
    assert "labels in all" in result.notes[0]


def test_the_estimator_is_given_plans_and_counts_and_nothing_else() -> None:
    """With the import rules, which keep records, clients and simulations away, no truth can reach it."""
    parameters = inspect.signature(estimate).parameters
    assert list(parameters) == ["phases", "method"]
    assert get_args(Phase) == (Plan, Counts)
    assert get_args(parameters["phases"].annotation) == (Phase,)
    assert parameters["method"].annotation == Method


def test_whole_reports_say_which_attribute_was_the_pivot() -> None:
    """Reports that never agree with their pivot hide nothing from the likelihood that the marginals lose."""
    copies = tuple(tuple(1.0 if own == other else 0.0 for other in range(4)) for own in range(4))
    plan = Plan(schema_of((4, 4, 4, 4)), 1.0, "corr-rr", 2, "corr-rr", copy_probability=copies)
    assert isinstance(plan.sampler, Pivot)
    counts = simulated(plan, [np.full(4, 0.25)] * 4, 1_000_000)
    whole = Whole(plan.sampler, np.array([[0, 1, 2, 3]]), np.array([counts.reports]))
    one_way = OneWay(plan.sampler, counts)
    uniform = np.full(16, 0.25)
    step = np.tile(zero_sum((4,), 1), 4)
    assert step @ whole.at(uniform)[1] @ step > 10 * (step @ one_way.at(uniform)[1] @ step)


def test_reports_that_cannot_come_from_the_plan_are_left_out_and_counted() -> None:
    copies = tuple(tuple(1.0 for _ in range(3)) for _ in range(3))
    plan = Plan(schema_of((3, 3, 3)), 1.0, "corr-rr", 2, "corr-rr", copy_probability=copies)
    honest = count(plan, np.repeat(np.arange(3, dtype=np.uint8), 100)[:, None].repeat(3, axis=1))
    made_up = count(plan, np.array([[0, 1, 2], [0, 0, 1]], dtype=np.uint8))
    with_them, without = estimate([(plan, honest + made_up)]), estimate([(plan, honest)])
    assert "2 reports to phase 2 cannot come from its plan" in with_them.notes[0]
    assert with_them.attributes == without.attributes
    assert estimate([(plan, made_up)]).attributes["q0"].frequencies == pytest.approx([1 / 3] * 3)


def test_what_the_reports_do_not_determine_is_said() -> None:
    copies = tuple(tuple(1.0 for _ in range(3)) for _ in range(3))
    plan = Plan(schema_of((3, 3, 3)), 1.0, "corr-rr", 2, "corr-rr", copy_probability=copies)
    honest = count(plan, np.repeat(np.arange(3, dtype=np.uint8), 100)[:, None].repeat(3, axis=1))
    assert "do not tell all attributes apart" in estimate([(plan, honest)]).notes[0]
    assert (
        estimate(
            [(plan_of("corr-rr", (3, 3, 3)), count(plan_of("corr-rr", (3, 3, 3)), np.zeros((9, 3), np.uint8)))]
        ).notes
        == ()
    )


@pytest.mark.parametrize(("size", "people", "epsilon"), [(100, 20_000, 2.0), (16, 2_000, 2.0), (8, 2_000, 1.0)])
def test_nearly_everybody_giving_one_answer_is_not_pulled_away(size: int, people: int, epsilon: float) -> None:
    """The reports are as expected, without noise: the pull alone is seen."""
    plan = design(schema_of((size, size)), epsilon, "smp")
    law = np.full(size, 0.1 / (size - 1))
    law[0] = 0.9
    private = plan.sampler.channels[0].push(law)
    tally = np.round(private * people / 2).astype(np.int64)
    likelihood = Answers([float(channel.scale) for channel in plan.sampler.channels], [tally, tally])
    found = pool([likelihood], [attribute.labels for attribute in plan.schema.attributes])
    assert found.mean[0] == pytest.approx(0.9, abs=0.12)


def answered(plan: Plan, law: Floats, people: int, seed: int) -> Counts:
    """Reports of people all of whose answers have this law."""
    generator = np.random.default_rng(seed)
    codes = generator.choice(len(law), (people, len(plan.schema.attributes)), p=law).astype(np.uint8)
    return count(plan, respond_many(plan, Records(plan.schema, codes), seeded(seed)).codes)


@pytest.mark.parametrize(("attributes", "epsilon"), [(1, 1.0), (3, 4.0)])
def test_answers_on_few_of_many_labels_are_believed(attributes: int, epsilon: float) -> None:
    """Half the people on each of two labels: projection alone is hard to beat. Fixed seeds; the ratio is about 0.6."""
    plan = design(schema_of((10,) * attributes), epsilon, "spl")
    law = np.array([0.5, 0.5] + [0.0] * 8)
    errors = {"pooled": 0.0, "unbiased": 0.0}
    for seed in range(8):
        phase = (plan, answered(plan, law, 30_000, seed))
        for method in ("pooled", "unbiased"):
            for each in estimate([phase], method).attributes.values():
                errors[method] += float(((project_to_simplex(np.array(each.frequencies)) - law) ** 2).sum())
    assert errors["pooled"] < errors["unbiased"]


def test_rare_labels_of_many_are_known_to_be_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guide's example: nine in ten people give the same of 50 answers. Fixed seeds."""
    plan = design(schema_of((50, 50)), 2.0, "smp")
    law = np.array([0.9] + [0.1 / 49] * 49)

    def error(method: Method) -> float:
        found = [estimate([(plan, answered(plan, law, 2_000, seed))], method) for seed in range(5)]
        frequencies = [each.frequencies for result in found for each in result.attributes.values()]
        return float(sum(((project_to_simplex(np.array(each)) - law) ** 2).sum() for each in frequencies))

    assert error("pooled") < 0.5 * error("unbiased")
    monkeypatch.setattr(pooled, "MOST_DIRICHLET", 0)
    assert error("pooled") > 3 * error("unbiased")


def test_identical_skewed_attributes_are_averaged() -> None:
    """Dirichlet distributions without a shared component must not separate them. Fixed seeds; the ratio is 0.23."""
    plan = design(schema_of((4,) * 4), 2.0, "smp")
    law = np.array([0.9, 0.04, 0.03, 0.03])
    errors = {"pooled": 0.0, "unbiased": 0.0}
    for seed in range(20):
        phase = (plan, answered(plan, law, 2_000, seed))
        for method in ("pooled", "unbiased"):
            for each in estimate([phase], method).attributes.values():
                errors[method] += float(((project_to_simplex(np.array(each.frequencies)) - law) ** 2).sum())
    assert errors["pooled"] < 0.3 * errors["unbiased"]


def test_the_guide_states_how_many_labels_may_have_a_dirichlet_distribution() -> None:
    page = (Path(__file__).parents[2] / "docs/guide/how-it-works.md").read_text()
    assert f"up to {pooled.MOST_DIRICHLET} labels in all" in " ".join(page.split())


def test_many_attributes_that_are_alike_are_still_pooled() -> None:
    """Small errors in how well each attribute is explained must not add up and decide. Fixed seeds."""
    plan = design(schema_of((2,) * 60), 8.0, "spl")
    law = np.array([0.6, 0.4])
    phase = (plan, answered(plan, law, 1_000, 1))
    errors = {
        method: float(
            np.mean([(each.frequencies[0] - 0.6) ** 2 for each in estimate([phase], method).attributes.values()])
        )
        for method in ("pooled", "unbiased")
    }
    assert errors["pooled"] < 0.25 * errors["unbiased"]


@pytest.mark.parametrize(("size", "attributes", "people"), [(30, 4, 500), (20, 3, 300)])
@pytest.mark.parametrize("seed", range(3))
def test_sharp_and_blunt_directions_together_are_estimated(size: int, attributes: int, people: int, seed: int) -> None:
    """A large budget, and copies that hide nearly all that tells attributes apart."""
    half = tuple(tuple(1.0 if own == other else 0.5 for other in range(attributes)) for own in range(attributes))
    plan = Plan(schema_of((size,) * attributes), 16.0, "corr-rr", 2, "corr-rr", copy_probability=half)
    law = 1 / np.arange(1, size + 1) ** 2.0
    found = estimate([(plan, answered(plan, law / law.sum(), people, seed))])
    for each in found.attributes.values():
        assert np.isfinite(each.frequencies).all()
        assert np.isfinite(each.standard_errors).all()


def test_people_who_answer_everything_alike_are_not_counted_twice() -> None:
    """SPL, four attributes that are one.

    A run counts as one draw, all its frequencies standing or falling together: 82 or fewer of 100 at 95 % happens
    about once in a million. The control takes the answers for independent.
    """
    plan = design(schema_of((4, 4, 4, 4)), 16.0, "spl")
    truth = np.tile([0.4, 0.3, 0.2, 0.1], 4)
    generator = np.random.default_rng(8)
    held: list[NDArray[np.bool_]] = []
    control: list[NDArray[np.bool_]] = []
    for seed in range(100):
        answers = generator.choice(4, 2_000, p=truth[:4])[:, None].repeat(4, axis=1).astype(np.uint8)
        counts = count(plan, respond_many(plan, Records(plan.schema, answers), seeded(seed)).codes)
        alone = Answers([float(channel.scale) for channel in plan.sampler.channels], counts.attributes)
        both: list[tuple[Likelihood, list[NDArray[np.bool_]]]]
        both = [(likelihood_of(plan, counts), held), (alone, control)]
        for likelihood, outcome in both:
            found = pool([likelihood], [attribute.labels for attribute in plan.schema.attributes])
            outcome.append(np.abs(found.mean - truth) < 1.96 * np.sqrt(found.variance))
    assert np.mean(held) > 82 / 100
    assert np.mean(control) < 82 / 100


def test_uneven_answers_to_different_lists_are_not_taken_for_one_scale() -> None:
    """The same reports, told once that the labels differ and once that they are the same. Fixed seeds."""
    laws = [np.array([0.3, 0.47, 0.07, 0.14, 0.02]), np.array([0.34, 0.01, 0.16, 0.0, 0.49])]
    errors = {}
    for labels in ("abcde", "vwxyz"):
        plan = design(Schema.of({"p": list("abcde"), "q": list(labels)}), 0.4, "rs-fd")
        errors[labels] = 0.0
        for seed in range(20):
            generator = np.random.default_rng(seed)
            codes = np.column_stack([generator.choice(5, 8_000, p=law) for law in laws]).astype(np.uint8)
            counts = count(plan, respond_many(plan, Records(plan.schema, codes), seeded(seed)).codes)
            for each, law in zip(estimate([(plan, counts)], "pooled").attributes.values(), laws, strict=True):
                errors[labels] += float(((np.array(each.frequencies) - law) ** 2).sum())
    assert errors["vwxyz"] < 0.95 * errors["abcde"]
