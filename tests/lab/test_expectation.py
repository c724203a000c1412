"""The error that is stated, next to estimates and campaigns that are simulated."""

import math

import numpy as np
import pytest

from privtally.lab.compare import Study, study_variant
from privtally.lab.expectation import (
    Group,
    Noise,
    Population,
    _error,
    expected_error,
    pilot_population,
    prior_populations,
)
from privtally.lab.offers import Offer, Question, offers
from privtally.lab.variants import variants
from privtally.names import MechanismName
from privtally.schema import Records
from tests.support import schema_of

USERS = 4_000


def some_people(sizes: tuple[int, ...], seed: int = 5) -> Records:
    generator = np.random.default_rng(seed)
    laws = [generator.dirichlet(np.full(size, 2.0)) for size in sizes]
    columns = [generator.choice(size, 20_000, p=law) for size, law in zip(sizes, laws, strict=True)]
    return Records(schema_of(sizes), np.column_stack(columns).astype(np.uint8))


def root_error(offer: Offer, population: Population) -> float:
    return math.sqrt(offer.square(population))


def offer_of(mechanism: MechanismName, sizes: tuple[int, ...], question: Question) -> Offer:
    return next(offer for offer in offers(schema_of(sizes), question) if offer.design.mechanism == mechanism)


@pytest.mark.parametrize(
    ("mechanism", "epsilon", "sizes"),
    [
        ("spl", 1.0, (3, 3, 3)),
        ("smp", 1.0, (3, 3, 3)),
        ("smp", 6.0, (2, 2)),
        ("rs-fd", 2.0, (2, 3, 4)),
        ("corr-rr", 2.0, (3, 3, 3)),
    ],
)
def test_errors_are_those_of_simulated_campaigns(
    mechanism: MechanismName, epsilon: float, sizes: tuple[int, ...]
) -> None:
    """The root of the mean of 100 squared errors is known to about 5 %; fixed seeds. Half the people are a control."""
    people = some_people(sizes)
    population = pilot_population(people)
    offer = offer_of(mechanism, sizes, Question(USERS, epsilon))
    study = Study(people, offer.design.phase1_share or 0.1, 100, 1, USERS)
    simulated = math.sqrt(study_variant(study, variants([mechanism])[0], epsilon, ["pooled"])[0].mse)
    half = offer_of(mechanism, sizes, Question(USERS // 2, epsilon))
    assert root_error(offer, population) == pytest.approx(simulated, rel=0.15)
    assert root_error(half, population) > 1.15 * simulated


@pytest.mark.parametrize("directions", [10, 30, 100])
@pytest.mark.parametrize("variance", [0.0, 0.5, 2.0])
def test_learning_the_variance_costs_what_it_costs_a_james_stein_estimate(directions: int, variance: float) -> None:
    """Next to the positive-part estimate, simulated. Its error is known to 1 %, and ours approximates it. An estimate
    that knew the variance is a control.
    """
    generator = np.random.default_rng(1)
    truth = generator.normal(size=(20_000, directions)) * math.sqrt(variance)
    seen = truth + generator.normal(size=truth.shape)
    keep = np.maximum(1 - (directions - 2) / np.sum(seen**2, axis=1), 0)
    cost = float(np.mean((keep[:, None] * seen - truth) ** 2)) - variance / (variance + 1)
    stated = _error(variance, 1.0, 1e9, directions) - variance / (variance + 1)
    assert 0.75 * cost - 0.005 < stated < 1.25 * cost + 0.005
    assert cost > 0.005


def test_a_variance_that_cannot_be_learned_is_guessed() -> None:
    """With next to no information the estimate stays near uniform, and its error is the variance itself."""
    assert _error(0.1, 1e6, 0.1, 50) == pytest.approx(0.1, rel=1e-3)
    assert _error(0.0, 1e6, 0.1, 50) < 1e-6
    assert _error(0.0, 0.0, 0.1, 50) == 0


@pytest.mark.parametrize("mechanism", ["spl", "smp", "rs-fd", "corr-rr"])
def test_more_people_and_a_larger_budget_never_hurt_unlike_attributes(mechanism: MechanismName) -> None:
    sizes = (4, 4, 4)
    unlike = prior_populations(schema_of(sizes))["unlike"]
    for questions in (
        [Question(people, 1.0) for people in (100, 1_000, 10_000, 10**9)],
        [Question(1_000, epsilon) for epsilon in (0.01, 0.1, 1.0, 10.0)],
    ):
        errors = [root_error(offer_of(mechanism, sizes, each), unlike) for each in questions]
        assert errors == sorted(errors, reverse=True)
        assert errors[-1] < 0.5 * errors[0]


def test_the_kinds_of_the_prior_have_the_variances_of_their_draws() -> None:
    """Within 6 standard errors of the mean of 4,000 drawn populations."""
    generator = np.random.default_rng(2)
    attributes, size, draws = 3, 4, 4_000
    shared = generator.dirichlet(np.ones(size), draws)
    frequencies = {
        "alike": np.repeat(shared[:, None], attributes, axis=1),
        "similar": np.array([generator.dirichlet(20 * law + 1e-6, attributes) for law in shared]),
        "unlike": generator.dirichlet(np.ones(size), (draws, attributes)),
    }
    stated = prior_populations(schema_of((size,) * attributes))
    for kind, drawn in frequencies.items():
        mean = drawn.mean(axis=1)
        together = attributes * np.sum((mean - 1 / size) ** 2, axis=1) / (size - 1)
        apart = np.sum((drawn - mean[:, None]) ** 2, axis=(1, 2)) / ((attributes - 1) * (size - 1))
        (group,) = stated[kind]
        for values, expected in ((together, group.together), (apart, group.apart)):
            assert abs(values.mean() - expected) <= 6 * values.std() / math.sqrt(draws) + 1e-12


def test_attributes_with_the_same_labels_are_a_group() -> None:
    people = some_people((3, 2, 3))
    assert [(group.places, group.size) for group in pilot_population(people)] == [((0, 2), 3), ((1,), 2)]


def test_what_attributes_share_is_counted_once() -> None:
    """Noise that all attributes share and no noise of their own: only what they have in common is uncertain."""
    population = [Group((0, 1), 3, together=1e6, apart=0.0)]
    both = expected_error(Noise([0.0, 0.0], common=[((0, 1), 0.01)]), population, 10**12)
    # Two directions of variance 2 · 0.01, over three labels and two attributes.
    assert both == pytest.approx(2 * 0.02 / 3 / 2, rel=1e-3)


def test_noise_that_two_groups_share_is_in_their_sum_and_in_their_difference() -> None:
    """Attributes 0 and 1 share noise, 2 and 3 share other noise; next to the covariance written out."""
    noise = Noise([0.1, 0.1, 0.2, 0.2], common=[((0, 1), 0.3), ((2, 3), 0.5)])
    covariance = np.diag([0.1, 0.1, 0.2, 0.2])
    covariance[:2, :2] += 0.3
    covariance[2:, 2:] += 0.5
    together, apart = noise.of(Group((0, 1, 2, 3), 3, 0.0, 0.0))
    assert together == pytest.approx(covariance.sum() / 4)
    assert apart == pytest.approx((np.trace(covariance) - covariance.sum() / 4) / 3)
