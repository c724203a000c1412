"""Rounds under a local-level model: each round's frequencies are those of the round before plus a normal change.

A change has the covariance of one person's answers, diag(f) − f fᵀ, times a factor: rare answers change by little. The
factor is unknown, and integrated over like the prior's variances: with the same weights on the same grid, in units of
the noise of a difference between two rounds.

Given the factor, what earlier rounds say about a later one is a normal likelihood that gets flatter with every change
in between, and the same holds backwards. A round is estimated by `pool` from its own reports and that likelihood.
Without changes all rounds count alike; with large ones the other rounds fade.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from privtally.collector.estimate.added_error import add_error, root_of_answers
from privtally.collector.estimate.inverse import ends
from privtally.collector.estimate.likelihood import Likelihood, Score
from privtally.collector.estimate.pooled import Labels, Model, Pooled, Posterior, derivatives, pool
from privtally.collector.estimate.prior import Noise, Prior, variances
from privtally.collector.simplex import project_each
from privtally.exact.arrays import Floats

NEGLIGIBLE = 1e-3
"""Factors of the change's covariance with a smaller posterior weight are dropped."""


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

    def after_change(self, root: Floats) -> "Quadratic":
        """What it says about the frequencies after a change with the covariance root · rootᵀ."""
        gradient, information, change = add_error((self.gradient, self.information), root)
        return Quadratic(gradient, information, self.constant + change)


class FromOtherRounds:
    """What other rounds say about a round, as a likelihood of its frequencies."""

    def __init__(self, model: Model, said: Quadratic) -> None:
        self._uniform = model.uniform
        self._gradient = model.basis @ said.gradient
        self._information = model.basis @ said.information @ model.basis.T

    def at(self, frequencies: Floats) -> Score:
        return self._gradient - self._information @ (frequencies - self._uniform), self._information


class Rounds:
    """The likelihoods of a campaign's rounds, in order, and what they say about the size of a change.

    `changes` are the plausible factors of its covariance, and `weights` their posterior weights. `allowed` are the same
    likelihoods with wider errors, where people may come again: estimates rest on them. The size of changes does not, as
    wider errors would explain changes away.
    """

    def __init__(
        self,
        likelihoods: Sequence[Sequence[Likelihood]],
        labels: Labels,
        allowed: Sequence[Sequence[Likelihood]] | None = None,
    ) -> None:
        self._likelihoods, self._labels = allowed or likelihoods, labels
        self._model = model = Model(labels)
        together, self._said = near_together(likelihoods, model)
        point = project_each(together.mean, model.sizes)
        errors = np.split(np.sqrt(together.variance), ends(model.sizes))
        # What an answer can change by: its frequency, as large as the reports allow.
        possible = [own + error for own, error in zip(point, errors, strict=True)]
        scale = np.repeat(np.sqrt(np.array(model.sizes) + 1), model.sizes)
        self._root = model.basis.T @ (root_of_answers([own / own.sum() for own in possible]) / scale)
        self.changes, self.weights = self._plausible()
        if allowed is not None:
            self._said = [_near(own, model, np.concatenate(point)) for own in allowed]

    def _plausible(self) -> tuple[Floats, Floats]:
        """The factors that the rounds support, and their weights."""
        changes, weights = self._grid()
        last = len(self._said) - 1
        together = self._others(last, 0.0) + self._said[last]
        information = self._model.basis @ together.information @ self._model.basis.T
        # The prior's variances that all rounds together rule out are ruled out for each of them.
        prior = self._posterior(self._model.prior_for(information), together).plausible()
        evidence = np.empty(len(changes))
        for place, change in enumerate(changes.tolist()):
            said = self._others(last, change) + self._said[last]
            evidence[place] = said.constant + self._posterior(prior, said).log_evidence
        weights = weights * np.exp(evidence - evidence.max())
        kept = weights >= NEGLIGIBLE * weights.sum()
        return changes[kept], weights[kept] / weights[kept].sum()

    def _posterior(self, prior: Prior, said: Quadratic) -> Posterior:
        basis = self._model.basis
        return self._model.posterior(prior, basis @ said.gradient, basis @ said.information @ basis.T)

    def _grid(self) -> tuple[Floats, Floats]:
        """The factors and their prior weights."""
        noises = [Noise.of(own.information.diagonal() * self._model.units).variance for own in self._said]
        noise = float(np.mean([one + two for one, two in pairwise(noises)]))
        return variances(noise, self._model.largest)

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
        """The likelihoods of a round's frequencies, its own and that of the other rounds, given the factor."""
        return [*self._likelihoods[number], FromOtherRounds(self._model, self._others(number, change))]

    def _others(self, number: int, change: float) -> Quadratic:
        """What the rounds before and after a round say about it."""
        return self._passed_on(self._said[:number], change) + self._passed_on(self._said[:number:-1], change)

    def _passed_on(self, said: Sequence[Quadratic], change: float) -> Quadratic:
        """What rounds, the furthest first, say about the round after the last of them."""
        coordinates = len(self._root)
        total = Quadratic(np.zeros(coordinates), np.zeros((coordinates, coordinates)))
        for own in said:
            total = (total + own).after_change(np.sqrt(change) * self._root)
        return total


def near_together(likelihoods: Sequence[Sequence[Likelihood]], model: Model) -> tuple[Pooled, list[Quadratic]]:
    """What all rounds say together, as if nothing had changed, and every round's log-likelihood near that."""
    together = pool([each for own in likelihoods for each in own], model.labels)
    point = np.concatenate(project_each(together.mean, model.sizes))
    return together, [_near(own, model, point) for own in likelihoods]


def _near(likelihoods: Sequence[Likelihood], model: Model, point: Floats) -> Quadratic:
    """The log-likelihood of a round near a point."""
    gradient, information = derivatives(likelihoods, point)
    from_uniform = gradient + information @ (point - model.uniform)
    return Quadratic(model.basis.T @ from_uniform, model.basis.T @ information @ model.basis)
