"""The pooled estimate: how near it comes, how sure it is, and what it says."""

import inspect
from pathlib import Path
from typing import get_args

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from privtally.collector.estimate import Phase, estimate, pooled
from privtally.collector.estimate.large import pool_large
from privtally.collector.estimate.likelihood import OneWay, WholeReports
from privtally.collector.estimate.phase import invert
from privtally.collector.estimate.pooled import pool
from privtally.collector.estimate.stacked import PhaseLikelihood
from privtally.collector.simplex import project_to_simplex
from privtally.collector.tally import count, count_times
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan, design
from privtally.exact.arrays import Floats
from privtally.lab.seed import seeded
from privtally.names import MechanismName, Method
from privtally.participant.respond import respond_many
from privtally.schema import Records, Schema
from tests.collector.made_up import answered_independently, copying_plan, same_copies
from tests.collector.test_stacked import without_pairs
from tests.scale import scaled
from tests.support import plan_of, schema_of


def zero_sum(sizes: tuple[int, ...], seed: int) -> Floats:
    made_up = np.random.default_rng(seed)
    return np.concatenate([part - part.mean() for part in (made_up.normal(size=size) for size in sizes)])


@pytest.mark.parametrize("mechanism", ["spl", "smp", "rs-fd", "rs-rfd", "corr-rr", "cond-rr"])
def test_where_attributes_differ_strongly_it_is_the_unbiased_answer(mechanism: MechanismName) -> None:
    plan = plan_of(mechanism, (3, 3), epsilon=2.0)
    truth = [np.array([0.7, 0.2, 0.1]), np.array([0.1, 0.3, 0.6])]
    phase = (plan, answered_independently(plan, truth, 2_000_000))
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
        phase = (plan, answered_independently(plan, truth, 3_000, seed))
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
    counts = answered_independently(plan, truth, 20_000)
    labels = [attribute.labels for attribute in plan.schema.attributes]
    found = pool([PhaseLikelihood(plan, counts)], labels)
    mean, variance = found.mean, found.variance
    part = invert(plan, counts)
    means, variances = pool_large(part.frequencies, part.variances, labels)
    assert np.concatenate(means) == pytest.approx(mean, abs=0.05 * np.sqrt(variance.max()))
    assert np.concatenate(variances) == pytest.approx(variance, rel=0.05)


VERY_LARGE = {
    "rs-fd": lambda: design(schema_of((65_536, 2)), 2.0, "rs-fd"),
    "corr-rr": lambda: copying_plan(same_copies(2, 0.25), 65_536, 2.0),
}


@pytest.mark.parametrize("mechanism", scaled(["rs-fd"], ["rs-fd", "corr-rr"]))
def test_an_attribute_with_very_many_labels_takes_no_matrix(mechanism: str) -> None:
    plan = VERY_LARGE[mechanism]()
    codes = np.random.default_rng(1).integers(0, plan.schema.sizes, (500, 2)).astype(np.uint16)
    result = estimate([(plan, count(plan, codes))])
    assert sum(result.attributes["q0"].frequencies) == pytest.approx(1)
    assert "answers in all" in result.notes[0]


def test_the_estimator_is_given_plans_and_counts_and_nothing_else() -> None:
    """With the import rules, which keep records, clients and simulations away, no truth can reach it."""
    parameters = inspect.signature(estimate).parameters
    assert list(parameters) == ["history", "method", "by_round"]
    assert get_args(Phase) == (Plan, Counts)
    assert get_args(parameters["history"].annotation) == (Phase,)
    assert parameters["method"].annotation == Method


def test_whole_reports_say_which_attribute_was_the_pivot() -> None:
    """Reports that never agree with their pivot hide nothing from the likelihood that the marginals lose."""
    plan = copying_plan(same_copies(4, 0.0), 4)
    (part,) = plan.sampler.parts
    counts = answered_independently(plan, [np.full(4, 0.25)] * 4, 1_000_000)
    whole = WholeReports(part, np.array([[0, 1, 2, 3]]), np.array([counts.reports]))
    one_way = OneWay(plan, counts, part)
    uniform = np.full(16, 0.25)
    step = np.tile(zero_sum((4,), 1), 4)
    assert step @ whole.at(uniform)[1] @ step > 10 * (step @ one_way.at(uniform)[1] @ step)


def test_reports_that_cannot_come_from_the_plan_are_left_out_and_counted() -> None:
    plan = copying_plan(same_copies(3, 1.0), 3)
    honest = count(plan, np.repeat(np.arange(3, dtype=np.uint8), 100)[:, None].repeat(3, axis=1))
    made_up = count(plan, np.array([[0, 1, 2], [0, 0, 1]], dtype=np.uint8))
    with_them, without = estimate([(plan, honest + made_up)]), estimate([(plan, honest)])
    assert any(note.startswith("2 ") for note in with_them.notes)
    assert not any(note[0].isdigit() for note in without.notes)
    assert with_them.attributes == without.attributes
    assert estimate([(plan, made_up)]).attributes["q0"].frequencies == pytest.approx([1 / 3] * 3)


def test_what_the_reports_do_not_determine_is_said() -> None:
    plan = copying_plan(same_copies(3, 1.0), 3)
    honest = count(plan, np.repeat(np.arange(3, dtype=np.uint8), 100)[:, None].repeat(3, axis=1))
    assert len(estimate([(plan, honest)]).notes) == 1
    other = plan_of("corr-rr", (3, 3, 3))
    assert estimate([(other, answered_independently(other, [np.full(3, 1 / 3)] * 3, 300))]).notes == ()


@pytest.mark.parametrize(("size", "people", "epsilon"), [(100, 20_000, 2.0), (16, 2_000, 2.0), (8, 2_000, 1.0)])
def test_nearly_everybody_giving_one_answer_is_not_pulled_away(size: int, people: int, epsilon: float) -> None:
    """The reports are as expected, without noise: the pull alone is seen."""
    plan = design(schema_of((size, size)), epsilon, "smp")
    law = np.full(size, 0.1 / (size - 1))
    law[0] = 0.9
    private = plan.sampler.parts[0].asked[0].push(law)
    asked = np.column_stack([np.arange(len(private)), np.full(len(private), plan.sampler.silences[1])])
    times = np.tile(np.round(private * people / 2).astype(np.int64), 2)
    counts = count_times(plan, np.concatenate([asked, asked[:, ::-1]]), times)
    found = pool([PhaseLikelihood(plan, counts)], [attribute.labels for attribute in plan.schema.attributes])
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
    assert error("pooled") > 1.2 * error("unbiased")


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
    page = (Path(__file__).parents[2] / "docs/notes/mechanisms.md").read_text()
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
    plan = copying_plan(same_copies(attributes, 0.5), size, 16.0)
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
        for given, outcome in ((counts, held), (without_pairs(counts), control)):
            likelihood = PhaseLikelihood(plan, given)
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
