"""The prior in units of noise: what it costs and gains at every size of differences, by integration."""

import re
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

from privtally.collector.estimate import estimate
from privtally.collector.estimate.dirichlet import sparse, uniform
from privtally.collector.estimate.large import Group
from privtally.collector.estimate.large import prior_for as large_prior_for
from privtally.collector.estimate.pooled import Model
from privtally.collector.estimate.prior import ARBITRARY, AS_PUBLISHED, Dirichlet, Noise, Prior, prior, variances
from privtally.collector.learn.information import copy_information
from privtally.exact.arrays import Floats
from privtally.exact.probability import nearest_probability
from privtally.mechanisms.channel import randomized_response
from tests.collector.made_up import copying_plan, same_copies
from tests.support import expected_counts, first_plan

RADII = np.linspace(0, 9, 37)
ANGLES = (np.arange(300) + 0.5) / 300 * np.pi
SEEN = (np.arange(150) + 0.5) / 10


def radial(directions: int, radii: Floats) -> tuple[Floats, Floats]:
    """The law of |x| for x ~ N(θ, 1) with |θ| = r, and the mean of cos(x, θ) given |x|: (radius, |x|)."""
    product = radii[:, None] * SEEN
    if directions == 1:
        average, turned = (1 + np.exp(-2 * product)) / 2, np.tanh(product)
    else:
        weight = np.sin(ANGLES) ** (directions - 2)
        by_angle = np.exp(product[:, :, None] * (np.cos(ANGLES) - 1)) * weight
        average = by_angle.mean(axis=2)
        turned = (by_angle * np.cos(ANGLES)).mean(axis=2) / average
    law = SEEN ** (directions - 1) * np.exp(-((SEEN - radii[:, None]) ** 2) / 2) * average
    return law / law.sum(axis=1, keepdims=True), turned


def labels_of(attributes: int, size: int) -> list[tuple[str, ...]]:
    return [tuple(f"a{code}" for code in range(size))] * attributes


def errors(attributes: int, size: int, shared: Floats, own: Floats) -> Floats:
    """The pooled estimate's squared error where what attributes share and what they have of their own is so large.

    All directions have the same noise, a thousandth of Dirichlet(1)'s variance; the unit is that noise.
    """
    model = Model(labels_of(attributes, size))
    before = model.prior_for(np.eye(attributes * size) * 1e3 * size * (size + 1))
    spread = [1e3 * (before.own + attributes * before.shared), 1e3 * before.own]
    directions = [size - 1, (attributes - 1) * (size - 1)]
    fits = [
        -many / 2 * np.log1p(ratio) - SEEN[:, None] ** 2 / 2 / (1 + ratio)
        for many, ratio in zip(directions, spread, strict=True)
    ]
    together = np.log(before.weights) + fits[0][:, None, :] + fits[1][None, :, :]
    posterior = np.exp(together - together.max(axis=2, keepdims=True))
    posterior /= posterior.sum(axis=2, keepdims=True)
    kept = [posterior @ (ratio / (1 + ratio)) for ratio in spread]
    lengths = [SEEN[:, None] * kept[0], SEEN[None, :] * kept[1]]
    radii = [shared, own]
    (law_1, turned_1), (law_2, turned_2) = (
        radial(many, radius) for many, radius in zip(directions, radii, strict=True)
    )
    found = []
    for place in range(len(own)):
        law = np.outer(law_1[place], law_2[place])
        gained = lengths[0] * turned_1[place][:, None] * radii[0][place]
        gained = gained + lengths[1] * turned_2[place] * radii[1][place]
        found.append((law * (lengths[0] ** 2 + lengths[1] ** 2 - 2 * gained)).sum())
    return np.array(found) + shared**2 + own**2


SHARE = 0.1
COSTS = [(2, 2, 1.24, 1.25), (2, 4, 1.04, 1.14), (2, 8, 0.92, 1.06)]
"""Attributes, labels, the most next to the unbiased estimate, the most next to the better of that and the paper's."""


@pytest.mark.parametrize(("attributes", "size", "most", "most_to_better"), COSTS)
def test_pulling_costs_little(attributes: int, size: int, most: float, most_to_better: float) -> None:
    """With small budgets a report tells as much in Phase I as in Phase II. The paper's estimate takes the phases
    in proportion to their people, Phase II's with even fills being 1/d of the unbiased one.
    """
    everything = attributes * (size - 1)
    noise = everything * (SHARE + (1 - SHARE) / attributes**2)
    better = np.minimum(everything, noise + ((1 - SHARE) * (1 - 1 / attributes) * RADII) ** 2)
    found = [errors(attributes, size, RADII * part**0.5, RADII * (1 - part) ** 0.5) for part in (0, 1 / attributes, 1)]
    assert most - 0.01 < (np.array(found) / everything).max() < most
    assert most_to_better - 0.01 < (np.array(found) / better).max() < most_to_better
    assert found[0][0] < 0.35 * everything


