"""The pooled estimate: everything that the reports say, and no more difference between answers than they support.

    frequencies of an attribute = uniform + a part shared by attributes with the same labels + a part of its own

Both parts are normal with unknown variances. For each pair of variances on a grid the posterior is normal and known in
closed form, and so is how well it explains the reports; the estimate is the mean over the grid. One of several
attributes may have more of its own than the others. Where attributes are as uneven as arbitrary ones, the own part is a
Dirichlet distribution, which is never negative.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np

from privtally.collector.estimate.apart import Block, OneApart
from privtally.collector.estimate.dirichlet import dirichlet_posterior, most_variance
from privtally.collector.estimate.inverse import zero_sum_basis
from privtally.collector.estimate.likelihood import Likelihood
from privtally.collector.estimate.prior import LEAST_FOR_ONE, Extra, Prior, Seen, prior, with_one_apart
from privtally.collector.simplex import project_to_simplex
from privtally.exact.arrays import Floats

Labels = Sequence[tuple[str, ...]]

MOST_STEPS, CLOSE_ENOUGH = 20, 1e-3
"""The likelihood's parabola is taken anew at the estimate until that moves by less than this, in squared deviations."""
MOST_LABELS = 1_000
"""Schemas with more labels in all are too large for matrices over all of them."""
MOST_DETAILED = 300
"""Schemas with more labels in all have normal parts only, and no attribute that has more than the others: both would
take too long."""
SINGULAR = 1e-9
"""Where the least that is known is this much less than the most, it is nothing."""
ILL_KNOWN = 1e-6
"""Where it is this much less, what one attribute has beyond the others is lost in the rounding of differences."""
RULED_OUT, NEGLIGIBLE = 1e-12, 1e-6
"""A pair of variances that is less credible than this will not come back, and adds nothing that shows."""

_ROOM = 1 << 22


@dataclass(frozen=True)
class Posterior:
    """How credible each pair of variances is, the mean for each in the model's coordinates, and the covariances of the
    last ones, which are not normal.
    """

    weights: Floats
    means: Floats
    covariances: Sequence[Floats]

    @property
    def mean(self) -> Floats:
        """The mean over all of them."""
        mean: Floats = self.weights @ self.means
        return mean


@dataclass(frozen=True)
class Pooled:
    """Mean and variance of the frequencies laid end to end, and whether the reports determine all of them."""

    mean: Floats
    variance: Floats
    determined: bool


