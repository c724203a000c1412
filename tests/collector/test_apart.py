"""One attribute that has more of its own than the others: the posterior from the densities, and what it buys."""

from pathlib import Path

import numpy as np
import pytest

from privtally.collector.estimate.inverse import Floats
from privtally.collector.estimate.pooled import Model
from privtally.collector.estimate.prior import ALL_BUT_ONE, ONE_APART, Extra, Prior, Seen, with_one_apart
from tests.collector.test_prior import labels_of

NOISE = 0.01
"""The standard deviation of what is seen of every frequency."""


def detailed(labels: list[tuple[str, ...]], information: Floats) -> Model:
    """The model with all that it has but Dirichlet distributions."""
    model = Model(labels)
    model.use(model.prior_for(information))
    model.detail(information)
    model.use(model.prior.only(np.arange(len(model.prior.own)) < model.prior.normal))
    return model


def by_hand(
    before: Prior, extra: Extra, labels: list[tuple[str, ...]], slope: Floats, information: Floats
) -> tuple[Floats, Floats, float]:
    """Mean and variance of every frequency's difference to uniform, from the normal densities themselves, and how
    credible it is that one attribute is apart.
    """
    sizes = [len(own) for own in labels]
    starts = np.cumsum([0, *sizes])
    logs, means, variances, apart = [], [], [], []
    chances = extra.chance(before.own)
    for shared, own, weight, chance in zip(before.shared, before.own, before.weights, chances, strict=True):
        cases = [(-1, 0.0, weight * (1 - chance))]
        for whose in range(len(labels)):
            for variance, part in zip(extra.variances, extra.weights, strict=True):
                cases.append((whose, variance, weight * chance * part / len(labels)))
        for whose, more, credible in cases:
            covariance = np.zeros((starts[-1], starts[-1]))
            for one, first in enumerate(labels):
                for two, second in enumerate(labels):
                    if first == second:
                        size = sizes[one]
                        spread = shared + (own if one == two else 0.0) + (more if one == two == whose else 0.0)
                        block = (np.eye(size) - 1 / size) * spread / (size * (size + 1))
                        covariance[starts[one] : starts[one + 1], starts[two] : starts[two + 1]] = block
            kept = np.linalg.inv(np.eye(len(covariance)) + covariance @ information)
            means.append(kept @ covariance @ slope)
            variances.append(np.diag(kept @ covariance))
            logs.append(np.log(credible) + 0.5 * slope @ means[-1] + 0.5 * np.linalg.slogdet(kept)[1])
            apart.append(whose >= 0)
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    mean = weights @ np.array(means)
    return mean, weights @ (np.array(variances) + (np.array(means) - mean) ** 2), float(weights @ np.array(apart))


@pytest.mark.parametrize("labels", [labels_of(4, 3), labels_of(3, 4)])
def test_the_posterior_is_what_the_densities_say(labels: list[tuple[str, ...]]) -> None:
    """Forgetting the extra part must show."""
    generator = np.random.default_rng(3)
    many = sum(map(len, labels))
    root = generator.normal(size=(many, many))
    information = 400 * (np.eye(many) + 0.1 * root @ root.T)
    truth = np.zeros(many)
    truth[len(labels[0]) : len(labels[0]) + 3] = 0.3, -0.2, -0.1
    slope = information @ (truth + 0.01 * generator.normal(size=many))
    model = detailed(labels, information)
    assert model.extra is not None
    posterior = model.posterior(slope, information)
    mean, variance, apart = by_hand(model.prior, model.extra, labels, slope, information)
    assert apart > 0.8
    assert model.mean(posterior) - model.uniform == pytest.approx(mean, abs=1e-12)
    assert model.variances(posterior, slope, information) == pytest.approx(variance, abs=1e-12)
    model.extra = None
    without = model.posterior(slope, information)
    assert np.abs(model.mean(without) - model.uniform - mean).max() > 1e-3
    assert np.abs(model.variances(without, slope, information) / variance - 1).max() > 0.1


def test_it_takes_three_attributes_with_the_same_labels_that_reports_tell_apart() -> None:
    blind = np.ones((12, 12)) * 1e4
    for labels, information in (
        (labels_of(2, 4), np.eye(8) * 1e4),
        ([*labels_of(3, 4), ("c", "d")], np.eye(14) * 1e4),
        (labels_of(3, 4), blind),
        (labels_of(3, 4), np.zeros((12, 12))),
    ):
        assert detailed(labels, information).extra is None
    model = detailed(labels_of(3, 4), np.eye(12) * 1e4)
    assert model.extra is not None
    assert model.extra.weights.sum() == pytest.approx(1)


def test_the_chances_are_those_that_are_stated() -> None:
    """Nothing but one attribute's, and, if that is not so, more than the others'."""
    information = np.eye(12) * 1e4
    model = Model(labels_of(3, 4))
    model.use(model.prior_for(information))
    nothing = model.prior.weights[model.prior.own == 0].sum()
    model.detail(information)
    assert model.extra is not None
    assert model.prior.weights.sum() == pytest.approx(1)
    weights = model.prior.weights[: model.prior.normal]
    own = model.prior.own[: model.prior.normal]
    chances = model.extra.chance(own)
    assert weights[own == 0].sum() == pytest.approx(ALL_BUT_ONE + (1 - ALL_BUT_ONE) * nothing)
    assert weights[own == 0] @ (1 - chances[own == 0]) == pytest.approx((1 - ALL_BUT_ONE) * (1 - ONE_APART) * nothing)
    assert set(chances[own > 0]) == {ONE_APART}