@pytest.mark.parametrize(
    ("attributes", "size", "alike", "most"),
    [(2, 2, 0.86, 1.15), (2, 4, 0.63, 1.06), (2, 8, 0.53, 0.96)],
)
def test_alike_attributes_are_pulled_together(attributes: int, size: int, alike: float, most: float) -> None:
    """Next to the unbiased estimate, what they share being far from uniform: where they are alike, and at most."""
    found = errors(attributes, size, np.full(len(RADII), 9.0), RADII) / (attributes * (size - 1))
    assert alike - 0.01 < found[0] < alike
    assert most - 0.01 < found.max() < most


def test_the_guide_states_these_costs() -> None:
    page = (Path(__file__).parents[2] / "docs/notes/bounds.md").read_text()
    plain = " ".join(page.split())
    (_, _, first, one), (_, _, second, two), (_, _, third, three) = COSTS
    assert f"at most {one} times the better of the two with two labels, {two} with four and {three} with eight" in plain
    assert f"at most {first:.2f}, {second:.2f} and {third:.2f} times the unbiased estimate" in plain


def least_excess(radii: Floats, weights: Floats, limit: Floats, directions: int = 2) -> float:
    """A lower bound, for every estimate in these directions, on the largest ratio of its error to the limit.

    The largest is at least the mean over any weights, and no estimate has a smaller mean than the Bayes estimate does.
    """
    law, turned = radial(directions, radii)
    before = weights / limit
    best = ((before * radii)[:, None] * law * turned).sum(axis=0) / (before[:, None] * law).sum(axis=0)
    risk = (law * (best**2 - 2 * best * turned * radii[:, None])).sum(axis=1) + radii**2
    return float((weights * risk / limit).sum())


def _known_apart(copied: float, epsilon: float, share: float) -> float:
    """What both phases tell of the difference, for each person."""
    first, second = _scales(epsilon, share)
    stated = copy_information(np.array([copied]), 2, 2)
    assert stated is not None
    return first + second * float(stated.contrast[0])


def _scales(epsilon: float, share: float) -> tuple[float, float]:
    """What a person's answer tells in Phase I, and what one would tell in Phase II if it were the only one."""
    budget = Fraction(epsilon)
    one, two = (float(randomized_response(each, 2).scale) ** 2 for each in (budget / 2, budget))
    return 2 * share * one, (1 - share) * two


def better_of_paper_and_unbiased(copied: float, epsilon: float, share: float, radii: Floats) -> Floats:
    """The better one's error, two attributes of two labels being so many deviations apart and nothing shared.

    The unit is the least variance with which their difference can be known. A report agrees with probability `copied`.
    """
    first, second = _scales(epsilon, share)
    together, between = np.array([2 * copied, 2 * (1 - copied)])
    reported = 1 / (2 * second)
    by_copies = np.array([4 * reported / together, 4 * reported / between])
    least = 1 / _known_apart(copied, epsilon, share)
    weight = first / (first + 2 / by_copies.sum())
    unbiased = 2 * weight**2 / first + (1 - weight) ** 2 * by_copies.sum()
    as_published = 2 * share**2 / first + (1 - share) ** 2 * (2 * reported + copied**2 * radii**2 * least)
    return np.asarray(np.minimum(unbiased, as_published) / least)


@pytest.mark.parametrize(
    ("wanted", "deviations", "better"),
    [(0.95, 0, "paper"), (0.95, 1, "paper"), (0.95, 100, "unbiased"), (0.5, 0, "paper"), (0.5, 100, "unbiased")],
)
def test_the_better_of_the_two_is_that_of_the_estimators(wanted: float, deviations: float, better: str) -> None:
    """The formula above against what the product's own estimators make of reports that are as frequent as expected."""
    people, share, copied, epsilon = 10**10, SHARE, nearest_probability(wanted), 0.3
    first = first_plan((2, 2), epsilon, "corr-rr")
    second = copying_plan(same_copies(2, copied), 2, epsilon)
    least = 1 / (people * _known_apart(copied, epsilon, share))
    # The squares of their four frequencies' distances from even ones sum to apart².
    apart = deviations * least**0.5
    answers = np.outer(*(np.array([0.5 + sign * apart / 2, 0.5 - sign * apart / 2]) for sign in (1, -1)))
    phases = [
        (plan, expected_counts(plan, answers, asked))
        for plan, asked in ((first, share * people), (second, (1 - share) * people))
    ]
    errors = {}
    for method in ("unbiased", "paper"):
        found = estimate(phases, method).attributes.values()
        noise = sum(float(np.sum(np.square(each.standard_errors))) for each in found)
        off = [np.array(each.frequencies) - answers.sum(axis=1 - own) for own, each in enumerate(found)]
        errors[method] = noise + float(np.sum(np.square(off)))
    expected = better_of_paper_and_unbiased(copied, epsilon, share, np.array([deviations]))[0] * least
    assert min(errors, key=lambda method: errors[method]) == better
    assert errors[better] == pytest.approx(expected, rel=0.03)


