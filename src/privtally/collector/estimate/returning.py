"""People who answer several phases of a campaign: what that adds to the errors.

The noise of two phases is independent, but the same people are a sample only once. If m people answered two phases of
n₁ and n₂ reports, the two estimates have the covariance m / (n₁ n₂) times that of one person's true answers. Nobody
knows m; a plan says how many phases one person may answer. By the inequality of Cauchy and Schwarz the error of any
combination of phases is at most that of independent phases, each with the sampling part of its variance as many times
as one person may answer. That holds if people changed their answers in between, too, and is exact if all come again and
phases count alike.
"""

from collections.abc import Sequence

import numpy as np

from privtally.collector.estimate.added_error import add_error, root_of_answers
from privtally.collector.estimate.likelihood import Likelihood, Score
from privtally.collector.simplex import project_each, project_to_simplex
from privtally.documents.counts import Counts
from privtally.documents.plan import Plan
from privtally.exact.arrays import Floats


def repeats(history: Sequence[tuple[Plan, Counts]]) -> int:
    """In how many more of these phases a person who answered one of them may be."""
    return min(history[0][0].answers, len(history)) - 1


def sampling_covariance(frequencies: Floats) -> Floats:
    """The covariance of one person's answer, which has these frequencies up to their errors."""
    proper = project_to_simplex(frequencies)
    covariance: Floats = np.diag(proper) - np.outer(proper, proper)
    return covariance


def sampling_variances(frequencies: Floats) -> Floats:
    """The diagonal of the covariance of one person's answer."""
    proper = project_to_simplex(frequencies)
    return proper * (1 - proper)


class Returning:
    """A phase whose people may be in other phases: its likelihood with the sampling part of the errors added."""

    def __init__(self, likelihood: Likelihood, sizes: Sequence[int], share: float) -> None:
        self._likelihood, self._sizes = likelihood, sizes
        self._share = share
        """How often the covariance of one person's answers is added."""

    def at(self, frequencies: Floats) -> Score:
        gradient, information = self._likelihood.at(frequencies)
        root = root_of_answers(project_each(frequencies, self._sizes))
        return add_error((gradient, information), np.sqrt(self._share) * root)[:2]


def allowing_for_returns(
    history: Sequence[tuple[Plan, Counts]], likelihoods: Sequence[Likelihood], sizes: Sequence[int]
) -> list[Likelihood]:
    """The phases' likelihoods, each as if independent of the others, whoever came again; `sizes` are of their
    attributes.
    """
    again = repeats(history)
    if not again:
        return list(likelihoods)
    pairs = zip(history, likelihoods, strict=True)
    return [Returning(likelihood, sizes, again / counts.reports) for (_, counts), likelihood in pairs]
