"""The error that the final estimate is expected to have, if the next phase asks attributes in given groups."""

from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

import numpy as np

from privtally.collector.estimate import History, one_way
from privtally.collector.estimate.likelihood import MAX_ENUMERATED, Weighed, columns, push_matrix
from privtally.collector.estimate.notes import spaced
from privtally.collector.estimate.pooled import Model
from privtally.collector.estimate.stacked import PhaseLikelihood
from privtally.collector.simplex import project_to_simplex
from privtally.errors import LearningError
from privtally.exact.arrays import Floats
from privtally.mechanisms import NAMED, Part, PartPlan
from privtally.mechanisms.fills import Places, UniformFill
from privtally.mechanisms.grouping import unbiased_variance
from privtally.mechanisms.named import Groups, RandomizedResponse, asking

MOST_DIRECTIONS = 100
"""Schemas with more free frequencies are not judged by the pooled estimate's error: that would take too long."""
NEGLIGIBLE = 1e-3
"""Pairs of variances with less than this part of the largest posterior weight are left out."""

LearnPart = Callable[[Places, Fraction], PartPlan]
"""A group and its budget -> the part that the next phase would have for it."""


class Judge(Protocol):
    """Expected errors of groups, in each of some weighted cases of what earlier phases leave open."""

    weights: Floats

    def errors(self, groups: Groups) -> Floats:
        """For each case the mean squared error of a frequency; refused if the next phase cannot have these groups."""
        ...


class UnbiasedJudge:
    """The variance of the unbiased estimate of all phases, for fills that do not depend on the pivot; learned fills
    are taken to be even if no `learn_part` is given.
    """

    def __init__(self, history: History, people: int, learn_part: LearnPart | None) -> None:
        self.weights = np.ones(1)
        self._sizes, self._epsilon = history[-1][0].schema.sizes, Fraction(history[-1][0].epsilon)
        learned = NAMED[history[-1][0].mechanism].learned
        self._by_label = learned is not None and learned.by_label
        self._people, self._learn_part = people, learn_part or self._even
        self._known = [float(own.mean()) for own in one_way(history, "unbiased").variances]
        self._frequencies = one_way(history, "pooled").frequencies
        self._found: dict[tuple[Places, int], float] = {}

    def errors(self, groups: Groups) -> Floats:
        return np.array([sum(self._error(group, len(groups)) for group in groups) / len(self._sizes)])

    def _even(self, group: Places, budget: Fraction) -> PartPlan:
        by_label = self._by_label and len(group) > 1
        channels = (RandomizedResponse(),) * len(group) if by_label else None
        return asking(group, self._sizes, budget, UniformFill(), channels=channels)

    def _error(self, group: Places, groups: int) -> float:
        """The sum over a group's attributes of the mean variance of their frequencies."""
        if (group, groups) not in self._found:
            budget = self._epsilon / groups
            part = self._learn_part(group, budget).build(self._sizes, budget)
            total = 0.0
            for place, (own, channel) in enumerate(zip(group, part.asked, strict=True)):
                filling = [branch for branch in part.branches if place not in branch]
                fill = part.filling(filling[0], place).push(np.ones(1)) if filling else None
                report = unbiased_variance(channel, 1 / len(group), self._frequencies[own], fill)
                total += 1 / (1 / self._known[own] + self._people / report)
            self._found[group, groups] = total
        return self._found[group, groups]


class PooledJudge:
    """The error of the pooled estimate of all phases, for each pair of the prior's variances, from the information of
    whole reports at the frequencies that earlier phases give.

    The correlation of a person's answers to different groups is left out.
    """

    def __init__(self, history: History, people: int, learn_part: LearnPart) -> None:
        self._schema, self._epsilon = history[-1][0].schema, Fraction(history[-1][0].epsilon)
        self._people, self._learn_part = people, learn_part
        self._model = Model([attribute.labels for attribute in self._schema.attributes])
        # Phases with several hidden pivots have no likelihood of frequencies alone.
        alone = [phase for phase in history if all(part.linear for part in phase[0].sampler.parts)]
        if not alone:
            raise LearningError("groups are chosen from the first phase (Phase I); give its plan and counts as well")
        likelihoods = [PhaseLikelihood(plan, counts) for plan, counts in alone]
        scores = [likelihood.at(self._model.uniform) for likelihood in likelihoods]
        gradient, known = (np.sum(each, axis=0) for each in zip(*scores, strict=True))
        posterior = self._model.posterior(self._model.prior_for(known), gradient, known)
        prior = posterior.prior
        # Where both variances are 0 no estimate has an error, whatever the groups.
        weights = np.where(prior.own + prior.shared > 0, posterior.weights, 0)
        pairs = (prior.own + prior.shared > 0) & (weights >= NEGLIGIBLE * weights.max())
        spread = prior.own[pairs, None] + prior.shared[pairs, None] * self._model.shares
        self.weights = weights[pairs] / weights[pairs].sum()
        self._deviations = np.sqrt(spread * self._model.units)
        self._frequencies = [project_to_simplex(own) for own in one_way(history, "pooled").frequencies]
        point = np.concatenate(self._frequencies)
        self._known = np.sum([likelihood.at(point)[1] for likelihood in likelihoods], axis=0)
        self._found: dict[tuple[Places, int], Floats] = {}

    def errors(self, groups: Groups) -> Floats:
        information = self._known.copy()
        for group in groups:
            place = columns(self._schema.sizes, group)
            information[np.ix_(place, place)] += self._people * self._information(group, len(groups))
        basis, deviations = self._model.basis, self._deviations
        inside = basis.T @ information @ basis
        scaled = deviations[:, :, None] * inside * deviations[:, None, :] + np.eye(len(inside))
        left = np.einsum("gii,gi,gi->g", np.linalg.inv(scaled), deviations, deviations)
        return np.asarray(left / len(information))

    def _information(self, group: Places, groups: int) -> Floats:
        """The information of one report about the frequencies of a group, laid end to end."""
        if (group, groups) not in self._found:
            budget = self._epsilon / groups
            part = self._learn_part(group, budget).build(self._schema.sizes, budget)
            self._found[group, groups] = information_of(part, [self._frequencies[own] for own in group])
        return self._found[group, groups]


def information_of(part: Part, frequencies: list[Floats]) -> Floats:
    """The information of one sub-report at these frequencies; of sub-reports evenly spaced where there are many."""
    every = part.distinct <= MAX_ENUMERATED
    reports = Weighed.of(part, np.array(list(part.reports())) if every else spaced(part))
    reports = reports.only(reports.possible)
    push = push_matrix(part)
    private = push @ np.concatenate(frequencies)
    chances = reports.probability(private)
    information: Floats = push.T @ reports.moments(private, chances / chances.sum())[1] @ push
    return information
