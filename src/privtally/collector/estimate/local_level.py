"""Rounds under a local-level model: each round's frequencies are those of the round before plus a normal change.

The variance of a change is unknown. It is integrated over like the prior's variances: on the same kind of grid, in
units of the noise of a difference between two rounds, with half of the weight on no change at all. Given the variance,
what earlier rounds say about a later one is a normal likelihood that gets flatter with every change in between, and
the same holds backwards. A round is therefore estimated by `pool` from its own reports and that likelihood. Without
changes all rounds count alike; with large ones the other rounds fade.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from privtally.collector.estimate.likelihood import Likelihood, Score
from privtally.collector.estimate.pooled import Labels, Model, Pooled, derivatives, pool
from privtally.collector.estimate.prior import Noise, variances
from privtally.collector.simplex import project_to_simplex
from privtally.exact.arrays import Floats

NO_CHANGE = 0.5
"""The weight of no change between rounds: as likely as not."""
NEGLIGIBLE = 1e-3
"""Variances of the change with a smaller posterior weight are dropped."""


@dataclass(frozen=True)
class Quadratic:
    """A log-likelihood of one round's frequencies, gradient · θ − ½ θᵀ information θ + constant, θ being the difference
    from uniform in the model's coordinates.
    """

    gradient: Floats
    information: Floats
    constant: float = 0.0

    def __add__(self, other: "Quadratic") -> "Quadratic":
        information = self.information + other.information
        return Quadratic(self.gradient + other.gradient, information, self.constant + other.constant)

    def after_change(self, deviations: Floats) -> "Quadratic":
        """What it says about the frequencies after a change with these standard deviations."""
        scaled = deviations[:, None] * self.information * deviations + np.eye(len(deviations))
        target = deviations * self.gradient
        solved = np.linalg.solve(scaled, np.column_stack([deviations[:, None] * self.information, target]))
        lost = (self.information * deviations) @ solved
        constant = self.constant + 0.5 * float(target @ solved[:, -1]) - 0.5 * float(np.linalg.slogdet(scaled)[1])
        return Quadratic(self.gradient - lost[:, -1], self.information - lost[:, :-1], constant)


class FromOtherRounds:
    """What other rounds say about a round, as a likelihood of its frequencies."""

    def __init__(self, model: Model, said: Quadratic) -> None:
        self._uniform = model.uniform
        self._gradient = model.basis @ said.gradient
        self._information = model.basis @ said.information @ model.basis.T

    def at(self, frequencies: Floats) -> Score:
        return self._gradient - self._information @ (frequencies - self._uniform), self._information


class Rounds:
    """The likelihoods of a campaign's rounds, in order, and what they say about the variance of a change.

    `changes` are the plausible variances, in the prior's units, and `weights` their posterior weights.
    """

    def __init__(self, likelihoods: Sequence[Sequence[Likelihood]], labels: Labels) -> None:
        self._likelihoods, self._labels = likelihoods, labels
        self._model = model = Model(labels)
        together = pool([each for own in likelihoods for each in own], labels)
        sizes = np.cumsum(model.sizes)[:-1]
        point = np.concatenate([project_to_simplex(own) for own in np.split(together.mean, sizes)])
        self._said = [_quadratic(own, model, point) for own in likelihoods]
        changes, weights = self._grid()
        prior = model.prior_for(sum((derivatives(own, point)[1] for own in likelihoods), np.zeros(())))
        evidence = np.empty(len(changes))
        for place, change in enumerate(changes.tolist()):
            last = self._before(len(self._said) - 1, change) + self._said[-1]
            posterior = model.posterior(
                prior, model.basis @ last.gradient, model.basis @ last.information @ model.basis.T
            )
            evidence[place] = last.constant + posterior.log_evidence
        weights = weights * np.exp(evidence - evidence.max())
        kept = weights >= NEGLIGIBLE * weights.sum()
        self.changes, self.weights = changes[kept], weights[kept] / weights[kept].sum()

    def _grid(self) -> tuple[Floats, Floats]:
        """The variances of a change and their prior weights."""
        noises = [Noise.of(own.information.diagonal() * self._model.units).variance for own in self._said]
        noise = float(np.mean([one + two for one, two in pairwise(noises)]))
        changes, weights = variances(noise, self._model.largest)
        weights *= 1 - NO_CHANGE
        weights[0] += NO_CHANGE
        return changes, weights

    def estimate(self, number: int) -> Pooled:
        """The frequencies of a round, numbered from 0, from all rounds."""
        found = [pool(self.about(number, change), self._labels) for change in self.changes.tolist()]
        mean = sum((weight * each.mean for weight, each in zip(self.weights, found, strict=True)), np.zeros(()))
        covariance = sum(
            (
                weight * (each.covariance + np.outer(each.mean - mean, each.mean - mean))
                for weight, each in zip(self.weights, found, strict=True)
            ),
            np.zeros(()),
        )
        return Pooled(mean, covariance, all(each.determined for each in found))

    def about(self, number: int, change: float) -> list[Likelihood]:
        """The likelihoods of a round's frequencies, its own and that of the other rounds, given a change's variance."""
        others = self._before(number, change) + self._after(number, change)
        return [*self._likelihoods[number], FromOtherRounds(self._model, others)]

    def _before(self, number: int, change: float) -> Quadratic:
        return self._passed_on(self._said[:number], change)

    def _after(self, number: int, change: float) -> Quadratic:
        return self._passed_on(self._said[:number:-1], change)

    def _passed_on(self, said: Sequence[Quadratic], change: float) -> Quadratic:
        """What rounds, the furthest first, say about the round after the last of them."""
        coordinates = len(self._model.units)
        total = Quadratic(np.zeros(coordinates), np.zeros((coordinates, coordinates)))
        for own in said:
            total = (total + own).after_change(np.sqrt(change * self._model.units))
        return total


def _quadratic(likelihoods: Sequence[Likelihood], model: Model, point: Floats) -> Quadratic:
    """The log-likelihood of a round near a point."""
    gradient, information = derivatives(likelihoods, point)
    from_uniform = gradient + information @ (point - model.uniform)
    return Quadratic(model.basis.T @ from_uniform, model.basis.T @ information @ model.basis)