class Model:
    """The prior, in coordinates in which it is diagonal for every pair of variances."""

    def __init__(self, labels: Labels) -> None:
        self.sizes = [len(own) for own in labels]
        self.uniform = np.concatenate([np.full(size, 1 / size) for size in self.sizes])
        starts = np.cumsum([0, *self.sizes[:-1]])
        columns, shares, units = [], [], []
        grouped = groups(labels)
        self.groups = len(grouped)
        for group in grouped:
            size = self.sizes[group[0]]
            inside = zero_sum_basis([size])
            across = np.linalg.qr(np.column_stack([np.ones(len(group)), np.eye(len(group))[:, 1:]]))[0]
            for place, direction in enumerate(across.T):
                block = np.zeros((len(self.uniform), size - 1))
                for own, weight in zip(group, direction, strict=True):
                    block[starts[own] : starts[own] + size] = weight * inside
                columns.append(block)
                shares += [len(group) * (place == 0)] * (size - 1)
                units += [1 / (size * (size + 1))] * (size - 1)
        self.basis = np.hstack(columns)
        self.shares, self.units = np.array(shares, dtype=float), np.array(units)
        self.blocks = [
            Block(self.basis[start : start + size].T @ zero_sum_basis([size]), 1 / (size * (size + 1)))
            for start, size in zip(starts, self.sizes, strict=True)
        ]
        self.extra: Extra | None = None
        self.use(Prior(np.zeros(1), np.zeros(1), np.ones(1)))

    def use(self, prior: Prior) -> None:
        """Take these pairs of variances for credible."""
        self.prior = prior
        spread = prior.own[: prior.normal, None] + prior.shared[: prior.normal, None] * self.shares
        self.deviations = np.sqrt(spread * self.units)

    def prior_for(self, information: Floats) -> Prior:
        """The prior where reports say so much."""
        everything, shared, own = self._seen(information)
        return prior(len(self.sizes), self.groups, everything, shared, own, max(self.sizes) + 1)

    def detail(self, information: Floats) -> None:
        """Keep uneven frequencies from being negative, and let one attribute have more of its own than the others if
        all have the same labels and reports tell them apart.
        """
        self.use(self.prior.with_bounds(most_variance(max(self.sizes))))
        _, _, own = self._seen(information)
        enough = self.groups == 1 and len(self.sizes) >= LEAST_FOR_ONE
        if own is not None and enough and self.least_known(information) > ILL_KNOWN:
            before, self.extra = with_one_apart(self.prior, own, max(self.sizes) + 1)
            self.use(before)

    def least_known(self, information: Floats) -> float:
        """How much is known in the direction of which least is known, next to the one of which most is."""
        known = np.linalg.eigvalsh(self.basis.T @ information @ self.basis)
        return float(known[0] / max(known[-1], np.finfo(float).tiny))

    def _seen(self, information: Floats) -> tuple[Seen, Seen | None, Seen | None]:
        """How well everything is seen, what attributes share, and what each has of its own."""
        known = np.einsum("vi,vw,wi->i", self.basis, information, self.basis, optimize=True) * self.units
        shared = self.shares > 0
        if shared.all():
            return Seen.with_information(known), None, None
        common, apart = (known * self.shares)[shared], known[~shared]
        return Seen.with_information(known), Seen.with_information(common), Seen.with_information(apart)

    def posterior(self, slope: Floats, information: Floats) -> Posterior:
        """The posterior where the log-likelihood is slope·θ − ½ θᵀ information θ, θ being the difference to uniform."""
        pull, hold = self.basis.T @ slope, self.basis.T @ information @ self.basis
        evidence, means = np.zeros(len(self.deviations)), np.zeros((len(self.deviations), len(pull)))
        for part in self._parts(hold):
            deviations = self.deviations[part]
            scaled = _scaled(deviations, hold)
            aim = deviations * pull
            middle = np.linalg.solve(scaled, aim[:, :, None])[:, :, 0]
            factor = np.linalg.cholesky(scaled)
            evidence[part] = 0.5 * (aim * middle).sum(axis=1) - np.log(np.einsum("gii->gi", factor)).sum(axis=1)
            means[part] = middle * deviations
            if self.extra is not None:
                chance = self.extra.chance(self.prior.own[part])
                apart = OneApart(pull, hold, _unscaled(deviations, scaled), self.blocks, self.extra, chance)
                evidence[part] += apart.evidence
                means[part] += apart.shift
        uneven = self.prior.own[self.prior.normal :].tolist()
        bounded = [dirichlet_posterior(pull, hold, self.basis, self.sizes, variance) for variance in uneven]
        evidence = np.concatenate([evidence, [each.evidence for each in bounded]])
        weights = self.prior.weights * np.exp(evidence - evidence.max())
        means = np.vstack([means, *(each.mean for each in bounded)])
        return Posterior(weights / weights.sum(), means, [each.covariance for each in bounded])

    def mean(self, posterior: Posterior) -> Floats:
        """The mean of every frequency."""
        mean: Floats = self.uniform + self.basis @ posterior.mean
        return mean

    def variances(self, posterior: Posterior, slope: Floats, information: Floats) -> Floats:
        """The variance of every frequency."""
        pull, hold = self.basis.T @ slope, self.basis.T @ information @ self.basis
        off = posterior.means - posterior.mean
        covariance = (posterior.weights[:, None] * off).T @ off
        for weight, each in zip(posterior.weights[self.prior.normal :], posterior.covariances, strict=True):
            covariance += weight * each
        for part in self._parts(hold):
            deviations = self.deviations[part]
            spread = _unscaled(deviations, _scaled(deviations, hold))
            if self.extra is not None:
                chance = self.extra.chance(self.prior.own[part])
                spread += OneApart(pull, hold, spread, self.blocks, self.extra, chance).spread()
            covariance += np.einsum("g,gij->ij", posterior.weights[part], spread)
        variances: Floats = np.einsum("vi,ij,vj->v", self.basis, covariance, self.basis, optimize=True)
        return variances

    def narrowed(self, posterior: Posterior, least: float) -> tuple[Posterior, "Model"]:
        """The same without the pairs of variances that are less credible than this; the best normal one stays."""
        kept = posterior.weights > least
        kept[np.argmax(posterior.weights[: self.prior.normal])] = True
        model = copy(self)
        model.use(self.prior.only(kept))
        covariances = [
            each for each, stays in zip(posterior.covariances, kept[self.prior.normal :], strict=True) if stays
        ]
        weights = posterior.weights[kept]
        return Posterior(weights / weights.sum(), posterior.means[kept], covariances), model

    def _parts(self, hold: Floats) -> Iterator[slice]:
        """The normal pairs of variances, so many at a time that their matrices fit in memory."""
        many = max(1, _ROOM // hold.size)
        normal = len(self.deviations)
        return (slice(start, min(start + many, normal)) for start in range(0, normal, many))


def _scaled(deviations: Floats, hold: Floats) -> Floats:
    """The posterior's precision in units of the prior's deviations, for each row of them."""
    scaled: Floats = deviations[:, :, None] * hold * deviations[:, None, :] + np.eye(len(hold))
    return scaled


def _unscaled(deviations: Floats, scaled: Floats) -> Floats:
    """The posterior's covariance, from that."""
    covariance: Floats = np.linalg.inv(scaled) * deviations[:, :, None] * deviations[:, None, :]
    return covariance


def pool(likelihoods: Sequence[Likelihood], labels: Labels, *, most_steps: int = MOST_STEPS) -> Pooled:
    """The pooled estimate of attributes with these labels."""
    model = Model(labels)
    bounds = np.cumsum(model.sizes)[:-1]
    mean = model.uniform
    for step in range(most_steps):
        point = np.concatenate([project_to_simplex(own) for own in np.split(mean, bounds)])
        slopes, informations = zip(*(likelihood.at(point) for likelihood in likelihoods), strict=True)
        information = np.sum(informations, axis=0)
        if step == 0:
            model.use(model.prior_for(information))
            if len(mean) <= MOST_DETAILED:
                model.detail(information)
        slope = np.sum(slopes, axis=0) + information @ (point - model.uniform)
        posterior = model.posterior(slope, information)
        moved = model.mean(posterior) - mean
        mean = mean + moved
        posterior, model = model.narrowed(posterior, RULED_OUT)
        if moved @ information @ moved < CLOSE_ENOUGH:
            break
    posterior, model = model.narrowed(posterior, NEGLIGIBLE)
    determined = model.least_known(information) > SINGULAR
    return Pooled(mean, model.variances(posterior, slope, information), determined)


def groups(labels: Labels) -> list[list[int]]:
    """Attributes with the same labels together."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for own, these in enumerate(labels):
        groups.setdefault(tuple(these), []).append(own)
    return list(groups.values())
