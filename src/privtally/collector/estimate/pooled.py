"""The pooled estimate: all the information in the reports, under a prior whose variances are learned from them.

    frequencies of an attribute = uniform + a component shared by attributes with the same labels + its own component

Both components are normal with unknown variances. For each pair of variances on a grid the posterior is normal and
known in closed form, and so is the likelihood of the pair; the estimate is the mean over the grid. Where there is only
one of the two components, it may also have a Dirichlet distribution, which is never negative.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privtally.collector.estimate.dirichlet import DirichletPosterior, dirichlet_posterior
from privtally.collector.estimate.inverse import block_diagonal, zero_sum_basis
from privtally.collector.estimate.likelihood import Likelihood
from privtally.collector.estimate.prior import Dirichlet, Noise, Prior, prior
from privtally.collector.simplex import project_each
from privtally.exact.arrays import Floats

Labels = Sequence[tuple[str, ...]]

MOST_STEPS, CLOSE_ENOUGH = 20, 1e-3
"""The quadratic approximation of the log-likelihood is renewed at the estimate until the estimate moves by less than
this, in squared standard deviations."""
MOST_LABELS = 1_000
"""Schemas with more labels in all are too large for matrices over all of them."""
MOST_DIRICHLET = 300
"""Schemas with more labels in all have normal components only: fitting Dirichlet distributions would take too long."""
UNDETERMINED = 1e-9
"""A direction with less than this part of the largest information is not determined by the reports."""
NEGLIGIBLE = 1e-12
"""Components of the mixture with a smaller posterior weight are dropped."""

_MOST_ENTRIES = 1 << 22


@dataclass(frozen=True)
class Posterior:
    """A mixture of a normal distribution for each pair of variances of the prior and of Dirichlet posteriors.

    `weights` and `means` are those of the pairs, in the model's coordinates; `dirichlet` has the others with their
    weights. `log_evidence` is that of the reports under the whole prior.
    """

    prior: Prior
    weights: Floats
    means: Floats
    dirichlet: Mapping[Dirichlet, tuple[float, DirichletPosterior]]
    log_evidence: float

    @property
    def mean(self) -> Floats:
        """The mean of the mixture."""
        mean: Floats = self.weights @ self.means
        return sum((weight * each.mean for weight, each in self.dirichlet.values()), mean)

    def plausible(self) -> Prior:
        """The prior without components of negligible posterior weight, the weights not scaled; the best pair of
        variances stays.
        """
        pairs = self.weights >= min(NEGLIGIBLE, self.weights.max())
        kept = {each: self.prior.dirichlet[each] for each, (weight, _) in self.dirichlet.items() if weight > NEGLIGIBLE}
        return Prior(self.prior.shared[pairs], self.prior.own[pairs], self.prior.weights[pairs], kept)


@dataclass(frozen=True)
class Pooled:
    """Mean and covariance of the frequencies laid end to end, and whether the reports determine all of them."""

    mean: Floats
    covariance: Floats
    determined: bool

    @property
    def variance(self) -> Floats:
        """The variance of every frequency."""
        return self.covariance.diagonal().copy()


class Model:
    """Orthonormal coordinates of the frequencies of attributes with these labels, in which the prior of every pair of
    variances is diagonal.

    `basis` maps coordinates to differences from `uniform`. The prior variance of a coordinate is `units` times own +
    `shares` · shared, both at most `largest`. `repeated` maps the coordinates of one attribute of each group to those
    of all attributes, if the attributes of a group are identical.
    """

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self.sizes = [len(own) for own in labels]
        self.largest = max(self.sizes) + 1
        self.uniform = np.concatenate([np.full(size, 1 / size) for size in self.sizes])
        starts = np.cumsum([0, *self.sizes[:-1]])
        grouped = groups(labels)
        self.group_sizes = [self.sizes[group[0]] for group in grouped]
        columns, repeated, shares, units = [], [], [], []
        for group, size in zip(grouped, self.group_sizes, strict=True):
            inside = zero_sum_basis([size])
            across = np.linalg.qr(np.column_stack([np.ones(len(group)), np.eye(len(group))[:, 1:]]))[0]
            columns += [self._block(starts[group], direction, inside) for direction in across.T]
            repeated.append(self._block(starts[group], np.ones(len(group)), inside))
            shares += [len(group)] * (size - 1) + [0] * ((len(group) - 1) * (size - 1))
            units += [1 / (size * (size + 1))] * (len(group) * (size - 1))
        self.basis = np.hstack(columns)
        self.repeated = self.basis.T @ np.hstack(repeated)
        self.shares, self.units = np.array(shares, dtype=float), np.array(units)

    def _block(self, starts: NDArray[np.int64], weights: Floats, inside: Floats) -> Floats:
        """The directions inside one attribute, with a weight for each attribute of a group."""
        block = np.zeros((len(self.uniform), inside.shape[1]))
        for start, weight in zip(starts, weights, strict=True):
            block[start : start + len(inside)] = weight * inside
        return block

    def prior_for(self, information: Floats) -> Prior:
        """The prior for reports with this information, with normal components only."""
        known = np.einsum("vi,vw,wi->i", self.basis, information, self.basis, optimize=True) * self.units
        common = self.shares > 0
        total = Noise.of(known)
        if common.all():
            return prior(len(self.sizes), len(self.group_sizes), total, None, None, self.largest)
        shared, own = Noise.of((known * self.shares)[common]), Noise.of(known[~common])
        return prior(len(self.sizes), len(self.group_sizes), total, shared, own, self.largest)

    def is_determined(self, information: Floats) -> bool:
        """Whether reports with this information say something about every direction."""
        known = np.linalg.eigvalsh(self.basis.T @ information @ self.basis)
        return bool(known[0] > UNDETERMINED * max(known[-1], np.finfo(float).tiny))

    def posterior(self, prior: Prior, gradient: Floats, information: Floats) -> Posterior:
        """The posterior where the log-likelihood is gradient · θ − ½ θᵀ information θ, θ being the difference from
        uniform.
        """
        gradient, information = self.basis.T @ gradient, self.basis.T @ information @ self.basis
        evidence, means = np.zeros(len(prior.own)), np.zeros((len(prior.own), len(gradient)))
        for part, deviations in self._parts(prior):
            scaled = _scaled_precision(deviations, information)
            target = deviations * gradient
            middle = np.linalg.solve(scaled, target[:, :, None])[:, :, 0]
            factor = np.linalg.cholesky(scaled)
            evidence[part] = 0.5 * (target * middle).sum(axis=1) - np.log(np.einsum("gii->gi", factor)).sum(axis=1)
            means[part] = middle * deviations
        found = {kind: self._dirichlet(kind, gradient, information) for kind in prior.dirichlet}
        fitted = {kind: posterior for kind, posterior in found.items() if posterior is not None}
        largest = max(evidence.max(), *(each.log_evidence for each in fitted.values()), -np.inf)
        weights = prior.weights * np.exp(evidence - largest)
        others = {each: prior.dirichlet[each] * np.exp(fitted[each].log_evidence - largest) for each in fitted}
        total = float(weights.sum() + sum(others.values()))
        dirichlet = {each: (others[each] / total, fitted[each]) for each in fitted}
        return Posterior(prior, weights / total, means, dirichlet, float(largest + np.log(total)))

    def _dirichlet(self, kind: Dirichlet, gradient: Floats, information: Floats) -> DirichletPosterior | None:
        """The posterior of a Dirichlet distribution, if the fit succeeds."""
        if not kind.shared:
            return dirichlet_posterior(gradient, information, self.basis, self.sizes, kind.concentration)
        found = dirichlet_posterior(
            self.repeated.T @ gradient,
            self.repeated.T @ information @ self.repeated,
            block_diagonal([zero_sum_basis([size]) for size in self.group_sizes]),
            self.group_sizes,
            kind.concentration,
        )
        if found is None:
            return None
        covariance = self.repeated @ found.covariance @ self.repeated.T
        return DirichletPosterior(found.log_evidence, self.repeated @ found.mean, covariance)

    def mean(self, posterior: Posterior) -> Floats:
        """The mean of every frequency."""
        mean: Floats = self.uniform + self.basis @ posterior.mean
        return mean

    def covariance(self, posterior: Posterior, information: Floats) -> Floats:
        """The covariance of the frequencies laid end to end."""
        information = self.basis.T @ information @ self.basis
        off = posterior.means - posterior.mean
        covariance = (posterior.weights[:, None] * off).T @ off
        for part, deviations in self._parts(posterior.prior):
            inverse = np.linalg.inv(_scaled_precision(deviations, information))
            covariance += np.einsum("g,gi,gij,gj->ij", posterior.weights[part], deviations, inverse, deviations)
        for weight, each in posterior.dirichlet.values():
            beside = each.mean - posterior.mean
            covariance += weight * (each.covariance + np.outer(beside, beside))
        whole: Floats = self.basis @ covariance @ self.basis.T
        return whole

    def _parts(self, prior: Prior) -> Iterator[tuple[slice, Floats]]:
        """Slices of the pairs of variances whose matrices fit in memory, and the prior's standard deviations (pair,
        coordinate) for each slice.
        """
        pairs = max(1, _MOST_ENTRIES // len(self.units) ** 2)
        for start in range(0, len(prior.own), pairs):
            part = slice(start, start + pairs)
            spread = prior.own[part, None] + prior.shared[part, None] * self.shares
            yield part, np.sqrt(spread * self.units)


def _scaled_precision(deviations: Floats, information: Floats) -> Floats:
    """The posterior's precision in units of the prior's standard deviations, for each row of them."""
    scaled: Floats = deviations[:, :, None] * information * deviations[:, None, :] + np.eye(len(information))
    return scaled


def pool(likelihoods: Sequence[Likelihood], labels: Labels) -> Pooled:
    """The pooled estimate of attributes with these labels."""
    model = Model(labels)
    gradient, information = derivatives(likelihoods, model.uniform)
    prior = model.prior_for(information)
    if len(model.uniform) <= MOST_DIRICHLET:
        prior = prior.with_dirichlet(model.largest)
    posterior = model.posterior(prior, gradient, information)
    mean = model.mean(posterior)
    for _ in range(MOST_STEPS - 1):
        point = np.concatenate(project_each(mean, model.sizes))
        gradient, information = derivatives(likelihoods, point)
        from_uniform = gradient + information @ (point - model.uniform)
        posterior = model.posterior(posterior.plausible(), from_uniform, information)
        moved = model.mean(posterior) - mean
        mean = mean + moved
        if moved @ information @ moved < CLOSE_ENOUGH:
            break
    return Pooled(mean, model.covariance(posterior, information), model.is_determined(information))


def derivatives(likelihoods: Sequence[Likelihood], frequencies: Floats) -> tuple[Floats, Floats]:
    """The gradient of the log-likelihood of all phases at these frequencies, and the information."""
    gradients, information = zip(*(likelihood.at(frequencies) for likelihood in likelihoods), strict=True)
    return np.sum(gradients, axis=0), np.sum(information, axis=0)


def groups(labels: Labels) -> list[list[int]]:
    """Attributes with the same labels together."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for own, these in enumerate(labels):
        groups.setdefault(tuple(these), []).append(own)
    return list(groups.values())