def errors(truth: Floats, differences: Floats, *, apart: bool) -> tuple[Floats, float]:
    """The squared error of every attribute next to the unbiased one's, and how often 1.96 deviations hold a frequency.

    Differences (run, attribute, label) are multiples of the noise. The seeds are fixed.
    """
    attributes, size = truth.shape
    model = Model(labels_of(attributes, size))
    information = np.eye(truth.size) / NOISE**2
    model.use(model.prior_for(information))
    if apart:
        own = Seen((attributes - 1) * (size - 1), NOISE**2 * size * (size + 1))
        before, model.extra = with_one_apart(model.prior, own, size + 1)
        model.use(before)
    squared, held = np.zeros(truth.shape), 0.0
    for seed, difference in enumerate(differences):
        law = truth + NOISE * (difference - difference.mean(axis=1, keepdims=True))
        seen = law + NOISE * np.random.default_rng(seed).normal(size=truth.shape)
        slope = information @ (seen.ravel() - model.uniform)
        posterior = model.posterior(slope, information)
        off = model.mean(posterior).reshape(truth.shape) - law
        squared += off**2 / len(differences)
        deviations = np.sqrt(model.variances(posterior, slope, information)).reshape(truth.shape)
        held += float(np.mean(np.abs(off) < 1.96 * deviations)) / len(differences)
    return squared.sum(axis=1) / NOISE**2 / (size - 1), held


def scattered(shape: tuple[int, ...], by: float, runs: int = 60) -> Floats:
    """All attributes but the first differ at random."""
    found = by * np.random.default_rng(1).normal(size=(runs, *shape))
    found[:, 0] = 0
    return found


def second(shape: tuple[int, ...], by: float, runs: int = 60) -> Floats:
    """The second attribute differs from the later ones by so much."""
    found = np.zeros((runs, *shape))
    found[:, 1, :2] = by / 2**0.5, -by / 2**0.5
    return found


FOUR = np.array([[0.1, 0.2, 0.3, 0.4]] + [[0.4, 0.3, 0.2, 0.1]] * 3)
TEN = np.array([[0.9, 0.1]] + [[0.4, 0.6]] * 9)


ALIKE = {"ten": (TEN, 0.25, 0.85, 0.83), "four": (FOUR, 0.55, 0.95, 0.9)}
"""Attributes, the most where the others are alike, the least without this case, and how often intervals hold."""
AT_RANDOM, A_SECOND, ITS_OWN = 1.01, 1.05, (3, 4.5)
PRICE = {"alike": (FOUR[1], 1.15, 0.26), "uniform": (np.full(4, 0.25), 1.4, 0.08)}
"""What all are like, the most that the error grows by, and the most that it is without this case."""


@pytest.mark.parametrize("which", ALIKE)
def test_one_that_differs_leaves_the_others_together(which: str) -> None:
    truth, alike, without, least_held = ALIKE[which]
    found = [errors(truth, scattered(truth.shape, by), apart=True) for by in (0, 0.5, 1, 1.5, 2, 3, 5)]
    assert found[0][0].mean() < alike < without < errors(truth, scattered(truth.shape, 0), apart=False)[0].mean()
    assert max(error.mean() for error, _ in found) < AT_RANDOM
    assert min(held for _, held in found) > least_held
    assert max(errors(truth, second(truth.shape, by), apart=True)[0].mean() for by in (2, 3, 4, 5, 7)) < A_SECOND


def test_only_one_is_looked_for() -> None:
    """A question's own error, where it is the second of ten that differs, and where it is the only one."""
    only = np.array([TEN[1]] * 10)
    (most, _), (now, before) = (
        [
            max(float(errors(truth, second(truth.shape, by), apart=apart)[0][1]) for by in (3, 4, 5, 7, 10))
            for apart in (True, False)
        ]
        for truth in (TEN, only)
    )
    low, high = ITS_OWN
    assert now < low < before < most < high


@pytest.mark.parametrize("which", PRICE)
def test_alike_attributes_pay_little_for_it(which: str) -> None:
    law, most, without = PRICE[which]
    truth = np.array([law] * 4)
    before, after = (errors(truth, scattered(truth.shape, 0), apart=apart)[0].mean() for apart in (False, True))
    assert before < without
    assert before < after < most * before
    assert max(errors(truth, scattered(truth.shape, by), apart=True)[0].mean() for by in (1, 2, 3, 5, 8)) < AT_RANDOM


def test_the_guide_states_all_of_this() -> None:
    plain = " ".join((Path(__file__).parents[2] / "docs/guide/accuracy.md").read_text().split())
    (_, ten, ten_without, _), (_, four, four_without, _) = ALIKE["ten"], ALIKE["four"]
    for sentence in (
        f"less than {ten} of the unbiased one, and more than {ten_without} without this case",
        f"{four} and {four_without}",
        f"at most {AT_RANDOM} times the unbiased one, and where a second one does {A_SECOND} times",
        f"up to {ITS_OWN[1]} times its unbiased error; without this case the only one had more than {ITS_OWN[0]} times",
        f"at most {PRICE['alike'][1]} times what it is without",
        f"where they are uniform as well {PRICE['uniform'][1]} times",
    ):
        assert sentence in plain