def test_even_fills_are_out_of_reach() -> None:
    """The bounds in docs/notes/bounds.md, from three sizes of differences in units of noise."""
    page = (Path(__file__).parents[2] / "docs/notes/bounds.md").read_text()
    stated = re.search(r"at least ([\d.]+) times the better of the two.*at least (\d+) % above", page, re.DOTALL)
    assert stated is not None
    radii, weights = np.array([1.25, 3.72, 6.1]), np.array([0.552, 0.366, 0.082])
    taken = "{:g}, {:g} and {:g} times the noise, with weights {:g}, {:g} and {:g}".format(*radii, *weights)
    assert taken in " ".join(page.split())
    alone = least_excess(radii, weights, better_of_paper_and_unbiased(0.5, 2.0, SHARE, radii))
    assert float(stated[1]) <= alone < float(stated[1]) + 0.01
    radii, weights = np.array([1.23, 3.68, 6.06]), np.array([0.508, 0.390, 0.102])
    rs_fd = 2 * _known_apart(0.5, 0.1, SHARE) / _known_apart(0.5, 0.1, 0)
    better = better_of_paper_and_unbiased(0.5, 0.1, SHARE, radii)
    both = least_excess(radii, weights, np.minimum(1.05 * rs_fd, 1.10 * better))
    assert int(stated[2]) <= (both - 1) * 100 < int(stated[2]) + 1


def test_copies_near_one_are_out_of_reach() -> None:
    """The bound in docs/notes/bounds.md for Corr-RR that copies 95 times in 100, from two differences."""
    page = (Path(__file__).parents[2] / "docs/notes/bounds.md").read_text()
    stated = re.search(r"told\s+what the attributes share, has somewhere at least ([\d.]+) times", page)
    assert stated is not None
    radii, weights = np.array([1e-6, 2.63]), np.array([0.324, 0.676])
    assert "one of {:g} times the noise with weights {:g} and {:g}".format(radii[1], *weights) in " ".join(page.split())
    limit = better_of_paper_and_unbiased(0.95, 0.3, SHARE, radii)
    assert float(stated[1]) <= least_excess(radii, weights, limit, directions=1) < float(stated[1]) + 0.01


@pytest.mark.parametrize("noise", [1e-9, 1e-3, 1.0, 1e6])
def test_a_prior_is_one(noise: float) -> None:
    spread, weights = variances(noise, 9)
    assert weights.sum() == pytest.approx(1)
    assert (weights > 0).all()
    assert (np.diff(spread) > 0).all()
    assert spread[0] == 0
    assert 9 / 2.6 < spread[-1] <= 9.0000001
    both = prior(4, 1, Noise(12, noise), Noise(3, noise / 4), Noise(9, noise), 9)
    assert both.weights.sum() == pytest.approx(1)
    assert len(both.shared) == len(both.own) == len(both.weights)
    assert both.weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("attributes", [1, 2, 3, 4, 6])
def test_the_papers_pull_is_one_of_the_prior_s(attributes: int) -> None:
    """Even fills make it 1/d, which is right where the noise's share is 1 − 1/d; the grid has it to a factor of 1.6."""
    noise = 1e-3
    shared, own = (Noise(3, noise), Noise(9, noise)) if attributes > 1 else (None, None)
    found = prior(attributes, 1, Noise(12, noise), shared, own, 9)
    alone = (found.shared == 0) & (found.own < 0.1)
    marked = found.own[alone][np.argmax(found.weights[alone])]
    assert abs(np.log(marked * max(attributes - 1, 1) / noise)) < np.log(1.6)
    left = 1.0 if attributes > 1 else 1 - ARBITRARY
    assert found.weights[alone].max() > left * AS_PUBLISHED * (1 - 2 / 12)


@pytest.mark.parametrize("noise", [1e-9, 1e-3, 1.0, 1e6])
def test_attributes_with_labels_of_their_own_may_well_be_arbitrary(noise: float) -> None:
    """The grid has the spread of Dirichlet(1) to a factor of 1.6."""
    found = prior(3, 3, Noise(12, noise), None, None, 9)
    assert found.weights.sum() == pytest.approx(1)
    near = np.abs(np.log(np.maximum(found.own, 1e-12))) < np.log(1.6)
    assert found.weights[near].sum() > ARBITRARY
    assert found.with_dirichlet(9).dirichlet[Dirichlet(uniform, shared=False)] == found.weights[near].sum()


@pytest.mark.parametrize("noise", [1e-9, 1e-3, 1.0])
def test_dirichlet_distributions_take_the_place_of_their_variances(noise: float) -> None:
    """All weights still sum to 1, and no pair with both components is touched."""
    before = prior(4, 1, Noise(12, noise), Noise(3, noise / 4), Noise(9, noise), 9)
    after = before.with_dirichlet(9)
    assert after.weights.sum() + sum(after.dirichlet.values()) == pytest.approx(1)
    assert {kind.shared for kind in after.dirichlet} == {False, True}
    assert {kind.concentration for kind in after.dirichlet} == {uniform, sparse}
    both = [(each.shared > 0) & (each.own > 0) for each in (before, after)]
    assert np.array_equal(before.weights[both[0]], after.weights[both[1]])


@pytest.mark.parametrize("labels", [labels_of(4, 3), labels_of(3, 4), [*labels_of(2, 3), ("c", "d")]])
def test_the_posterior_is_what_the_densities_say(labels: list[tuple[str, ...]]) -> None:
    """Mean and variance from the normal densities themselves, without the model's coordinates."""
    generator = np.random.default_rng(3)
    sizes = [len(own) for own in labels]
    starts, total = np.cumsum([0, *sizes]), sum(sizes)
    root = generator.normal(size=(total, total))
    information = 400 * (np.eye(total) + 0.1 * root @ root.T)
    gradient = information @ (0.1 * generator.normal(size=total))
    model = Model(labels)
    before = model.prior_for(information)
    logs, means, spreads = [], [], []
    for shared, own, weight in zip(before.shared, before.own, before.weights, strict=True):
        covariance = np.zeros((total, total))
        for one, two in product(range(len(labels)), repeat=2):
            if labels[one] == labels[two]:
                block = (np.eye(sizes[one]) - 1 / sizes[one]) / (sizes[one] * (sizes[one] + 1))
                spread = (shared + own * (one == two)) * block
                covariance[starts[one] : starts[one + 1], starts[two] : starts[two + 1]] = spread
        kept = np.linalg.inv(np.eye(total) + covariance @ information)
        means.append(kept @ covariance @ gradient)
        spreads.append(np.diag(kept @ covariance))
        logs.append(np.log(weight) + 0.5 * gradient @ means[-1] + 0.5 * np.linalg.slogdet(kept)[1])
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    mean = weights @ np.array(means)
    posterior = model.posterior(before, gradient, information)
    assert posterior.weights == pytest.approx(weights, abs=1e-9)
    assert model.mean(posterior) - model.uniform == pytest.approx(mean, abs=1e-12)
    variance = weights @ (np.array(spreads) + (np.array(means) - mean) ** 2)
    assert model.covariance(posterior, information).diagonal() == pytest.approx(variance, abs=1e-12)


def test_nothing_is_shared_where_nothing_can_be() -> None:
    """One attribute, or attributes whose labels differ."""
    for labels in (labels_of(1, 4), [("a", "b"), ("c", "d", "e")]):
        model = Model(labels)
        before = model.prior_for(np.eye(sum(map(len, labels))) * 1e4)
        assert not before.shared.any()


def test_other_attributes_do_not_make_these_alike() -> None:
    """How credible it is that two yes-or-no questions are exactly alike does not depend on labels of a third."""
    found = []
    for others in ([], [tuple(f"c{code}" for code in range(20))]):
        labels = labels_of(2, 2) + others
        before = Model(labels).prior_for(np.eye(sum(map(len, labels))) * 1e4)
        sharing = before.shared > 0
        found.append(before.weights[sharing & (before.own == 0)].sum() / before.weights[sharing].sum())
    assert found[1] == pytest.approx(found[0], abs=0.01)


@pytest.mark.parametrize("shapes", [[(1, 4)], [(4, 4)], [(3, 5)], [(2, 2), (1, 20)], [(2, 3), (3, 5), (1, 3)]])
def test_the_prior_of_large_schemas_is_the_same(shapes: list[tuple[int, int]]) -> None:
    """Groups of attributes with so many labels each."""
    variance = 1e-3
    labels = [(f"group {place}", *own[1:]) for place, shape in enumerate(shapes) for own in labels_of(*shape)]
    expected = Model(labels).prior_for(np.eye(sum(map(len, labels))) / variance)
    frequencies = [np.full(len(own), 1 / len(own)) for own in labels]
    variances = [np.full(len(own), variance * (1 - 1 / len(own))) for own in labels]
    starts = np.cumsum([0, *(attributes for attributes, _ in shapes)])
    found: Prior = large_prior_for(
        [Group(range(start, end), frequencies, variances) for start, end in pairwise(starts.tolist())]
    )
    for name in ("shared", "own", "weights"):
        assert np.allclose(getattr(found, name), getattr(expected, name))
